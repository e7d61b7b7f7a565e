// One tour of the EAX population: undirected links that an offspring can edit in place.
// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "puretour/solve/eax_space.h"

namespace puretour {

/// Links without orientation (an edge exchange changes two of them, whatever lies between), plus the visiting order
/// that the links had when it was last written down.
class EaxTour {
 public:
  using Cost = EaxSpace::Cost;
  using Length = EaxSpace::Length;

  /// The two tour neighbours of a node, in no particular order, and what these edges cost.
  struct Node {
    NodeId link[2];
    Cost cost[2];
    bool operator==(const Node&) const = default;
  };

  EaxTour() = default;
  /// `order` in the numbering of the space.
  EaxTour(const EaxSpace& space, std::span<const NodeId> order);

  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  [[nodiscard]] const Node& node(NodeId v) const { return nodes_[static_cast<std::size_t>(v)]; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }

  [[nodiscard]] Length length() const { return length_; }

  /// Node at a position of the order, as of the last number().
  [[nodiscard]] NodeId at(NodeId position) const { return order_[static_cast<std::size_t>(position)]; }
  [[nodiscard]] NodeId position(NodeId v) const { return position_[static_cast<std::size_t>(v)]; }
  [[nodiscard]] std::span<const NodeId> order() const { return order_; }
  /// Where the order breaks if the edge (u v) is cut: the position just behind it.
  [[nodiscard]] NodeId cut_position(NodeId u, NodeId v) const {
    const NodeId p = position(u);
    const NodeId q = position(v);
    return p - q == 1 ? p : q - p == 1 ? q : 0;  // else it is the edge that closes the order
  }

  [[nodiscard]] bool has_edge(NodeId u, NodeId v) const { return node(u).link[0] == v || node(u).link[1] == v; }

  /// Half of an edge exchange: the link of v to `from` leads to `to` afterwards. The caller keeps the links symmetric.
  void replace_link(NodeId v, NodeId from, NodeId to, Cost cost) {
    Node& node = nodes_[static_cast<std::size_t>(v)];
    assert(node.link[0] == from || node.link[1] == from);
    const int side = node.link[0] == from ? 0 : 1;
    node.link[side] = to;
    node.cost[side] = cost;
  }

  /// Writes down order, positions and length of the present links, in O(n). They must form one cycle.
  void number();

 private:
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<NodeId> position_;
  Length length_ = 0;
};

}  // namespace puretour
