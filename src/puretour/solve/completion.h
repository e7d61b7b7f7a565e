// The best way to finish a partial tour: what a teacher answers when a network asks for the next node.
//
// The nodes visited so far stay; the rest is the shortest Hamiltonian path from the last of them through all unvisited
// nodes to the first one. Exact for up to kMaxExactUnvisited unvisited nodes; a local search that misses the optimum by
// about 0.01 % on average (bench/label_bench) for up to some 250; above, the solver `auto` with a fixed edge.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"
#include "puretour/solve/small_tour.h"

namespace puretour {

/// Completes many partial tours, one after the other, without allocating: keep one per thread. The results do not
/// depend on what was completed before.
class TourCompleter {
 public:
  /// Up to here dynamic programming over subsets is as fast as the search.
  static constexpr std::size_t kMaxExactUnvisited = 8;

  /// Writes the whole tour to `tour`, which has as many places as there are points: `visited`, in its order, and then
  /// the best completion found. An empty `visited` gives a closed tour from node 0 on. Throws InputError if `visited`
  /// holds a node twice or one that does not exist.
  void complete(std::span<const Point> points, std::span<const NodeId> visited, Rng& rng, std::span<NodeId> tour,
                const SmallTourSearch::Limits& limits = {});

 private:
  void complete_exactly(std::size_t num_unvisited, std::span<NodeId> rest);
  void complete_large(std::uint64_t seed, std::span<NodeId> rest) const;

  SmallTourSearch search_;
  std::vector<NodeId> nodes_;  // current node, unvisited nodes, first node
  std::vector<Point> places_;  // theirs
  std::vector<char> is_visited_;
  std::vector<double> lengths_;       // dynamic programme: [set][last]
  std::vector<std::uint8_t> before_;  // and the node before the last
};

struct CompletionOptions {
  std::uint64_t seed = 0;
  SmallTourSearch::Limits limits = {};
};

/// One completion, for any number of points.
std::vector<NodeId> complete_tour(std::span<const Point> points, std::span<const NodeId> visited,
                                  const CompletionOptions& options = {});

}  // namespace puretour
