// SPDX-License-Identifier: MIT
#include "puretour/solve/construct.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace puretour {
namespace {

constexpr NodeId kNone = -1;

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

struct Edge {
  Problem::Cost cost;
  NodeId from;
  NodeId to;
  // Ties by index: the result must not depend on the sorting algorithm.
  bool operator<(const Edge& other) const {
    return std::tie(cost, from, to) < std::tie(other.cost, other.from, other.to);
  }
};

/// Node-disjoint paths that grow by one edge at a time until they are one path.
class Paths {
 public:
  explicit Paths(NodeId n) : links_(at(n), {kNone, kNone}), other_end_(at(n)), num_paths_(n) {
    std::iota(other_end_.begin(), other_end_.end(), 0);
  }

  [[nodiscard]] NodeId num_paths() const { return num_paths_; }
  [[nodiscard]] bool is_end(NodeId v) const { return links_[at(v)][1] == kNone; }
  [[nodiscard]] bool can_join(NodeId u, NodeId v) const {
    return is_end(u) && is_end(v) && other_end_[at(u)] != v && u != v;
  }

  // other_end_ is right at the ends of paths only, which is where it is read.
  void join(NodeId u, NodeId v) {
    const NodeId u_end = other_end_[at(u)];
    const NodeId v_end = other_end_[at(v)];
    add_link(u, v);
    add_link(v, u);
    other_end_[at(u_end)] = v_end;
    other_end_[at(v_end)] = u_end;
    --num_paths_;
  }

  [[nodiscard]] std::vector<NodeId> ends() const {
    std::vector<NodeId> result;
    for (NodeId v = 0; v < static_cast<NodeId>(links_.size()); ++v) {
      if (is_end(v)) result.push_back(v);
    }
    return result;
  }

  [[nodiscard]] std::vector<NodeId> order() const {
    std::vector<NodeId> result;
    result.reserve(links_.size());
    NodeId previous = kNone;
    NodeId current = 0;
    while (!is_end(current)) ++current;
    while (current != kNone) {
      result.push_back(current);
      const auto& link = links_[at(current)];
      const NodeId next = link[0] == previous ? link[1] : link[0];
      previous = current;
      current = result.size() < links_.size() ? next : kNone;
    }
    return result;
  }

 private:
  void add_link(NodeId v, NodeId to) { links_[at(v)][links_[at(v)][0] == kNone ? 0 : 1] = to; }

  std::vector<std::array<NodeId, 2>> links_;
  std::vector<NodeId> other_end_;
  NodeId num_paths_;
};

void join_by_increasing_cost(Paths& paths, std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end());
  for (const Edge& edge : edges) {
    if (paths.can_join(edge.from, edge.to)) paths.join(edge.from, edge.to);
  }
}

// Edges from each path end to the nearest other ends. Of the two or more listed at least one belongs to another path,
// so that every round joins something.
std::vector<Edge> edges_between_ends(const Problem& problem, const Paths& paths) {
  constexpr std::size_t kPerEnd = 6;
  const std::vector<NodeId> ends = paths.ends();
  std::vector<Edge> edges;
  edges.reserve(ends.size() * kPerEnd);
  if (problem.has_planar_metric()) {
    std::vector<Point> places;
    places.reserve(ends.size());
    for (const NodeId v : ends) places.push_back(problem.points()[at(v)]);
    const NeighbourLists lists = nearest_neighbours(places, kPerEnd);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (const NodeId j : lists.of(static_cast<NodeId>(i))) {
        const NodeId u = ends[i];
        const NodeId v = ends[at(j)];
        if (paths.can_join(u, v)) edges.push_back({problem.cost(u, v), u, v});
      }
    }
    return edges;
  }
  std::vector<Edge> of_end;
  for (const NodeId u : ends) {
    of_end.clear();
    for (const NodeId v : ends) {
      if (paths.can_join(u, v)) of_end.push_back({problem.cost(u, v), u, v});
    }
    const auto kept = static_cast<std::ptrdiff_t>(std::min(kPerEnd, of_end.size()));
    std::partial_sort(of_end.begin(), of_end.begin() + kept, of_end.end());
    edges.insert(edges.end(), of_end.begin(), of_end.begin() + kept);
  }
  return edges;
}

