// Many different good tours of one problem, for algorithms that combine them.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/base/rng.h"
#include "puretour/solve/landscape.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// How local optima are made. Percentages are above optimal on uniform points.
enum class LocalOptimum {
  /// 3-opt over all candidates of the problem, from a random order: 4-5 %, as different as can be.
  kThreeOpt,
  /// Lin-Kernighan over a few alpha-nearest candidates, from a greedy tour with noise: 1 %. The tours share more edges,
  /// which real instances with clusters resent; in return a genetic algorithm has much less left to do.
  kLinKernighan,
};

/// Draws local optima; what does not depend on the start is prepared once. The problem must outlive it.
class LocalOptima {
 public:
  /// A near deadline shortens the preparation.
  LocalOptima(const Problem& problem, LocalOptimum kind, const Deadline& deadline = {});

  /// A tour that depends on the random numbers only, unless the deadline cuts its descent short.
  [[nodiscard]] std::vector<NodeId> draw(Rng& rng, const Deadline& deadline = {}) const;

 private:
  template <typename CostFunction>
  [[nodiscard]] std::vector<NodeId> draw_with(Rng& rng, const Deadline& deadline) const;

  const Problem& problem_;
  LocalOptimum kind_;
  std::vector<NodeId> all_nodes_;
  Landscape landscape_;  // for Lin-Kernighan
};

}  // namespace puretour
