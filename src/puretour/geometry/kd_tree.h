// A static, balanced k-d tree over points of the plane, for any distribution of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// The points are stored leaf by leaf, so that a leaf is a short contiguous run. The tree is complete and has no
/// pointers: node 1 is the root, node v has the children 2v and 2v + 1, the last level holds the leaves.
/// Built in O(n log n); 40 bytes per point. Points must be finite.
class KdTree {
 public:
  /// Leaves hold at most this many points: two vector registers of doubles.
  static constexpr std::size_t kLeafSize = 8;

  explicit KdTree(std::span<const Point> points);

  [[nodiscard]] std::size_t size() const { return ids_.size(); }

  /// Number of points strictly inside the circle whose diameter joins two of the points (see disc.h), or any number
  /// above `limit` once more than `limit` are found. O(log n) for short edges, O(sqrt n) for long ones.
  /// The points are named by stored position (see position_of).
  [[nodiscard]] std::size_t count_inside_diametral_disc(
      std::size_t position_a, std::size_t position_b,
      std::size_t limit = std::numeric_limits<std::size_t>::max()) const;

  /// Asks the memory for what a count from this position reads first.
  void prefetch(std::size_t position) const {
    __builtin_prefetch(&xs_[position]);
    __builtin_prefetch(&ys_[position]);
    __builtin_prefetch(&boxes_[num_leaves() + (position << depth_) / size()]);
  }

  /// Writes the k = out.size() nearest points of node `node`, itself excluded, by increasing (squared distance, id).
  /// k < n. `scratch` is reused between calls.
  using Scratch = std::vector<std::pair<double, NodeId>>;
  void nearest_to_node(NodeId node, std::span<NodeId> out, Scratch& scratch) const;

  // The structure, for algorithms with their own traversal (see purity/gabriel.cpp).
  [[nodiscard]] std::size_t num_leaves() const { return std::size_t{1} << depth_; }
  [[nodiscard]] bool is_leaf(std::size_t node) const { return node >= num_leaves(); }
  [[nodiscard]] const Box& box(std::size_t node) const { return boxes_[node]; }
  /// Stored positions [begin, end) of a leaf node.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] Range leaf_range(std::size_t leaf_node) const {
    const std::size_t leaf = leaf_node - num_leaves();
    return {leaf * size() >> depth_, (leaf + 1) * size() >> depth_};
  }
  /// The leaf that holds a stored position.
  [[nodiscard]] std::size_t leaf_of_position(std::size_t position) const;
  [[nodiscard]] Point point_at(std::size_t position) const { return {xs_[position], ys_[position]}; }
  [[nodiscard]] NodeId id_at(std::size_t position) const { return ids_[position]; }
  [[nodiscard]] std::size_t position_of(NodeId id) const { return positions_[static_cast<std::size_t>(id)]; }

 private:
  struct Item {
    Point point;
    NodeId id = 0;
  };
  void build(std::size_t node, unsigned level, std::vector<Item>& items);

  unsigned depth_ = 0;
  std::vector<double> xs_;
  std::vector<double> ys_;
  std::vector<NodeId> ids_;               // stored position -> node
  std::vector<std::uint32_t> positions_;  // node -> stored position
  std::vector<Box> boxes_;                // by node number; [0] is unused
};

}  // namespace puretour
