// A tour as an array of nodes, for local search: constant-time neighbours, moves that cost what they displace, undo.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

/// The node at every position and the position of every node. A tour is a cycle without direction here: an update may
/// mirror it. All updates go through rearrange(), which records what it overwrites until commit() or rollback().
class ArrayTour {
 public:
  /// `length` consecutive positions from `begin` on (wrapping around), read backwards if `reversed`.
  struct Piece {
    NodeId begin;
    NodeId length;
    bool reversed;
  };

  /// At least three nodes, every one of 0 .. n - 1 once.
  explicit ArrayTour(std::span<const NodeId> order);

  [[nodiscard]] NodeId size() const { return size_; }
  [[nodiscard]] NodeId position(NodeId node) const { return position_[static_cast<std::size_t>(node)]; }
  /// The node at a position in -1 .. size(): both ends have a copy of the other end beyond them.
  [[nodiscard]] NodeId at(NodeId position) const { return padded_order_[static_cast<std::size_t>(position + 1)]; }
  [[nodiscard]] NodeId next(NodeId node) const { return at(position(node) + 1); }
  [[nodiscard]] NodeId previous(NodeId node) const { return at(position(node) - 1); }
  [[nodiscard]] std::span<const NodeId> order() const {
    return {padded_order_.data() + 1, static_cast<std::size_t>(size_)};
  }

  /// Makes the tour visit the given pieces one after the other. Together they must hold each position once.
  /// The longest piece stays where it is, and so does every other one that ends
  /// up at its old place: the cost is the number of displaced nodes, at most n - longest. Reorders `pieces`.
  void rearrange(std::span<Piece> pieces);

  /// Forgets how to undo.
  void commit();

  /// How much has been recorded; to undo back to here.
  [[nodiscard]] std::size_t mark() const { return saved_.size(); }

  /// Undoes everything since the mark was taken, exactly.
  void rollback_to(std::size_t mark);

  /// Undoes everything since the last commit, exactly.
  void rollback() { rollback_to(0); }

 private:
  struct Saved {
    NodeId begin;
    NodeId length;
  };

  void save(NodeId begin, NodeId length);
  template <typename NodeAt>
  void write(NodeId begin, NodeId length, NodeAt node_at);
  void copy_ends();

  NodeId size_;
  std::vector<NodeId> padded_order_;
  std::vector<NodeId> position_;
  std::vector<Saved> saved_;         // overwritten ranges since the last commit, oldest first
  std::vector<NodeId> saved_nodes_;  // their old contents, one after the other
};

}  // namespace puretour
