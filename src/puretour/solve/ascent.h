// Node penalties from minimum 1-trees (Held and Karp 1970, 1971), over a sparse graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/solve/problem.h"

namespace puretour {

/// Edges that matter for a problem, with integer costs. Must be connected.
struct SparseGraph {
  struct Edge {
    NodeId from;
    NodeId to;
    std::int32_t cost;
  };
  NodeId num_nodes = 0;
  std::vector<Edge> edges;    // every pair once
  std::size_t num_fixed = 0;  // that many edges, which come first, are in every tree; no node has two of them
};

/// The fixed and candidate edges of a problem plus the edges of a tour, which connect it. Costs are multiplied by
/// `factor`.
SparseGraph candidate_graph(const Problem& problem, std::span<const NodeId> tour, std::int32_t factor);

/// A whole factor for costs that leaves penalties enough digits and sums enough room.
std::int32_t penalty_factor(const Problem& problem);

struct AscentResult {
  std::vector<std::int32_t> penalties;
  /// The 1-tree value of the graph with these penalties, in the graph's costs: a lower bound of its tours.
  std::int64_t value = 0;
};

/// Subgradient ascent: w(p) = min over 1-trees of sum(c_ij + p_i + p_j) - 2 sum p_i; node degrees minus 2 point uphill.
/// `steps` 1-trees are built, O(edges) time each but for sorting. Deterministic.
AscentResult ascend(const SparseGraph& graph, int steps);

/// For each node its `per_node` neighbours in the graph by increasing alpha (Helsgaun 2000): by how much the minimum
/// spanning tree with penalties becomes longer if it must contain the edge. Fixed edges are no candidates: no move may
/// add or remove them. Row i is node ids; nodes with fewer neighbours have -1 at the end.
std::vector<NodeId> alpha_nearest(const SparseGraph& graph, std::span<const std::int32_t> penalties, int per_node);

}  // namespace puretour
