// Nearest neighbours of every point of a set.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// Row i lists the `per_node` nearest other nodes of i, by increasing (squared distance, index).
struct NeighbourLists {
  std::size_t per_node = 0;
  std::vector<NodeId> nodes;  // row by row

  [[nodiscard]] std::span<const NodeId> of(NodeId i) const {
    return {nodes.data() + static_cast<std::size_t>(i) * per_node, per_node};
  }
};

/// The k nearest neighbours of every point; k is cut to n - 1. Equal points are neighbours at distance 0.
/// The result does not depend on the number of threads.
NeighbourLists nearest_neighbours(std::span<const Point> points, std::size_t k, int threads = 1);

}  // namespace puretour
