// A tour: every node once, in visiting order.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/tour/instance.h"

namespace puretour {

/// A checked permutation of 0 .. n - 1; the edge from the last node back to the first belongs to the tour.
class Tour {
 public:
  Tour() = default;

  /// Throws InputError unless `order` holds every node 0 .. order.size() - 1 exactly once; the message names (1-based)
  /// a node that is missing, doubled or out of range, and its position.
  explicit Tour(std::vector<NodeId> order);

  /// 0, 1, ..., n - 1.
  static Tour identity(std::size_t num_nodes);

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::span<const NodeId> order() const { return order_; }
  [[nodiscard]] NodeId operator[](std::size_t position) const { return order_[position]; }

  /// Starts at node 0 and goes towards the lower-numbered of its two neighbours: equal cycles give equal normal forms.
  [[nodiscard]] Tour normal_form() const;

  bool operator==(const Tour&) const = default;

 private:
  std::vector<NodeId> order_;
};

/// Throws InputError if `order` is not a permutation of 0 .. num_nodes - 1 (see Tour), or has another size.
void check_permutation(std::span<const NodeId> order, std::size_t num_nodes);

/// Length of the closed tour in the metric of the instance, the closing edge included. 0 for fewer than two nodes;
/// twice the distance for two. Throws InputError if the sizes differ.
double tour_length(const Instance& instance, const Tour& tour);

}  // namespace puretour
