// SPDX-License-Identifier: MIT
#include "puretour/solve/lower_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/solve/ascent.h"
#include "puretour/solve/collapse.h"
#include "puretour/solve/problem.h"

namespace puretour {
namespace {

using Weight = std::int64_t;

// The minimum 1-tree of the complete graph with penalties: a spanning tree (Prim) plus the second cheapest edge of that
// leaf for which it is most expensive. For a leaf of the tree, tree and second edge are the cheapest 1-tree around it.
// Fixed edges are in the tree; see minimum_one_tree() in ascent.cpp for why that is a bound.
Weight dense_one_tree(const Problem& problem, std::span<const std::int32_t> penalties, std::int32_t factor) {
  const NodeId n = problem.size();
  const auto count = static_cast<std::size_t>(n);
  const auto weight = [&](NodeId i, NodeId j) {
    return static_cast<Weight>(problem.cost(i, j)) * factor + penalties[static_cast<std::size_t>(i)] +
           penalties[static_cast<std::size_t>(j)];
  };
  const auto mates = problem.fixed_mates();
  constexpr Weight kFar = std::numeric_limits<Weight>::max();
  constexpr Weight kNext = std::numeric_limits<Weight>::min();
  std::vector<Weight> nearest(count, kFar);  // cheapest edge into the tree so far
  std::vector<NodeId> parent(count, 0);
  std::vector<int> degree(count, 0);
  std::vector<NodeId> outside(count - 1);
  for (NodeId i = 1; i < n; ++i) outside[static_cast<std::size_t>(i) - 1] = i;
  Weight total = 0;
  NodeId added = 0;
  while (!outside.empty()) {
    std::size_t best = 0;
    const NodeId mate = mates.empty() ? Problem::kNoMate : mates[static_cast<std::size_t>(added)];
    if (mate != Problem::kNoMate &&
        mate != parent[static_cast<std::size_t>(added)]) {  // else it is in the tree already
      nearest[static_cast<std::size_t>(mate)] = kNext;
      parent[static_cast<std::size_t>(mate)] = added;
    }
    for (std::size_t o = 0; o < outside.size(); ++o) {
      const NodeId i = outside[o];
      const Weight w = weight(added, i);
      if (w < nearest[static_cast<std::size_t>(i)]) {
        nearest[static_cast<std::size_t>(i)] = w;
        parent[static_cast<std::size_t>(i)] = added;
      }
      if (nearest[static_cast<std::size_t>(i)] < nearest[static_cast<std::size_t>(outside[best])]) best = o;
    }
    added = outside[best];
    outside[best] = outside.back();
    outside.pop_back();
    total += weight(added, parent[static_cast<std::size_t>(added)]);
    ++degree[static_cast<std::size_t>(added)];
    ++degree[static_cast<std::size_t>(parent[static_cast<std::size_t>(added)])];
  }
  Weight most_expensive = std::numeric_limits<Weight>::min();
  for (NodeId leaf = 0; leaf < n; ++leaf) {
    if (degree[static_cast<std::size_t>(leaf)] != 1) continue;
    // The neighbour in the tree: the parent, or for the root the one node that hangs on it.
    NodeId neighbour = parent[static_cast<std::size_t>(leaf)];
    if (leaf == 0) {
      neighbour = 1;
      while (parent[static_cast<std::size_t>(neighbour)] != 0) ++neighbour;
    }
    Weight second = kFar;
    for (NodeId j = 0; j < n; ++j) {
      if (j != leaf && j != neighbour) second = std::min(second, weight(leaf, j));
    }
    most_expensive = std::max(most_expensive, second);
  }
  return total + most_expensive;
}

// Enough for the ascent to settle on small instances; on large ones what a few seconds allow.
int ascent_steps(std::size_t num_nodes) {
  constexpr double kWork = 3e6;  // nodes times steps
  return static_cast<int>(std::clamp(kWork / static_cast<double>(num_nodes), 50.0, 2000.0));
}

}  // namespace

LowerBound held_karp_bound(const Instance& original, const Tour& original_tour) {
  if (original.size() == 0) throw InputError("lower bound: the instance has no nodes");
  const double original_length = tour_length(original, original_tour);  // also checks the sizes
  check_contains_fixed_edges(original_tour.order(), original.fixed_edges(), "the tour for the lower bound");
  const CollapsedInstance collapsed(original);
  const Instance& instance = collapsed.instance();
  const Tour tour = collapsed.collapsed(original_tour);
  if (instance.size() <= 3) {  // there is only one tour
    return {tour_length(instance, tour) + collapsed.contracted_length(), true};
  }
  const Problem problem(instance, 10, 1, CandidateKind::kQuadrant);
  const std::int32_t factor = penalty_factor(problem);
  const AscentResult ascent = ascend(candidate_graph(problem, tour.order(), factor), ascent_steps(instance.size()));
  LowerBound bound;
  bound.is_proven = instance.size() <= kMaxProvenNodes;
  Weight value = ascent.value;
  if (bound.is_proven) {
    value = dense_one_tree(problem, ascent.penalties, factor);
    for (const std::int32_t penalty : ascent.penalties) value -= 2 * static_cast<Weight>(penalty);
  }
  double costs = static_cast<double>(value) / factor;
  if (problem.scale() == 1) {
    // Lengths are whole numbers. The margin keeps rounding from lifting the bound above the truth.
    costs = std::ceil(costs - 1e-6);
  } else {
    costs -= 0.5 * static_cast<double>(instance.size());  // each cost was rounded by at most one half
  }
  // Never above the tour in hand, which bounds the optimum from the other side.
  bound.length = std::min(costs / problem.scale() + collapsed.contracted_length(), original_length);
  return bound;
}

}  // namespace puretour
