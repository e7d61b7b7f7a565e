// SPDX-License-Identifier: MIT
#include "puretour/solve/collapse.h"

#include <algorithm>
#include <numeric>

namespace puretour {

CollapsedInstance::CollapsedInstance(const Instance& instance) : instance_(instance) {
  if (instance.metric() == Metric::kExplicit || instance.metric() == Metric::kGeo) return;
  const auto points = instance.points();
  const std::size_t n = points.size();

  std::vector<NodeId> by_place(n);
  std::iota(by_place.begin(), by_place.end(), 0);
  const auto point = [&](NodeId i) { return points[static_cast<std::size_t>(i)]; };
  std::sort(by_place.begin(), by_place.end(), [&](NodeId i, NodeId j) {
    const Point a = point(i);
    const Point b = point(j);
    if (a.x != b.x) return a.x < b.x;
    if (a.y != b.y) return a.y < b.y;
    return i < j;
  });
  // The first of each run of equal points stands for all of them.
  std::vector<NodeId> representative(n);
  std::size_t num_distinct = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const bool is_copy = r > 0 && point(by_place[r]) == point(by_place[r - 1]);
    const NodeId first = is_copy ? representative[static_cast<std::size_t>(by_place[r - 1])] : by_place[r];
    representative[static_cast<std::size_t>(by_place[r])] = first;
    num_distinct += is_copy ? 0 : 1;
  }
  if (num_distinct == n) return;

  std::vector<Point> distinct;
  distinct.reserve(num_distinct);
  collapsed_node_.resize(n);
  first_copy_.assign(num_distinct + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = static_cast<std::size_t>(representative[i]);
    if (first == i) {
      collapsed_node_[i] = static_cast<NodeId>(distinct.size());
      distinct.push_back(points[i]);
    } else {
      collapsed_node_[i] = collapsed_node_[first];  // first < i, known already
    }
    ++first_copy_[static_cast<std::size_t>(collapsed_node_[i]) + 1];
  }
  std::partial_sum(first_copy_.begin(), first_copy_.end(), first_copy_.begin());
  copies_.resize(n);
  std::vector<std::size_t> next_slot(first_copy_.begin(), first_copy_.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    copies_[next_slot[static_cast<std::size_t>(collapsed_node_[i])]++] = static_cast<NodeId>(i);
  }
  instance_ = Instance(std::move(distinct), instance.metric(), instance.name());
}

Tour CollapsedInstance::expanded(const Tour& collapsed) const {
  if (!has_copies()) return collapsed;
  std::vector<NodeId> order;
  order.reserve(copies_.size());
  for (const NodeId node : collapsed.order()) {
    const auto c = static_cast<std::size_t>(node);
    for (std::size_t slot = first_copy_[c]; slot < first_copy_[c + 1]; ++slot) order.push_back(copies_[slot]);
  }
  return Tour(std::move(order));
}

Tour CollapsedInstance::collapsed(const Tour& original) const {
  if (!has_copies()) return original;
  std::vector<NodeId> order;
  order.reserve(instance_.size());
  std::vector<bool> visited(instance_.size());
  for (const NodeId node : original.order()) {
    const NodeId c = collapsed_node_[static_cast<std::size_t>(node)];
    if (visited[static_cast<std::size_t>(c)]) continue;
    visited[static_cast<std::size_t>(c)] = true;
    order.push_back(c);
  }
  return Tour(std::move(order));
}

}  // namespace puretour
