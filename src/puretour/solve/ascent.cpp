// SPDX-License-Identifier: MIT
#include "puretour/solve/ascent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace puretour {
namespace {

using Cost = std::int32_t;

constexpr Cost kLargestPenalty = 1 << 28;  // with a cost below 2^29 two of them still fit 32 bits

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

/// Minimum spanning trees of one graph under changing penalties, by Kruskal's algorithm.
class SpanningTrees {
 public:
  explicit SpanningTrees(const SparseGraph& graph)
      : graph_(graph), sorted_(graph.edges.size()), buffer_(graph.edges.size()), parent_(at(graph.num_nodes)) {}

  /// Calls in_tree(edge) for the edges of a minimum spanning tree: the fixed ones, then the others by increasing
  /// penalised cost.
  template <typename InTree>
  void build(std::span<const Cost> penalties, InTree in_tree) {
    sort_edges(penalties);
    std::iota(parent_.begin(), parent_.end(), 0);
    NodeId missing = graph_.num_nodes - 1;
    for (std::size_t e = 0; e < graph_.num_fixed; ++e) {
      parent_[at(graph_.edges[e].from)] = graph_.edges[e].to;  // both were alone
      in_tree(static_cast<std::uint32_t>(e));
      --missing;
    }
    for (const Keyed& keyed : sorted_) {
      const SparseGraph::Edge& edge = graph_.edges[keyed.edge];
      const NodeId a = root(edge.from);
      const NodeId b = root(edge.to);
      if (a == b) continue;
      parent_[at(a)] = b;
      in_tree(keyed.edge);
      if (--missing == 0) break;
    }
  }

 private:
  struct Keyed {
    std::uint32_t key;
    std::uint32_t edge;
  };

  // Radix sort, three digits of 11 bits: stable, so ties go by edge number.
  void sort_edges(std::span<const Cost> penalties) {
    constexpr int kDigitBits = 11;
    constexpr std::uint32_t kMask = (1U << kDigitBits) - 1;
    std::array<std::array<std::uint32_t, 1U << kDigitBits>, 3> begin{};
    for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
      const SparseGraph::Edge& edge = graph_.edges[e];
      const Cost cost = edge.cost + penalties[at(edge.from)] + penalties[at(edge.to)];
      const std::uint32_t key = static_cast<std::uint32_t>(cost) ^ 0x80000000U;  // negative costs first
      sorted_[e] = {key, static_cast<std::uint32_t>(e)};
      for (int digit = 0; digit < 3; ++digit)
        ++begin[static_cast<std::size_t>(digit)][key >> (kDigitBits * digit) & kMask];
    }
    for (int digit = 0; digit < 3; ++digit) {
      auto& slots = begin[static_cast<std::size_t>(digit)];
      std::exclusive_scan(slots.begin(), slots.end(), slots.begin(), 0U);
      for (const Keyed& keyed : sorted_) buffer_[slots[keyed.key >> (kDigitBits * digit) & kMask]++] = keyed;
      sorted_.swap(buffer_);
    }
  }

  NodeId root(NodeId node) {
    while (parent_[at(node)] != node) {
      parent_[at(node)] = parent_[at(parent_[at(node)])];
      node = parent_[at(node)];
    }
    return node;
  }

  const SparseGraph& graph_;
  std::vector<Keyed> sorted_;
  std::vector<Keyed> buffer_;
  std::vector<NodeId> parent_;
};

/// The 1-tree: the spanning tree plus one edge. Any leaf's cheapest edge outside the tree gives a bound; the leaf where
/// that edge costs most gives the best one. With fixed edges in the tree it bounds the tours that contain them: the
/// tree without the leaf is still minimal among those with the other fixed edges, and a leaf's fixed edge is its tree
/// edge.
struct OneTree {
  std::int64_t value = 0;
  std::vector<int> degree;
};

