// AB-cycles: the difference of two tours, split into closed walks that alternate between their edges.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/solve/eax_tour.h"

namespace puretour {

/// One AB-cycle: nodes v0 .. v(2k-1), where (v0 v1), (v2 v3), ... are edges of A and (v1 v2), ..., (v(2k-1) v0) are
/// edges of B. A node may occur twice.
struct AbCycle {
  std::span<const NodeId> nodes;
  std::span<const EaxTour::Cost> costs;  // costs[i] is the cost of the edge from nodes[i] to the next node
  EaxTour::Length gain = 0;              // cost of its A-edges minus cost of its B-edges

  [[nodiscard]] std::size_t num_a_edges() const { return nodes.size() / 2; }
  [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 < nodes.size() ? i + 1 : 0; }
  [[nodiscard]] std::size_t previous(std::size_t i) const { return i > 0 ? i - 1 : nodes.size() - 1; }
};

/// A random partition of (A union B) minus (A intersect B) into AB-cycles (Nagata and Kobayashi 2013, section 3.1).
/// Common edges are left out before the walk starts, so the cost follows the difference of the parents, not n. Keeps
/// its scratch memory from pair to pair.
class AbCycles {
 public:
  explicit AbCycles(NodeId num_nodes);

  /// Splits the difference of A and B, or a random part of it with at most `max_cycles` cycles. O(n) to compare the
  /// tours, then O(edges walked).
  void build(const EaxTour& a, const EaxTour& b, Rng& rng, std::size_t max_cycles);

  [[nodiscard]] std::size_t size() const { return gains_.size(); }
  [[nodiscard]] AbCycle operator[](std::size_t i) const {
    const std::size_t begin = offsets_[i];
    const std::size_t length = offsets_[i + 1] - begin;
    return {{nodes_.data() + begin, length}, {costs_.data() + begin, length}, gains_[i]};
  }

  /// Number of edges of A that are not in B, whether or not a cycle holds them.
  [[nodiscard]] std::size_t num_differing_edges() const { return num_differing_edges_; }

 private:
  // The edges of one parent at a node that are not in the other parent and not yet in the walk.
  struct Ends {
    NodeId node[2];
    EaxTour::Cost cost[2];
    int count = 0;
  };
  // Even walk indices leave by an A-edge, odd ones by a B-edge; a node can be on the walk once in each way.
  struct Site {
    Ends ends[2];
    std::int32_t walk_index[2] = {kNotOnWalk, kNotOnWalk};
  };
  static constexpr std::int32_t kNotOnWalk = -1;

  void collect_difference(const EaxTour& a, const EaxTour& b);
  void walk_from(NodeId start, Rng& rng, std::size_t max_cycles);
  void emit(std::size_t begin, std::size_t end);
  Site& site(NodeId v) { return sites_[static_cast<std::size_t>(v)]; }

  std::vector<Site> sites_;        // valid for the nodes in differing_
  std::vector<NodeId> differing_;  // nodes that may still have edges outside the walk
  std::size_t num_differing_edges_ = 0;
  std::vector<NodeId> walk_;
  std::vector<EaxTour::Cost> walk_costs_;  // walk_costs_[i]: the edge from walk_[i] to walk_[i + 1]
  std::uint64_t coins_ = 0;                // random bits not used yet
  int num_coins_ = 0;
  std::vector<NodeId> nodes_;  // all cycles, one after the other
  std::vector<EaxTour::Cost> costs_;
  std::vector<std::size_t> offsets_;
  std::vector<EaxTour::Length> gains_;
};

}  // namespace puretour
