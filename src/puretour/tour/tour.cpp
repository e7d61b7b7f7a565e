// SPDX-License-Identifier: MIT
#include "puretour/tour/tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "puretour/base/error.h"

namespace puretour {
namespace {

// The common case, fast: one bit per node stays in the cache where a table of positions would not.
bool is_permutation(std::span<const NodeId> order, std::size_t num_nodes) {
  if (order.size() != num_nodes) return false;
  std::vector<std::uint64_t> seen((num_nodes + 63) / 64, 0);
  for (const NodeId node : order) {
    if (node < 0 || static_cast<std::size_t>(node) >= num_nodes) return false;
    const auto index = static_cast<std::size_t>(node);
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    if ((seen[index / 64] & bit) != 0) return false;
    seen[index / 64] |= bit;
  }
  return true;
}

}  // namespace

void check_permutation(std::span<const NodeId> order, std::size_t num_nodes) {
  if (is_permutation(order, num_nodes)) return;
  // Something is wrong: find out what.
  constexpr NodeId kNotSeen = -1;
  std::vector<NodeId> first_position(num_nodes, kNotSeen);
  std::size_t doubled_position = order.size();
  for (std::size_t position = 0; position < order.size(); ++position) {
    const NodeId node = order[position];
    if (node < 0 || static_cast<std::size_t>(node) >= num_nodes) {
      throw InputError(fmt::format("tour: position {} holds node {}, but nodes are 1 to {}", position + 1,
                                   static_cast<std::int64_t>(node) + 1, num_nodes));
    }
    NodeId& seen = first_position[static_cast<std::size_t>(node)];
    if (seen != kNotSeen && doubled_position == order.size()) doubled_position = position;
    if (seen == kNotSeen) seen = static_cast<NodeId>(position);
  }
  const auto missing = std::find(first_position.begin(), first_position.end(), kNotSeen);
  std::string problem;
  if (doubled_position != order.size()) {
    const NodeId node = order[doubled_position];
    problem = fmt::format("node {} appears twice (positions {} and {})", node + 1,
                          first_position[static_cast<std::size_t>(node)] + 1, doubled_position + 1);
  }
  if (missing != first_position.end()) {
    if (!problem.empty()) problem += ", ";
    problem += fmt::format("node {} is missing", missing - first_position.begin() + 1);
  }
  if (!problem.empty()) {
    throw InputError(
        fmt::format("tour: not a permutation of {} nodes: {} ({} nodes given)", num_nodes, problem, order.size()));
  }
}

Tour::Tour(std::vector<NodeId> order) : order_(std::move(order)) {
  check_permutation(order_, order_.size());
}

Tour Tour::identity(std::size_t num_nodes) {
  Tour tour;
  tour.order_.resize(num_nodes);
  std::iota(tour.order_.begin(), tour.order_.end(), 0);
  return tour;
}

Tour Tour::normal_form() const {
  Tour result = *this;
  auto& order = result.order_;
  if (order.size() < 3) {
    std::sort(order.begin(), order.end());
    return result;
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  if (order.back() < order[1]) std::reverse(order.begin() + 1, order.end());
  return result;
}

double tour_length(const Instance& instance, const Tour& tour) {
  if (tour.size() != instance.size()) {
    throw InputError(fmt::format("tour has {} nodes, the instance {}", tour.size(), instance.size()));
  }
  double length = 0;
  for (std::size_t i = 0; i + 1 < tour.size(); ++i) length += instance.distance(tour[i], tour[i + 1]);
  if (tour.size() >= 2) length += instance.distance(tour[tour.size() - 1], tour[0]);
  return length;
}

}  // namespace puretour
