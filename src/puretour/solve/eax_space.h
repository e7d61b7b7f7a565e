// The problem as the genetic algorithm sees it: renumbered so that near nodes are near in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "puretour/solve/problem.h"

namespace puretour {

/// A Problem whose nodes are renumbered along a given tour, with candidate costs stored next to the candidates. The
/// inner loops of EAX touch the costs of near pairs only; after renumbering these share cache lines.
/// The problem must outlive the space.
class EaxSpace {
 public:
  using Cost = Problem::Cost;
  using Length = Problem::Length;

  struct Neighbour {
    NodeId node;
    Cost cost;
  };

  /// Node order[k] of the problem becomes node k; the `num_neighbours` first candidates of each node are kept (fewer if
  /// the problem has fewer).
  EaxSpace(const Problem& problem, std::span<const NodeId> order, std::size_t num_neighbours);

  [[nodiscard]] NodeId size() const { return size_; }

  [[nodiscard]] Cost cost(NodeId i, NodeId j) const {
    if (!points_.empty()) {
      const double squared =
          squared_distance(points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)]);
      return static_cast<Cost>(std::sqrt(squared) * scale_ + 0.5);
    }
    if (!table_.empty())
      return table_[static_cast<std::size_t>(i) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(j)];
    return problem_.cost(original_[static_cast<std::size_t>(i)], original_[static_cast<std::size_t>(j)]);
  }

  /// By increasing cost.
  [[nodiscard]] std::span<const Neighbour> neighbours(NodeId i) const {
    return {neighbours_.data() + static_cast<std::size_t>(i) * per_node_, per_node_};
  }

  /// No edge at node i costs less than this.
  [[nodiscard]] Cost least_cost(NodeId i) const { return least_cost_[static_cast<std::size_t>(i)]; }

  /// Whether the edge is fixed in the problem.
  [[nodiscard]] bool is_fixed(NodeId i, NodeId j) const {
    return !fixed_mates_.empty() && fixed_mates_[static_cast<std::size_t>(i)] == j;
  }

  /// Renumbers a tour of the problem.
  [[nodiscard]] std::vector<NodeId> to_space(std::span<const NodeId> order) const;
  /// The inverse of to_space.
  [[nodiscard]] std::vector<NodeId> to_problem(std::span<const NodeId> order) const;

 private:
  // Other metrics: above this many nodes a second cost table would cost more memory (16 MB) than it saves time.
  static constexpr NodeId kTableLimit = 2000;

  const Problem& problem_;
  NodeId size_;
  std::vector<NodeId> original_;    // number in the problem
  std::vector<NodeId> renumbered_;  // its inverse
  std::vector<Point> points_;  // for rounded Euclidean costs: computing them is faster than a table beyond the cache
  double scale_ = 1;
  std::vector<Cost> table_;
  std::size_t per_node_;
  std::vector<Neighbour> neighbours_;
  std::vector<Cost> least_cost_;
  std::vector<NodeId> fixed_mates_;  // renumbered; empty if no edge is fixed
};

}  // namespace puretour
