// Tours to start from: greedy edges, a space-filling curve, a random order.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// Greedy edge tour: takes candidate edges by increasing cost where they close no cycle and give no node a third edge,
/// then joins the ends of the remaining paths in the same way. About 14-18 % above the Held-Karp bound on uniform
/// points (Johnson and McGeoch 1997). O(n log n) for instances with coordinates. Fixed edges are taken first.
std::vector<NodeId> greedy_tour(const Problem& problem);

/// The same with every cost raised by a random share, up to twofold: different tours, a few percent longer.
std::vector<NodeId> random_greedy_tour(const Problem& problem, Rng& rng);

/// How clustered a problem is: the share of the greedy tour's length that its longest hundredth of edges makes up;
/// fixed edges, which tell nothing about the nodes, are left out. About 0.11 for uniform points, 0.14-0.18 for the
/// clustered, explosion and implosion distributions, 0.22-0.36 where a few long ways lead between dense clusters
/// (TSPLIB's fl*, p654).
double long_edge_share(const Problem& problem);

/// The points in the order of a Hilbert curve over their bounding box: about 25-40 % above optimal, but neighbours in
/// the order are neighbours in the plane. O(n log n).
std::vector<NodeId> hilbert_order(std::span<const Point> points);

/// A uniformly random order of n nodes.
std::vector<NodeId> random_order(NodeId n, Rng& rng);

/// The order with each node that has a mate moved to follow it, whichever comes first: a tour that contains all fixed
/// edges of a problem with these fixed_mates(). O(n); nothing to do without mates.
std::vector<NodeId> with_mates_together(std::vector<NodeId> order, std::span<const NodeId> mates);

}  // namespace puretour
