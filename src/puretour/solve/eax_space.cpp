// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_space.h"

#include <algorithm>

namespace puretour {

EaxSpace::EaxSpace(const Problem& problem, std::span<const NodeId> order, std::size_t num_neighbours)
    : problem_(problem),
      size_(problem.size()),
      original_(order.begin(), order.end()),
      renumbered_(order.size()),
      per_node_(std::min(num_neighbours, problem.candidates(0).size())) {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t i = 0; i < n; ++i) renumbered_[static_cast<std::size_t>(original_[i])] = static_cast<NodeId>(i);
  if (problem.metric() == Metric::kEuclidean || problem.metric() == Metric::kEuc2d) {
    points_.reserve(n);
    for (const NodeId node : original_) points_.push_back(problem.points()[static_cast<std::size_t>(node)]);
    scale_ = problem.scale();
  } else if (size_ <= kTableLimit) {
    table_.resize(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) table_[i * n + j] = problem.cost(original_[i], original_[j]);
    }
  }
  if (!problem.fixed_mates().empty()) {
    fixed_mates_.reserve(n);
    for (const NodeId node : original_) {
      const NodeId mate = problem.fixed_mates()[static_cast<std::size_t>(node)];
      fixed_mates_.push_back(mate == Problem::kNoMate ? mate : renumbered_[static_cast<std::size_t>(mate)]);
    }
  }
  neighbours_.reserve(n * per_node_);
  least_cost_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto candidates = problem.candidates(original_[i]);
    for (std::size_t r = 0; r < per_node_; ++r) {
      neighbours_.push_back(
          {renumbered_[static_cast<std::size_t>(candidates[r])], problem.cost(original_[i], candidates[r])});
    }
    // Rounded metrics may order equal costs by exact distance, and lists by quadrant may not start with the nearest.
    std::stable_sort(neighbours_.end() - static_cast<std::ptrdiff_t>(per_node_), neighbours_.end(),
                     [](const Neighbour& a, const Neighbour& b) { return a.cost < b.cost; });
    least_cost_.push_back(neighbours_[i * per_node_].cost);
  }
}

std::vector<NodeId> EaxSpace::to_space(std::span<const NodeId> order) const {
  std::vector<NodeId> result;
  result.reserve(order.size());
  for (const NodeId node : order) result.push_back(renumbered_[static_cast<std::size_t>(node)]);
  return result;
}

std::vector<NodeId> EaxSpace::to_problem(std::span<const NodeId> order) const {
  std::vector<NodeId> result;
  result.reserve(order.size());
  for (const NodeId node : order) result.push_back(original_[static_cast<std::size_t>(node)]);
  return result;
}

}  // namespace puretour
