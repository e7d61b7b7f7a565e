// Candidate edges: the few neighbours of each node that a local search tries.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "puretour/geometry/neighbours.h"

namespace puretour {

enum class CandidateKind : std::uint8_t {
  kNearest,   // the k nearest nodes
  kQuadrant,  // the k / 4 nearest in each quadrant around the node, filled up with the nearest of the rest
  kPurity,    // the k nodes of lowest purity order, ties by length
};

/// "nearest", "quadrant", "purity".
std::string_view candidate_kind_name(CandidateKind kind);

/// The inverse. Throws InputError that lists the names.
CandidateKind candidate_kind_from_name(std::string_view name);

/// k candidates (cut to n - 1) for every point, each row by increasing (squared distance, index).
/// The result does not depend on `threads`.
NeighbourLists candidate_lists(std::span<const Point> points, CandidateKind kind, std::size_t k, int threads = 1);

}  // namespace puretour
