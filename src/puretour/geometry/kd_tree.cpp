// SPDX-License-Identifier: MIT
#include "puretour/geometry/kd_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "puretour/geometry/disc.h"

namespace puretour {
namespace {

double squared_distance_to_box(Point p, const Box& box) {
  const double dx = std::max({box.low.x - p.x, p.x - box.high.x, 0.0});
  const double dy = std::max({box.low.y - p.y, p.y - box.high.y, 0.0});
  return dx * dx + dy * dy;
}

// Both children of a node lie on one path of the stack at a time: depth + 1 entries are enough, 64 levels never occur.
constexpr std::size_t kMaxStack = 64;

// A disc as the tree sees it: centre given relative to an end point of the diameter, so that large common offsets of
// the coordinates do not eat the precision.
class DiscTest {
 public:
  DiscTest(Point a, Point b) : a_(a), half_x_((b.x - a.x) / 2), half_y_((b.y - a.y) / 2) {
    const double r2 = half_x_ * half_x_ + half_y_ * half_y_;
    // The slack covers the rounding of everything computed here (relative 1e-15); within it the points decide.
    certainly_outside_ = r2 * (1 + 1e-12);
    certainly_inside_ = r2 * (1 - 1e-12);
    usable_ = r2 > 1e-280 && r2 < 1e280;
  }

  // False where squares under- or overflow; then only the predicate itself can tell.
  [[nodiscard]] bool usable() const { return usable_; }

  enum class Verdict { kOutside, kInside, kUndecided };
  [[nodiscard]] Verdict classify(const Box& box) const {
    const double low_x = (box.low.x - a_.x) - half_x_;
    const double high_x = (box.high.x - a_.x) - half_x_;
    const double low_y = (box.low.y - a_.y) - half_y_;
    const double high_y = (box.high.y - a_.y) - half_y_;
    const double near_x = std::max(std::max(low_x, -high_x), 0.0);
    const double near_y = std::max(std::max(low_y, -high_y), 0.0);
    if (near_x * near_x + near_y * near_y > certainly_outside_) return Verdict::kOutside;
    const double far_x = std::max(-low_x, high_x);
    const double far_y = std::max(-low_y, high_y);
    if (far_x * far_x + far_y * far_y < certainly_inside_) return Verdict::kInside;
    return Verdict::kUndecided;
  }

