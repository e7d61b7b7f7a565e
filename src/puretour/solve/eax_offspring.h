// Offspring of EAX: exchange the edges of an E-set in a parent, then join the sub-tours that this leaves.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "puretour/solve/eax_ab_cycles.h"
#include "puretour/solve/eax_space.h"
#include "puretour/solve/eax_tour.h"

namespace puretour {

/// Joins two sub-tours: edges (a b) and (c e) leave, edges (a c) and (b e) come.
struct SubtourJoin {
  NodeId a, b, c, e;
  EaxTour::Cost cost_ab, cost_ce, cost_ac, cost_be;

  [[nodiscard]] EaxTour::Length gain() const { return EaxTour::Length{cost_ab} + cost_ce - cost_ac - cost_be; }
};

/// Edits the links of A into those of the offspring: A-edges of the chosen cycles become B-edges, then the joins.
void apply_offspring(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set,
                     std::span<const SubtourJoin> joins);

/// The exact reverse of apply_offspring.
void undo_offspring(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set,
                    std::span<const SubtourJoin> joins);

/// Finds out what an E-set makes of parent A, in time that depends on the size of the change only. Keeps its scratch
/// memory from offspring to offspring.
class OffspringBuilder {
 public:
  using Length = EaxTour::Length;
  static constexpr Length kAnyGain = std::numeric_limits<Length>::min() / 2;

  explicit OffspringBuilder(const EaxSpace& space);

  /// Prepares for offspring of parent A, in O(n); call it again when A has changed.
  void start(const EaxTour& a);

  /// Exchanges the edges of the cycles `e_set` in A and joins the sub-tours, smallest first, each by the best exchange
  /// of two edges near it. True if the offspring is shorter than A by at least `least_gain`; then gain() and joins()
  /// describe it. A is edited and restored.
  bool build(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set, Length least_gain = 1);

  /// Length of A minus length of the offspring.
  [[nodiscard]] Length gain() const { return gain_; }
  [[nodiscard]] std::span<const SubtourJoin> joins() const { return joins_; }
  /// Before joining.
  [[nodiscard]] int num_subtours() const { return static_cast<int>(subtour_sizes_.size()); }
  /// Sub-tour of a node before joining; for the last A and E-set, until the next build().
  [[nodiscard]] int subtour_before_joining(const EaxTour& a, NodeId v) const;

 private:
  void cut_into_segments(const EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set);
  void link_segment_ends(const EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set);
  std::int32_t take_end(const EaxTour& a, NodeId v);
  void label_subtours();
  bool join_subtours(EaxTour& a, Length least_gain);
  void collect_inside(const EaxTour& a, std::int32_t subtour);
  bool find_best_join(const EaxTour& a, std::int32_t subtour, Length threshold, SubtourJoin& best) const;
  Length try_edge(const EaxTour& a, NodeId inside, NodeId outside, EaxTour::Cost cost_ac, Length best_gain,
                  SubtourJoin& best) const;
  void update_longest_link(const EaxTour& a, NodeId v) {
    longest_link_[index(v)] = std::max(a.node(v).cost[0], a.node(v).cost[1]);
  }

  [[nodiscard]] std::int32_t num_segments() const { return static_cast<std::int32_t>(cuts_.size()); }
  [[nodiscard]] NodeId segment_length(std::int32_t s) const {
    return s + 1 < num_segments() ? cuts_[index(s) + 1] - cuts_[index(s)] : cuts_[0] + num_nodes_ - cuts_[index(s)];
  }
  [[nodiscard]] std::int32_t segment_of(NodeId position) const;
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  const EaxSpace& space_;
  NodeId num_nodes_;
  // A's order falls into segments: segment s is the positions cuts_[s] .. cuts_[s + 1] - 1, the last one wraps around.
  std::vector<NodeId> cuts_;
  std::vector<std::int32_t> cut_at_;    // by position: 1 + index of the cut just before it, 0 for none
  std::vector<std::int32_t> end_mate_;  // end 2s is the first node of segment s, 2s + 1 its last; B-edges pair the ends
  std::vector<std::int32_t> subtour_;   // by segment
  std::vector<NodeId> subtour_sizes_;
  std::vector<NodeId> present_sizes_;          // while joining; 0 for a sub-tour that was joined to another
  std::vector<std::int32_t> present_subtour_;  // by segment, while joining
  std::vector<NodeId> inside_;                 // nodes of the sub-tour that is joined next
  // Cost of the longer link of each node, or kInside for the nodes in inside_: one look tells whether a neighbour is
  // outside and its links are long enough to matter.
  std::vector<EaxTour::Cost> longest_link_;
  static constexpr EaxTour::Cost kInside = std::numeric_limits<EaxTour::Cost>::min() / 2;
  Length gain_ = 0;
  std::vector<SubtourJoin> joins_;
};

}  // namespace puretour
