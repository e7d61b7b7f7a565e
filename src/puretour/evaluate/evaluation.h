// Runs solvers over data sets and keeps what they did: resumable, in parallel over instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/evaluate/data_set.h"
#include "puretour/evaluate/model_card.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/solve/solver.h"

namespace puretour {

/// A solver under test.
struct EvaluatedSolver {
  std::string name;      // unique; names its files
  std::string identity;  // everything that decides its tours: kept with results, so that they are not mixed up
  std::optional<ModelCard> model = {};                                        // networks only
  std::function<std::shared_ptr<const Solver>(std::size_t nodes)> for_nodes;  // called once for each set
};

/// The tour that others are measured against, and what vouches for it.
struct ReferenceTour {
  std::string method;  // of our solver, or "given" with the data
  double length = 0;
  double seconds = 0;
  double bound = 0;  // no tour is shorter (Held-Karp)
  bool bound_is_proven = false;
  std::vector<NodeId> order;
  PurityHistogram orders;  // follow from the tour
};

/// What a solver did with an instance. The time is the only value that differs between machines and runs.
struct SolvedItem {
  double length = 0;
  double seconds = 0;
  PurityHistogram orders;
  std::optional<double> ceil_length = {};  // TSPLIB: the sum of unrounded distances, rounded up as INViT does it
  std::vector<NodeId> order;               // of items that are pictured, else empty
};

struct EvaluationProgress {
  std::size_t done = 0;  // references and solutions, those found on disk included
  std::size_t total = 0;
  std::optional<double> seconds_left;
};

struct EvaluationRun {
  std::string folder;  // gets data/ with reference tours and results/ with a file for each solver and set
  std::uint64_t seed = 2025;
  std::string reference_solver = "eax";
  std::optional<double> reference_seconds = {};  // time limit of each reference tour
  int threads = 1;
  Deadline deadline = {};                                        // stop early; what is done is on disk
  std::function<void(const EvaluationProgress&)> progress = {};  // after each piece of work, from any thread
};

/// Everything that is known of a set: one entry for each item, empty where the deadline came first.
struct EvaluatedSet {
  EvaluationSet set;
  std::vector<std::optional<ReferenceTour>> references;
  std::vector<std::vector<std::optional<SolvedItem>>> solutions;  // [solver][item]

  /// What gaps are measured from: the reference tour, or the published length where that is shorter. Nothing without a
  /// reference.
  [[nodiscard]] std::optional<double> reference_length(std::size_t item) const;
};

/// The first item of each set is pictured if it is not larger than this: its tours are kept.
inline constexpr std::size_t kMaxPicturedNodes = 1000;
bool is_pictured(const EvaluationSet& set, std::size_t item);

/// Solves what is not on disk yet. Every result is written as soon as it is known, so that a kill loses only what is in
/// work. Lengths and tours depend on the sets, the solvers and the seed only (and on the clock, if references have a
/// time limit). Throws InputError if the folder holds results of something else, or if two solvers or sets share a
/// name.
std::vector<EvaluatedSet> run_evaluation(std::vector<EvaluationSet> sets, std::span<const EvaluatedSolver> solvers,
                                         const EvaluationRun& run);

/// Writes each generated set that is complete as NAME.txt (instances with reference tours, one per line) beside its
/// references, unless it is there already: data for others, and for --data.
void write_complete_sets(std::span<const EvaluatedSet> sets, const std::string& folder);

}  // namespace puretour