OneTree minimum_one_tree(const SparseGraph& graph, SpanningTrees& trees, std::span<const Cost> penalties) {
  OneTree result;
  result.degree.assign(at(graph.num_nodes), 0);
  std::vector<bool> is_tree_edge(graph.edges.size());
  const auto cost = [&](const SparseGraph::Edge& e) { return e.cost + penalties[at(e.from)] + penalties[at(e.to)]; };
  trees.build(penalties, [&](std::uint32_t e) {
    const SparseGraph::Edge& edge = graph.edges[e];
    result.value += cost(edge);
    ++result.degree[at(edge.from)];
    ++result.degree[at(edge.to)];
    is_tree_edge[e] = true;
  });
  constexpr std::uint32_t kNoEdge = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> cheapest(at(graph.num_nodes), kNoEdge);
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    if (is_tree_edge[e]) continue;
    const SparseGraph::Edge& edge = graph.edges[e];
    for (const NodeId node : {edge.from, edge.to}) {
      std::uint32_t& best = cheapest[at(node)];
      if (result.degree[at(node)] == 1 && (best == kNoEdge || cost(edge) < cost(graph.edges[best]))) {
        best = static_cast<std::uint32_t>(e);
      }
    }
  }
  std::uint32_t extra = kNoEdge;
  for (const std::uint32_t e : cheapest) {
    if (e != kNoEdge && (extra == kNoEdge || cost(graph.edges[e]) > cost(graph.edges[extra]))) extra = e;
  }
  if (extra != kNoEdge) {
    result.value += cost(graph.edges[extra]);
    ++result.degree[at(graph.edges[extra].from)];
    ++result.degree[at(graph.edges[extra].to)];
  }
  for (const Cost penalty : penalties) result.value -= 2 * std::int64_t{penalty};
  return result;
}

}  // namespace

std::int32_t penalty_factor(const Problem& problem) {
  // 100 leaves two digits below the unit of the costs; 2^28 leaves room for two penalties and a sign.
  return std::clamp((1 << 28) / std::max(problem.largest_cost(), 1), 1, 100);
}

SparseGraph candidate_graph(const Problem& problem, std::span<const NodeId> tour, std::int32_t factor) {
  SparseGraph graph;
  graph.num_nodes = problem.size();
  const auto is_listed = [&](NodeId i, NodeId j) {
    const auto list = problem.candidates(i);
    return std::find(list.begin(), list.end(), j) != list.end();
  };
  for (NodeId i = 0; i < static_cast<NodeId>(problem.fixed_mates().size()); ++i) {
    const NodeId j = problem.fixed_mates()[at(i)];
    if (i < j) graph.edges.push_back({i, j, problem.cost(i, j) * factor});
  }
  graph.num_fixed = graph.edges.size();
  for (NodeId i = 0; i < problem.size(); ++i) {
    for (const NodeId j : problem.candidates(i)) {
      if (problem.is_fixed(i, j)) continue;
      if (i < j || !is_listed(j, i)) graph.edges.push_back({i, j, problem.cost(i, j) * factor});
    }
  }
  for (std::size_t p = 0; p < tour.size(); ++p) {
    const NodeId i = tour[p];
    const NodeId j = tour[p + 1 < tour.size() ? p + 1 : 0];
    if (!is_listed(i, j) && !is_listed(j, i) && !problem.is_fixed(i, j))
      graph.edges.push_back({i, j, problem.cost(i, j) * factor});
  }
  return graph;
}

AscentResult ascend(const SparseGraph& graph, int steps) {
  AscentResult best;
  best.penalties.assign(at(graph.num_nodes), 0);
  best.value = std::numeric_limits<std::int64_t>::min();
  SpanningTrees trees(graph);
  std::vector<Cost> penalties = best.penalties;
  std::vector<int> last_slope(at(graph.num_nodes), 0);
  // The size of a step starts at a twentieth of a mean tree edge and shrinks to a hundredth of that over the run.
  double size = 0;
  const double shrink = std::pow(0.01, 1.0 / std::max(steps, 1));
  int steps_without_gain = 0;
  for (int step = 0; step < steps; ++step) {
    const OneTree tree = minimum_one_tree(graph, trees, penalties);
    if (tree.value > best.value) {
      best.value = tree.value;
      best.penalties = penalties;
      steps_without_gain = 0;
    } else if (++steps_without_gain > 10) {
      size *= 0.7;
      steps_without_gain = 0;
    }
    if (step == 0) size = 0.05 * static_cast<double>(std::max<std::int64_t>(tree.value, 0)) / graph.num_nodes;
    bool is_tour = true;
    for (std::size_t i = 0; i < penalties.size(); ++i) {
      const int slope = tree.degree[i] - 2;
      is_tour = is_tour && slope == 0;
      // The previous slope takes part, which damps oscillation.
      const double change = size * (0.7 * slope + 0.3 * last_slope[i]);
      penalties[i] =
          std::clamp(penalties[i] + static_cast<Cost>(std::lround(change)), -kLargestPenalty, kLargestPenalty);
      last_slope[i] = slope;
    }
    if (is_tour) break;  // the 1-tree is an optimal tour of the graph
    size *= shrink;
  }
  return best;
}

