// SPDX-License-Identifier: MIT
#include "puretour/geometry/neighbours.h"

#include <algorithm>
#include <utility>

#include "puretour/base/parallel.h"

namespace puretour {

NeighbourLists nearest_neighbours(std::span<const Point> points, std::size_t k, int threads) {
  const std::size_t n = points.size();
  NeighbourLists lists;
  lists.per_node = std::min(k, n > 0 ? n - 1 : 0);
  lists.nodes.resize(n * lists.per_node);
  parallel_for(n, threads, [&](std::size_t i) {
    std::vector<std::pair<double, NodeId>> others;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) others.emplace_back(squared_distance(points[i], points[j]), static_cast<NodeId>(j));
    }
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(lists.per_node), others.end());
    for (std::size_t r = 0; r < lists.per_node; ++r) lists.nodes[i * lists.per_node + r] = others[r].second;
  });
  return lists;
}

}  // namespace puretour
