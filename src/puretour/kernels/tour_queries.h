// Queries of all steps of given tours, forward and backward: sums of shares of the nodes that a step knows.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace puretour::kernels {

/// Instances with num_nodes nodes and num_tours tours each. Step t of tour g of instance b has the query
///   base[b, g] + last[node before t] + sum of visited[nodes before t],
/// and, if there is a node before the first step only in name (first_step = 0), query 0 is start[b].
struct TourQueries {
  std::size_t num_instances = 0;
  std::size_t num_tours = 0;
  std::size_t num_nodes = 0;
  std::size_t first_step = 0;  // 0 or 1: the steps are first_step .. num_nodes - 1
  std::size_t dim = 0;
  std::span<const std::int32_t> tours;  // instance by instance, tour by tour

  [[nodiscard]] std::size_t num_steps() const { return num_nodes - first_step; }

  /// `visited` may be null: no such share. `start` (num_instances rows) is read if first_step is 0. All without gaps.
  void compute(const float* base, const float* last, const float* visited, const float* start, float* queries) const;

  /// Adds the gradients to those given; `visited` and `start` may be null as above.
  void gradient(const float* query_gradients, float* base, float* last, float* visited, float* start) const;
};

}  // namespace puretour::kernels