std::vector<NodeId> alpha_nearest(const SparseGraph& graph, std::span<const Cost> penalties, int per_node) {
  // Kruskal's unions by size, without path compression: the most expensive edge on the tree path between two nodes is
  // the most expensive link on the way between them in this forest of logarithmic depth, and links get more expensive
  // towards the root.
  const std::size_t n = at(graph.num_nodes);
  constexpr std::int64_t kAtRoot = std::numeric_limits<std::int64_t>::max();
  std::vector<NodeId> up(n);
  std::iota(up.begin(), up.end(), 0);
  std::vector<std::int64_t> link_cost(n, kAtRoot);
  std::vector<NodeId> size(n, 1);
  const auto cost = [&](const SparseGraph::Edge& e) { return e.cost + penalties[at(e.from)] + penalties[at(e.to)]; };
  const auto root = [&](NodeId v) {
    while (up[at(v)] != v) v = up[at(v)];
    return v;
  };
  SpanningTrees(graph).build(penalties, [&](std::uint32_t e) {
    NodeId low = root(graph.edges[e].from);
    NodeId high = root(graph.edges[e].to);
    if (size[at(low)] > size[at(high)]) std::swap(low, high);
    up[at(low)] = high;
    // Nothing can take the place of a fixed edge: the way between two nodes never costs its price.
    link_cost[at(low)] = e < graph.num_fixed ? std::numeric_limits<std::int64_t>::min() : cost(graph.edges[e]);
    size[at(high)] += size[at(low)];
  });

  struct Near {
    std::int64_t alpha;
    Cost cost;
    NodeId node;
    bool operator<(const Near& other) const {
      return std::tie(alpha, cost, node) < std::tie(other.alpha, other.cost, other.node);
    }
  };
  std::vector<std::size_t> begin(n + 1, 0);
  const std::span<const SparseGraph::Edge> free_edges = std::span(graph.edges).subspan(graph.num_fixed);
  for (const SparseGraph::Edge& edge : free_edges) {
    ++begin[at(edge.from) + 1];
    ++begin[at(edge.to) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Near> near(begin.back());
  std::vector<std::size_t> slot(begin.begin(), begin.end() - 1);
  for (const SparseGraph::Edge& edge : free_edges) {
    std::int64_t beta = std::numeric_limits<std::int64_t>::min();
    NodeId a = edge.from;
    NodeId b = edge.to;
    while (a != b) {
      NodeId& lower = link_cost[at(a)] <= link_cost[at(b)] ? a : b;
      beta = std::max(beta, link_cost[at(lower)]);
      lower = up[at(lower)];
    }
    near[slot[at(edge.from)]++] = {cost(edge) - beta, edge.cost, edge.to};
    near[slot[at(edge.to)]++] = {cost(edge) - beta, edge.cost, edge.from};
  }
  std::vector<NodeId> rows(n * static_cast<std::size_t>(per_node), -1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = near.begin() + static_cast<std::ptrdiff_t>(begin[i]);
    const auto last = near.begin() + static_cast<std::ptrdiff_t>(begin[i + 1]);
    const auto kept = std::min<std::ptrdiff_t>(per_node, last - first);
    std::partial_sort(first, first + kept, last);
    for (std::ptrdiff_t r = 0; r < kept; ++r)
      rows[i * static_cast<std::size_t>(per_node) + static_cast<std::size_t>(r)] = (first + r)->node;
  }
  return rows;
}

}  // namespace puretour
