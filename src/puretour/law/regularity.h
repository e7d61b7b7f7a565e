// How regular the places of an instance are: what sets drilled boards, grids and rounded maps apart from random points.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "puretour/geometry/point.h"

namespace puretour {

struct Regularity {
  std::uint64_t num_nodes = 0;
  std::uint64_t num_sharing = 0;  // nodes whose place is also that of another node
  /// Edges of the tour with a node exactly on the circle whose diameter they are, at neither end: the purity order
  /// hangs on whether "inside" is strict. Almost never so for random points.
  std::uint64_t num_tied_edges = 0;

  [[nodiscard]] double share_sharing() const;     // 0 without nodes
  [[nodiscard]] double share_tied_edges() const;  // 0 without nodes; there are as many edges as nodes
  void add(const Regularity& other);
  bool operator==(const Regularity&) const = default;
};

/// `order` is a permutation of all points. O(n log n) for good tours.
Regularity measure_regularity(std::span<const Point> points, std::span<const NodeId> order);

}  // namespace puretour
