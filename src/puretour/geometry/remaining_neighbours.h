// The k nearest of the nodes that are still there, while nodes are taken away one by one.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// For tours that are built step by step: remove(node) when a node is visited, nearest(node, k) for the view around it.
/// Distances are compared as the neural solvers define them: coordinates rounded to float, squared distance
/// dx * dx + dy * dy in float with every operation rounded once, ties to the lower node number.
/// A k-d tree whose leaves hold their remaining nodes in front. Amortised cost of a query and a removal together: a few
/// hundred nanoseconds for k = 50 among 10,000 nodes.
class RemainingNeighbours {
 public:
  explicit RemainingNeighbours(std::span<const Point> points);

  /// Puts all nodes back: cheaper than a new object when the same instance is walked again.
  void reset();

  /// How many nodes are left.
  [[nodiscard]] std::size_t remaining() const { return num_remaining_; }
  [[nodiscard]] bool is_remaining(NodeId node) const;

  /// Takes a node away. It must still be there.
  void remove(NodeId node);

  /// Writes the min(k, remaining()) nearest remaining nodes of `node` by increasing (distance, number) and returns how
  /// many; `node` itself is left out, whether it was removed or not. out must have room for k.
  std::size_t nearest(NodeId node, std::size_t k, NodeId* out);

 private:
  // Two vectors of eight floats.
  static constexpr std::size_t kLeafSize = 16;
  static constexpr std::uint32_t kRemoved = 0xFFFFFFFFU;

  struct FloatBox {
    float low_x, low_y, high_x, high_y;
  };

  [[nodiscard]] std::size_t num_leaves() const { return std::size_t{1} << depth_; }
  void gather_within(float x, float y, float squared_radius, std::uint32_t own_slot);
  void gather_all(float x, float y, std::uint32_t own_slot);
  void gather_leaf(std::size_t leaf, float x, float y, float squared_radius, std::uint32_t own_slot);
  std::size_t select(std::size_t k, NodeId* out);

  unsigned depth_ = 0;
  std::size_t num_remaining_ = 0;
  std::vector<float> point_x_;  // by node
  std::vector<float> point_y_;
  std::vector<std::uint32_t> home_leaf_;  // by node
  std::vector<FloatBox> boxes_;           // by tree node, as built: removals do not shrink them
  std::vector<std::uint32_t> counts_;     // remaining nodes below a tree node
  // Slots: kLeafSize per leaf, the remaining nodes first.
  std::vector<float> slot_x_;
  std::vector<float> slot_y_;
  std::vector<NodeId> slot_node_;
  std::vector<std::uint32_t> slot_of_;  // by node; kRemoved when it is gone
  // Found by the query in hand: distances as bit patterns, which order like the (never negative) floats themselves.
  std::vector<std::int32_t> found_keys_;
  std::vector<NodeId> found_nodes_;
  std::vector<std::int32_t> ranks_;
  std::size_t num_found_ = 0;
};

}  // namespace puretour
