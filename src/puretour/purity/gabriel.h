// The k-Gabriel graph: all pairs of nodes of purity order at most k.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

struct GabrielEdge {
  NodeId a;  // a < b
  NodeId b;
  std::uint32_t order;
  bool operator==(const GabrielEdge&) const = default;
};

/// All edges with purity order <= max_order, sorted by (a, b). About 2 (max_order + 1) n edges on random input; a place
/// shared by m nodes gives m (m - 1) / 2 edges of order 0. Expected O(n log n) for small max_order.
/// Throws InputError when there are more than kMaxGabrielEdges. The result does not depend on `threads`.
std::vector<GabrielEdge> gabriel_graph(std::span<const Point> points, std::uint32_t max_order = 0, int threads = 1);

inline constexpr std::size_t kMaxGabrielEdges = 400'000'000;

}  // namespace puretour
