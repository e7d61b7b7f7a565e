// What the algorithms solve instead of an instance: equal points as one, chains of fixed edges as one fixed edge.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

/// An instance without repeated points, which create zero-length plateaus and fill candidate lists with copies, and
/// without inner nodes of chains of fixed edges, so that each node has at most one fixed edge; and the way back. Copies
/// of a point are consecutive in some optimal tour of every metric that is collapsed, so solving the collapsed instance
/// loses nothing.
class CollapsedInstance {
 public:
  /// O(n log n). Copies in EXPLICIT and GEO instances, where they have a distance, are kept. So are copies that are
  /// ends of chains; the others at their place go along with the first of them. A fixed cycle through all nodes is
  /// treated as a chain that lacks its last edge: there is only one tour anyway.
  explicit CollapsedInstance(const Instance& instance);

  /// The nodes that are left, in their order in the original; the original instance if that is all of them. A chain is
  /// a fixed edge between its ends here, at its own cost.
  [[nodiscard]] const Instance& instance() const { return instance_; }
  /// Whether some nodes are left out.
  [[nodiscard]] bool is_smaller() const { return !kept_.empty(); }

  /// Length of chains minus that of the fixed edges in their place: what an expanded tour is longer.
  [[nodiscard]] double contracted_length() const { return contracted_length_; }

  /// The tour of the original instance that visits all copies of a point one after the other and follows the chains.
  /// The given tour must contain the fixed edges of instance().
  [[nodiscard]] Tour expanded(const Tour& collapsed) const;

  /// The tour of the collapsed instance that visits each point where the given tour visits its first copy, and ends of
  /// chains where it does. The given tour must contain the fixed edges of the original instance.
  [[nodiscard]] Tour collapsed(const Tour& original) const;

 private:
  /// The fixed edges at each original node; kNone where there are fewer than two.
  using Links = std::vector<std::array<NodeId, 2>>;
  static constexpr NodeId kNone = -1;

  static Links fixed_links(const Instance& instance);
  [[nodiscard]] bool is_end(NodeId v) const;
  [[nodiscard]] bool is_inner(NodeId v) const;
  [[nodiscard]] std::vector<NodeId> chain_from(NodeId end) const;
  [[nodiscard]] std::vector<NodeId> representatives(const Instance& instance) const;
  void keep_nodes(const Instance& instance, const std::vector<NodeId>& representative);
  void make_instance(const Instance& instance);
  void append_copies(NodeId collapsed, std::vector<NodeId>& order) const;

  Instance instance_;
  double contracted_length_ = 0;
  Links links_;  // empty without fixed edges
  // Of each collapsed node the original one that it was; of each original node its collapsed one, kNone for inner nodes
  // of chains; of each collapsed node where its copies begin in copies_. Empty if all nodes are kept.
  std::vector<NodeId> kept_;
  std::vector<NodeId> collapsed_node_;
  std::vector<std::size_t> first_copy_;
  std::vector<NodeId> copies_;
};

}  // namespace puretour
