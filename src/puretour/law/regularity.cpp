// SPDX-License-Identifier: MIT
#include "puretour/law/regularity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "puretour/geometry/kd_tree.h"

namespace puretour {
namespace {

bool is_on_diametral_circle(Point a, Point b, Point x) {
  return x != a && x != b && (a.x - x.x) * (b.x - x.x) + (a.y - x.y) * (b.y - x.y) == 0;
}

bool has_point_on_diametral_circle(const KdTree& tree, Point a, Point b, std::vector<std::size_t>& stack) {
  // A little wider than the circle, so that rounding leaves nothing out.
  const double radius = std::sqrt(squared_distance(a, b)) / 2 * (1 + 1e-9);
  const Point centre{(a.x + b.x) / 2, (a.y + b.y) / 2};
  stack.assign(1, 1);
  while (!stack.empty()) {
    const std::size_t node = stack.back();
    stack.pop_back();
    const Box& box = tree.box(node);
    if (box.low.x > centre.x + radius || box.high.x < centre.x - radius || box.low.y > centre.y + radius ||
        box.high.y < centre.y - radius) {
      continue;
    }
    if (!tree.is_leaf(node)) {
      stack.push_back(2 * node);
      stack.push_back(2 * node + 1);
      continue;
    }
    const KdTree::Range range = tree.leaf_range(node);
    for (std::size_t p = range.begin; p < range.end; ++p) {
      if (is_on_diametral_circle(a, b, tree.point_at(p))) return true;
    }
  }
  return false;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

double Regularity::share_sharing() const {
  return share(num_sharing, num_nodes);
}

double Regularity::share_tied_edges() const {
  return share(num_tied_edges, num_nodes);
}

void Regularity::add(const Regularity& other) {
  num_nodes += other.num_nodes;
  num_sharing += other.num_sharing;
  num_tied_edges += other.num_tied_edges;
}

Regularity measure_regularity(std::span<const Point> points, std::span<const NodeId> order) {
  Regularity result;
  result.num_nodes = points.size();
  std::vector<Point> sorted(points.begin(), points.end());
  std::sort(sorted.begin(), sorted.end(), [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool like_last = i > 0 && sorted[i] == sorted[i - 1];
    const bool like_next = i + 1 < sorted.size() && sorted[i] == sorted[i + 1];
    if (like_last || like_next) ++result.num_sharing;
  }
  if (order.size() < 2) return result;
  const KdTree tree(points);
  std::vector<std::size_t> stack;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const Point a = points[static_cast<std::size_t>(order[t])];
    const Point b = points[static_cast<std::size_t>(order[t + 1 < order.size() ? t + 1 : 0])];
    if (has_point_on_diametral_circle(tree, a, b, stack)) ++result.num_tied_edges;
  }
  return result;
}

}  // namespace puretour
