// What the classical solvers work on: integer costs and candidate neighbours of an instance.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/neighbours.h"
#include "puretour/solve/candidates.h"
#include "puretour/tour/instance.h"

namespace puretour {

/// Integer edge costs (exact comparisons, no rounding noise in gains) plus sorted candidate lists.
/// TSPLIB metrics and whole-number matrices keep their values; other lengths are scaled so that the longest possible
/// edge is near 2^29. Sums of costs need 64 bits.
class Problem {
 public:
  using Cost = std::int32_t;
  using Length = std::int64_t;

  /// Costs come from a full table up to this many nodes, and are computed from coordinates above it.
  static constexpr std::size_t kTableLimit = 4000;

  /// In fixed_mates(): no fixed edge at this node.
  static constexpr NodeId kNoMate = -1;

  /// `num_candidates` per node, by increasing cost. `kind` chooses them for planar metrics; for others they are always
  /// the cheapest (ties by index). Throws InputError if a cost is too large, or if a node has two fixed edges: chains
  /// of them have to be contracted before (collapse.h).
  Problem(const Instance& instance, std::size_t num_candidates, int threads = 1,
          CandidateKind kind = CandidateKind::kNearest);

  [[nodiscard]] NodeId size() const { return size_; }

  [[nodiscard]] Cost cost(NodeId i, NodeId j) const {
    if (!table_.empty())
      return table_[static_cast<std::size_t>(i) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(j)];
    return computed_cost(i, j);
  }

  [[nodiscard]] std::span<const NodeId> candidates(NodeId i) const { return candidates_.of(i); }

  /// The other end of the fixed edge of each node, or kNoMate; empty if no edge is fixed.
  [[nodiscard]] std::span<const NodeId> fixed_mates() const { return fixed_mates_; }
  [[nodiscard]] bool is_fixed(NodeId i, NodeId j) const {
    return !fixed_mates_.empty() && fixed_mates_[static_cast<std::size_t>(i)] == j;
  }

  /// Coordinates where the instance has them (possibly display coordinates), else empty.
  [[nodiscard]] std::span<const Point> points() const { return points_; }

  [[nodiscard]] Metric metric() const { return metric_; }

  /// cost = round(distance * scale); 1 for whole-number metrics.
  [[nodiscard]] double scale() const { return scale_; }

  /// No cost is larger in absolute value.
  [[nodiscard]] Cost largest_cost() const { return largest_cost_; }

  /// Whether a smaller Euclidean distance never costs more, so that near points are cheap neighbours.
  [[nodiscard]] bool has_planar_metric() const {
    return metric_ == Metric::kEuclidean || metric_ == Metric::kEuc2d || metric_ == Metric::kCeil2d ||
           metric_ == Metric::kAtt;
  }

  /// Sum of costs of the closed tour.
  [[nodiscard]] Length length(std::span<const NodeId> order) const;

  /// A cost sum in the unit of the instance (the exact length where costs are not scaled).
  [[nodiscard]] double to_instance_length(Length length) const { return static_cast<double>(length) / scale_; }

 private:
  [[nodiscard]] Cost computed_cost(NodeId i, NodeId j) const;

  NodeId size_ = 0;
  Metric metric_ = Metric::kEuclidean;
  double scale_ = 1;  // cost = round(distance * scale); 1 for whole-number metrics
  Cost largest_cost_ = 0;
  std::vector<Point> points_;
  std::vector<Cost> table_;
  NeighbourLists candidates_;
  std::vector<NodeId> fixed_mates_;
};

/// See Problem::fixed_mates. Throws InputError if a node has two fixed edges.
std::vector<NodeId> mates_of_fixed_edges(const Instance& instance);

/// Throws InputError unless the tour contains all fixed edges of the problem. O(n).
void check_has_fixed_edges(const Problem& problem, std::span<const NodeId> order);

}  // namespace puretour
