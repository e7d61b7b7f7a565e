// Edges that every tour of an instance must contain.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// An undirected edge between two nodes.
struct FixedEdge {
  NodeId a;
  NodeId b;
  bool operator==(const FixedEdge&) const = default;
};

/// Fixed edges that some tour of num_nodes nodes contains: node-disjoint paths, or one cycle through all nodes.
/// Memory grows with the edges, not with num_nodes.
class FixedEdges {
 public:
  explicit FixedEdges(std::size_t num_nodes) : num_nodes_(num_nodes) {}

  /// Adds an edge; one that is there already, in either direction, changes nothing. Returns an empty string, or what is
  /// wrong with the edge (nodes 1-based), which is not added then: a node is out of range, both ends are the same, a
  /// node would have three fixed edges, or a cycle would be closed before all nodes are in it. O(1) but for errors.
  [[nodiscard]] std::string add(FixedEdge edge);

  /// In the order in which they were added.
  [[nodiscard]] std::span<const FixedEdge> edges() const { return edges_; }

 private:
  static constexpr NodeId kNone = -1;

  struct Node {
    std::array<NodeId, 2> mates = {kNone, kNone};
    NodeId other_end = kNone;  // of its path; kept up to date at the two ends only
  };

  Node& node(NodeId v);
  [[nodiscard]] std::size_t path_size(NodeId end) const;

  std::size_t num_nodes_;
  std::vector<FixedEdge> edges_;
  std::unordered_map<NodeId, Node> nodes_;  // those with a fixed edge
};

/// The edges without repetitions. Throws InputError for the first that FixedEdges::add() refuses.
std::vector<FixedEdge> checked_fixed_edges(std::span<const FixedEdge> edges, std::size_t num_nodes);

/// Throws InputError unless the closed tour `order`, called `name` ("the initial tour") in the message, contains all of
/// the edges.
void check_contains_fixed_edges(std::span<const NodeId> order, std::span<const FixedEdge> edges,
                                const std::string& name);

}  // namespace puretour
