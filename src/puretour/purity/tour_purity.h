// Purity of a tour: the order of each of its edges, and what they amount to.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "puretour/geometry/kd_tree.h"
#include "puretour/geometry/point.h"

namespace puretour {

/// Order of the edges (order[t], order[t + 1]), t = 0 .. n - 1, the closing edge last. Two nodes have two (equal)
/// edges. Throws InputError for fewer than two nodes, or if `order` is not a permutation of all points. O(n log n) for
/// good tours. The result does not depend on `threads`.
std::vector<std::uint32_t> tour_orders(std::span<const Point> points, std::span<const NodeId> order, int threads = 1);

/// The same with an index of the points that is already there; for many tours of one instance.
std::vector<std::uint32_t> tour_orders(const KdTree& points, std::span<const NodeId> order, int threads = 1);

/// Counts of edges by purity order, of one tour or pooled over many, and the metrics of the paper.
class PurityHistogram {
 public:
  void add(std::uint32_t order, std::uint64_t count = 1);
  void add(std::span<const std::uint32_t> orders);
  void add(const PurityHistogram& other);

  [[nodiscard]] std::uint64_t num_edges() const { return num_edges_; }
  /// counts()[k] edges have order k; the last entry is not zero.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }

  /// Share y(k) of the edges that have order k. Needs num_edges() > 0.
  [[nodiscard]] double proportion(std::size_t order) const;
  /// Prop-0: y(0).
  [[nodiscard]] double proportion_zero() const { return proportion(0); }
  /// APO(all): mean order of all edges.
  [[nodiscard]] double mean_order() const;
  /// APO(non-0): mean order of the edges of order >= 1; undefined (nullopt) when there is none.
  [[nodiscard]] std::optional<double> mean_positive_order() const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t num_edges_ = 0;
};

}  // namespace puretour