// Joins paths along candidate edges by increasing rated(cost), and what remains by increasing cost.
template <typename Rating>
std::vector<NodeId> greedy_tour_by(const Problem& problem, Rating rated) {
  const NodeId n = problem.size();
  if (n == 0) return {};
  std::vector<Edge> edges;
  for (NodeId i = 0; i < n; ++i) {
    for (const NodeId j : problem.candidates(i)) {
      // A pair that lists each other is taken once, from its lower end.
      const auto back = problem.candidates(j);
      if (i < j || std::find(back.begin(), back.end(), i) == back.end()) {
        edges.push_back({rated(problem.cost(i, j)), i, j});
      }
    }
  }
  Paths paths(n);
  for (std::size_t i = 0; i < problem.fixed_mates().size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (node < problem.fixed_mates()[i]) paths.join(node, problem.fixed_mates()[i]);
  }
  join_by_increasing_cost(paths, edges);
  while (paths.num_paths() > 1) {
    edges = edges_between_ends(problem, paths);
    join_by_increasing_cost(paths, edges);
  }
  return paths.order();
}

// Distance along the Hilbert curve that fills a 2^bits square, by descending through its quadrants.
std::uint64_t hilbert_index(std::uint32_t x, std::uint32_t y, int bits) {
  std::uint64_t index = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    const std::uint32_t right = x >> bit & 1U;
    const std::uint32_t top = y >> bit & 1U;
    index = index << 2 | ((3 * right) ^ top);
    if (top == 0) {
      if (right != 0) {
        x = ~x;
        y = ~y;
      }
      std::swap(x, y);
    }
  }
  return index;
}

}  // namespace

std::vector<NodeId> greedy_tour(const Problem& problem) {
  return greedy_tour_by(problem, [](Problem::Cost cost) { return cost; });
}

std::vector<NodeId> random_greedy_tour(const Problem& problem, Rng& rng) {
  return greedy_tour_by(problem, [&rng](Problem::Cost cost) {
    // Up to twice the cost: below 2^30 + 1, as costs are below 2^29.
    return cost + static_cast<Problem::Cost>(std::abs(static_cast<double>(cost)) * rng.uniform());
  });
}

double long_edge_share(const Problem& problem) {
  const std::vector<NodeId> order = greedy_tour(problem);
  if (order.empty()) return 0;
  std::vector<double> costs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId next = order[i + 1 < order.size() ? i + 1 : 0];
    if (!problem.is_fixed(order[i], next)) costs.push_back(std::abs(static_cast<double>(problem.cost(order[i], next))));
  }
  if (costs.empty()) return 0;
  std::sort(costs.begin(), costs.end(), std::greater<>());
  const auto num_long = static_cast<std::ptrdiff_t>(1 + costs.size() / 100);
  const double sum = std::accumulate(costs.begin(), costs.end(), 0.0);
  return sum > 0 ? std::accumulate(costs.begin(), costs.begin() + num_long, 0.0) / sum : 0;
}

std::vector<NodeId> hilbert_order(std::span<const Point> points) {
  constexpr int kBits = 20;  // cells of a millionth of the side: finer than the spacing of any instance we meet
  const Box box = bounding_box(points);
  const double side = std::max(box.width(), box.height());
  const double scale = side > 0 ? ((1 << kBits) - 1) / side : 0;
  std::vector<std::pair<std::uint64_t, NodeId>> keyed;
  keyed.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto x = static_cast<std::uint32_t>((points[i].x - box.low.x) * scale);
    const auto y = static_cast<std::uint32_t>((points[i].y - box.low.y) * scale);
    keyed.emplace_back(hilbert_index(x, y, kBits), static_cast<NodeId>(i));
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<NodeId> order;
  order.reserve(points.size());
  for (const auto& [index, node] : keyed) order.push_back(node);
  return order;
}

std::vector<NodeId> random_order(NodeId n, Rng& rng) {
  std::vector<NodeId> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(order.data(), order.size());
  return order;
}

std::vector<NodeId> with_mates_together(std::vector<NodeId> order, std::span<const NodeId> mates) {
  if (mates.empty()) return order;
  std::vector<NodeId> result;
  result.reserve(order.size());
  std::vector<bool> is_visited(order.size());
  for (const NodeId node : order) {
    for (NodeId next = node; next != kNone && !is_visited[at(next)]; next = mates[at(next)]) {
      is_visited[at(next)] = true;
      result.push_back(next);
    }
  }
  return result;
}

}  // namespace puretour
