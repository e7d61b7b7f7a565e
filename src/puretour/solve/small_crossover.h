// Shortens one small tour by parts of another: edge assembly crossover (Nagata and Kobayashi 2013) with single
// AB-cycles.
//
// The edges that only one of two tours has fall apart into cycles that take an edge of each by turns. Exchanging the
// edges of one such cycle gives one or more subtours; these are joined by 2-opt moves. The best tour that one cycle
// gives is kept if it is shorter.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "puretour/base/rng.h"
#include "puretour/solve/small_graph.h"

namespace puretour {

/// A tour of up to SmallGraph::kMaxNodes nodes as the two neighbours of each.
struct LinkedTour {
  using Links = std::array<SmallGraph::Node, 2>;

  std::int64_t length = 0;
  std::array<Links, SmallGraph::kMaxNodes> links;

  /// The neighbour of `node` that is not `previous`.
  [[nodiscard]] SmallGraph::Node next(SmallGraph::Node previous, SmallGraph::Node node) const {
    return links[node][0] == previous ? links[node][1] : links[node][0];
  }
};

/// Replaces `a` by the best child of `a` and `b` if that is shorter; says whether. Fixed edges that both have stay.
bool shorten_by_crossover(const SmallGraph& graph, LinkedTour& a, const LinkedTour& b, Rng& rng);

}  // namespace puretour
