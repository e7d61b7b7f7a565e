// A length that no tour can beat: the Held-Karp bound.
// SPDX-License-Identifier: MIT
#pragma once

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

struct LowerBound {
  double length = 0;       // in the metric of the instance; whole where distances are whole
  bool is_proven = false;  // false: computed on candidate edges only, so an estimate
};

/// Up to this many nodes the bound is checked on the complete graph, in O(n^2) time, and so proven.
inline constexpr std::size_t kMaxProvenNodes = 30'000;

/// Subgradient ascent on minimum 1-trees (Held and Karp 1970, 1971); the tour only makes the sparse graph connected,
/// but a good one makes it a better graph. Typically 0.6-0.9 % below the optimum for uniform points, exact for fewer
/// than four nodes. With fixed edges it bounds the tours that contain them. Deterministic. Throws InputError if the
/// sizes differ, there are no nodes or the tour lacks a fixed edge.
LowerBound held_karp_bound(const Instance& original, const Tour& original_tour);

}  // namespace puretour
