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
/// Coordinates must stay below 1e18, so that squares fit a float.
///
/// Nodes lie in small buckets, neighbours in space together, and 64 buckets form a group; a query compares its circle
/// with the boxes of all groups and then of the buckets of the groups it meets, eight at a time. When a third of the
/// nodes is gone the rest moves together into fewer buckets. Amortised cost of a query and a removal together: a few
/// hundred nanoseconds for k = 50 among 10,000 nodes.
class RemainingNeighbours {
 public:
  explicit RemainingNeighbours(std::span<const Point> points);

  /// Puts all nodes back: cheaper than a new object when the same instance is walked again.
  void reset();

  /// How many nodes are left.
  [[nodiscard]] std::size_t remaining() const { return num_remaining_; }
  [[nodiscard]] bool is_remaining(NodeId node) const { return slot_of_[static_cast<std::size_t>(node)] != kRemoved; }

  /// Takes a node away. It must still be there.
  void remove(NodeId node);

  /// Writes the min(k, remaining()) nearest remaining nodes of `node` by increasing (distance, number) and returns how
  /// many; `node` itself is left out, whether it was removed or not. out must have room for k.
  std::size_t nearest(NodeId node, std::size_t k, NodeId* out);

  static constexpr std::size_t kBucketSize = 16;  // two vectors of eight floats
  static constexpr std::size_t kGroupSize = 64;   // buckets: one bit each in a machine word

  /// Boxes as one array per side, padded to whole groups with boxes that nothing meets.
  struct Boxes {
    std::vector<float> low_x, low_y, high_x, high_y;
    void reset(std::size_t count);
    void add(std::size_t box, float x, float y);
    void add(std::size_t box, const Boxes& others, std::size_t other);
  };

 private:
  static constexpr std::uint32_t kRemoved = 0xFFFFFFFFU;

  void lay_out(std::span<const NodeId> nodes);
  void gather(float x, float y, float squared_radius, std::uint32_t own_slot);
  std::size_t select(std::size_t k, NodeId* out);

  std::size_t num_remaining_ = 0;
  std::size_t num_laid_out_ = 0;    // nodes that remained when the buckets were last filled
  std::vector<NodeId> tree_order_;  // all nodes, neighbours in space close together
  std::vector<NodeId> compacted_;   // scratch of remove
  std::vector<float> point_x_;      // by node
  std::vector<float> point_y_;
  std::vector<std::uint32_t> slot_of_;  // by node; kRemoved when it is gone
  // kBucketSize slots per bucket, the remaining nodes first.
  std::vector<float> slot_x_;
  std::vector<float> slot_y_;
  std::vector<NodeId> slot_node_;
  std::vector<std::uint32_t> bucket_count_;
  Boxes bucket_boxes_;  // removals do not shrink them
  Boxes group_boxes_;
  // Found by the query in hand: distances as bit patterns, which order like the (never negative) floats themselves.
  std::vector<std::int32_t> found_keys_;
  std::vector<NodeId> found_nodes_;
  std::vector<std::int32_t> ranks_;
  std::vector<NodeId> ranked_nodes_;
  std::size_t num_found_ = 0;
  // Where the next query starts to look: only its speed depends on them.
  float squared_guess_ = 0;
  std::size_t guess_k_ = 0;
};

}  // namespace puretour
