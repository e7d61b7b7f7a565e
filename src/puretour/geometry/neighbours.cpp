// SPDX-License-Identifier: MIT
#include "puretour/geometry/neighbours.h"

#include <algorithm>

#include "puretour/base/parallel.h"
#include "puretour/geometry/kd_tree.h"

namespace puretour {

NeighbourLists nearest_neighbours(std::span<const Point> points, std::size_t k, int threads) {
  const std::size_t n = points.size();
  NeighbourLists lists;
  lists.per_node = std::min(k, n > 0 ? n - 1 : 0);
  if (lists.per_node == 0) return lists;
  lists.nodes.resize(n * lists.per_node);
  const KdTree tree(points);
  constexpr std::size_t kBlock = 1024;
  parallel_for_blocks(n, kBlock, threads, [&](std::size_t begin, std::size_t end) {
    KdTree::Scratch scratch;
    // In the tree's own order: neighbouring queries touch the same leaves.
    for (std::size_t position = begin; position < end; ++position) {
      const NodeId node = tree.id_at(position);
      const std::span<NodeId> row(lists.nodes.data() + static_cast<std::size_t>(node) * lists.per_node, lists.per_node);
      tree.nearest_to_node(node, row, scratch);
    }
  });
  return lists;
}

}  // namespace puretour