 private:
  Point a_;
  double half_x_;
  double half_y_;
  double certainly_outside_;
  double certainly_inside_;
  bool usable_;
};

}  // namespace

KdTree::KdTree(std::span<const Point> points) {
  const std::size_t n = points.size();
  while (n > (kLeafSize << depth_)) ++depth_;
  std::vector<Item> items(n);
  for (std::size_t i = 0; i < n; ++i) items[i] = {points[i], static_cast<NodeId>(i)};
  boxes_.resize(2 * num_leaves());
  build(1, 0, items);

  xs_.resize(n);
  ys_.resize(n);
  ids_.resize(n);
  positions_.resize(n);
  for (std::size_t p = 0; p < n; ++p) {
    xs_[p] = items[p].point.x;
    ys_[p] = items[p].point.y;
    ids_[p] = items[p].id;
    positions_[static_cast<std::size_t>(items[p].id)] = static_cast<std::uint32_t>(p);
  }
}

// Splits the range of a node at its middle, along the longer side of its box; depth first, so that all levels below
// the first few work in the cache.
void KdTree::build(std::size_t node, unsigned level, std::vector<Item>& items) {
  const std::size_t n = items.size();
  const std::size_t index = node - (std::size_t{1} << level);
  const std::size_t begin = index * n >> level;
  const std::size_t end = (index + 1) * n >> level;
  Box& box = boxes_[node];
  for (std::size_t p = begin; p < end; ++p) box.add(items[p].point);
  if (level == depth_) return;
  const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto middle = items.begin() + static_cast<std::ptrdiff_t>((2 * index + 1) * n >> (level + 1));
  const auto last = items.begin() + static_cast<std::ptrdiff_t>(end);
  // Ties are broken by id: the layout is the same whatever nth_element does inside.
  if (middle != last && box.width() >= box.height()) {
    std::nth_element(first, middle, last, [](const Item& a, const Item& b) {
      return a.point.x != b.point.x ? a.point.x < b.point.x : a.id < b.id;
    });
  } else if (middle != last) {
    std::nth_element(first, middle, last, [](const Item& a, const Item& b) {
      return a.point.y != b.point.y ? a.point.y < b.point.y : a.id < b.id;
    });
  }
  build(2 * node, level + 1, items);
  build(2 * node + 1, level + 1, items);
}

std::size_t KdTree::leaf_of_position(std::size_t position) const {
  // Inverse of begin = floor(leaf * n / 2^depth), up to the rounding that the loop removes.
  std::size_t leaf = (position << depth_) / size();
  while (((leaf + 1) * size() >> depth_) <= position) ++leaf;
  return num_leaves() + leaf;
}

std::size_t KdTree::count_inside_diametral_disc(std::size_t position_a, std::size_t position_b,
                                                std::size_t limit) const {
  const Point a = point_at(position_a);
  const Point b = point_at(position_b);
  if (a == b) return 0;
  const DiscTest disc(a, b);
  if (!disc.usable()) return puretour::count_inside_diametral_disc(a, b, xs_.data(), ys_.data(), size());

  std::size_t count = 0;
  const auto visit_leaf = [&](std::size_t leaf) {
    const Range range = leaf_range(leaf);
    for (std::size_t p = range.begin; p < range.end; ++p) {
      count += (a.x - xs_[p]) * (b.x - xs_[p]) + (a.y - ys_[p]) * (b.y - ys_[p]) < 0 ? 1 : 0;
    }
  };
  // From the leaf of one end upwards, into every sibling that the disc may touch.
  std::size_t own = leaf_of_position(position_a);
  visit_leaf(own);
  for (; own > 1 && count <= limit; own /= 2) {
    std::size_t stack[kMaxStack];
    std::size_t stack_size = 0;
    stack[stack_size++] = own ^ 1;
    while (stack_size > 0 && count <= limit) {
      const std::size_t node = stack[--stack_size];
      const auto verdict = disc.classify(boxes_[node]);
      if (verdict == DiscTest::Verdict::kOutside) continue;
      if (is_leaf(node)) {
        visit_leaf(node);
      } else if (verdict == DiscTest::Verdict::kInside) {
        std::size_t first = node;
        std::size_t last = node;
        while (!is_leaf(first)) {
          first = 2 * first;
          last = 2 * last + 1;
        }
        count += leaf_range(last).end - leaf_range(first).begin;
      } else {
        stack[stack_size++] = 2 * node;
        stack[stack_size++] = 2 * node + 1;
      }
    }
  }
  return count;
}

void KdTree::nearest_to_node(NodeId node, std::span<NodeId> out, Scratch& scratch) const {
  const std::size_t k = out.size();
  if (k == 0) return;
  const std::size_t own_position = position_of(node);
  const Point query = point_at(own_position);
  scratch.clear();  // sorted by (distance, id), at most k long
  double worst = std::numeric_limits<double>::infinity();

  const auto visit_leaf = [&](std::size_t leaf) {
    const Range range = leaf_range(leaf);
    for (std::size_t p = range.begin; p < range.end; ++p) {
      if (p == own_position) continue;
      const std::pair<double, NodeId> entry{squared_distance(query, point_at(p)), ids_[p]};
      if (scratch.size() == k) {
        if (!(entry < scratch.back())) continue;
        scratch.pop_back();
      }
      scratch.insert(std::upper_bound(scratch.begin(), scratch.end(), entry), entry);
    }
    if (scratch.size() == k) worst = scratch.back().first;
  };
  // Equal distances still matter (a smaller id wins), so only strictly farther boxes are left out.
  const auto descend = [&](std::size_t top) {
    std::size_t stack[kMaxStack];
    std::size_t stack_size = 0;
    stack[stack_size++] = top;
    while (stack_size > 0) {
      const std::size_t v = stack[--stack_size];
      if (squared_distance_to_box(query, boxes_[v]) > worst) continue;
      if (is_leaf(v)) {
        visit_leaf(v);
        continue;
      }
      const bool left_is_nearer =
          squared_distance_to_box(query, boxes_[2 * v]) <= squared_distance_to_box(query, boxes_[2 * v + 1]);
      stack[stack_size++] = left_is_nearer ? 2 * v + 1 : 2 * v;
      stack[stack_size++] = left_is_nearer ? 2 * v : 2 * v + 1;
    }
  };

  // From the own leaf upwards: the near points come first, and most of the rest is left out by its box.
  std::size_t v = leaf_of_position(own_position);
  visit_leaf(v);
  for (; v > 1; v /= 2) descend(v ^ 1);
  for (std::size_t r = 0; r < k; ++r) out[r] = scratch[r].second;
}

}  // namespace puretour
