// The shortest tour of a few nodes by dynamic programming over subsets: for tiny instances, and the oracle of the
// tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/solve/problem.h"

namespace puretour {

/// The dynamic program holds 2^(n-1) (n-1) lengths: 4 MB at 16 nodes.
inline constexpr NodeId kMaxExactNodes = 16;

/// An optimal tour with all fixed edges of the problem (Held and Karp 1962; Bellman 1962). O(2^n n^2) time.
/// Throws InputError above kMaxExactNodes nodes.
std::vector<NodeId> exact_tour(const Problem& problem);

}  // namespace puretour
