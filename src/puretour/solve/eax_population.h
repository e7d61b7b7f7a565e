// The population of EAX: tours, how they mate, and which offspring replaces its parent.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/base/rng.h"
#include "puretour/solve/eax.h"
#include "puretour/solve/eax_ab_cycles.h"
#include "puretour/solve/eax_block2.h"
#include "puretour/solve/eax_edge_counts.h"
#include "puretour/solve/eax_offspring.h"
#include "puretour/solve/eax_space.h"
#include "puretour/solve/eax_tour.h"

namespace puretour {

/// Which E-sets make the offspring of a pair.
enum class EaxStage {
  kSingle,  // one AB-cycle each: small local changes
  kBlock2,  // several AB-cycles that move blocks
};

/// N tours and everything that breeding needs. A tour is only ever replaced by a shorter one. Space and options must
/// outlive the population.
class EaxPopulation {
 public:
  using Length = EaxTour::Length;

  EaxPopulation(const EaxSpace& space, const EaxOptions& options, int num_tours, std::uint64_t seed);

  /// Adds a tour; call it num_tours times before the first generation.
  void add(EaxTour tour);

  [[nodiscard]] std::span<const EaxTour> tours() const { return tours_; }
  [[nodiscard]] const EdgeCounts& edge_counts() const { return counts_; }
  [[nodiscard]] const EaxTour& best() const;
  [[nodiscard]] double mean_length() const;
  /// Whether all tours have the same length, which hardly ever improves any more.
  [[nodiscard]] bool has_converged() const;
  /// Offspring evaluated so far.
  [[nodiscard]] std::int64_t num_offspring() const { return num_offspring_; }

  /// One generation: the tours stand in a random circle; each is once parent A, which its best offspring may replace,
  /// and once parent B. Random numbers depend on the seed and the number of the generation only. Stops between two
  /// pairs when the deadline expires.
  void breed(int generation, EaxStage stage, const Deadline& deadline);

 private:
  void mate(EaxTour& a, const EaxTour& b, EaxStage stage, Rng& rng);
  void consider(EaxTour& a, const EaxTour& b, std::span<const std::int32_t> e_set);
  double exchange_counts(std::span<const std::int32_t> e_set, std::span<const SubtourJoin> joins);
  void restore_counts(std::span<const std::int32_t> e_set, std::span<const SubtourJoin> joins);

  [[maybe_unused]] const EaxSpace& space_;  // for assertions
  const EaxOptions& options_;
  std::uint64_t seed_;
  std::vector<EaxTour> tours_;
  EdgeCounts counts_;
  AbCycles cycles_;
  OffspringBuilder builder_;
  Block2 block2_;
  std::vector<std::size_t> circle_;
  std::int64_t num_offspring_ = 0;
  // The best offspring of the present pair.
  double best_score_ = 0;
  Length best_gain_ = 0;
  std::vector<std::int32_t> best_e_set_;
  std::vector<SubtourJoin> best_joins_;
};

}  // namespace puretour
