// How the law depends on the quality of tours: the same measurements for optimal tours, for searches that were stopped
// early, and for well-known constructions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/law/experiment.h"

namespace puretour {

/// Tours of one kind of the same instances.
struct TourGroup {
  std::string name;
  std::optional<double> target;  // excess near which the search was stopped; nothing for optimal and named tours
};

/// The tours of every instance: "optimal" (EAX until two runs agree); one group for each target: a Lin-Kernighan search
/// from a noisy greedy tour, stopped where its excess is nearest to the target; then the named ones: Lin-Kernighan and
/// 3-opt local optima, 2-opt from a greedy and from a random tour, greedy edge, nearest neighbour, space-filling curve,
/// random order.
std::vector<TourGroup> tour_groups(std::span<const double> targets);

/// The group of the optimal tours is the first one.
inline constexpr std::size_t kOptimalGroup = 0;

/// One tour of each group for one instance (kEuclidean), by the names of tour_groups. The tours depend on the instance,
/// the targets (decreasing order not needed) and the seed only.
std::vector<std::vector<NodeId>> tours_of_groups(const Instance& instance, std::span<const double> targets,
                                                 std::uint64_t seed);

/// Nearest neighbour tour from a given node; ties to the lower node number. O(n^2).
std::vector<NodeId> nearest_neighbour_tour(const Instance& instance, NodeId start);

struct SensitivityOptions {
  std::vector<std::size_t> scales = {500};
  std::vector<Distribution> distributions = {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion,
                                             Distribution::kImplosion};
  std::size_t instances = 16;  // of each scale and distribution
  std::vector<double> targets = {0.01, 0.02, 0.05, 0.10};
  std::uint64_t seed = 2025;
  int threads = 1;
  std::function<void()> progress = {};  // called after each instance, from any thread
};

/// Below the smallest scale the searches have nothing to do; above the largest one EAX takes too long.
inline constexpr std::size_t kMinSensitivityScale = 12;
inline constexpr std::size_t kMaxSensitivityScale = 20000;

struct SensitivityRow {
  TourGroup group;
  LawRow law;  // type, pooled orders, fit with intervals
  double mean_excess = 0;
  double least_excess = 0;
  double most_excess = 0;
  /// Of the instances: in how many the mean order of the tour is above that of the optimal tour.
  std::size_t num_less_pure = 0;
};

/// A row for each scale, distribution and group, in this order. Throws InputError for scales outside
/// these limits, targets that are not positive, and empty lists.
std::vector<SensitivityRow> run_sensitivity(const SensitivityOptions& options);

/// Header and one line for each row; empty fields where something cannot be fitted.
std::string sensitivity_csv(std::span<const SensitivityRow> rows);

}  // namespace puretour
