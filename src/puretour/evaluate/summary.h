// What an evaluation amounts to: a row for each solver and set, pairs of networks that differ in their method only, and
// the files that hold it all.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "puretour/evaluate/bootstrap.h"
#include "puretour/evaluate/evaluation.h"

namespace puretour {

/// Of the items that have both a solution and a reference.
struct SummaryRow {
  std::size_t set = 0;
  std::size_t solver = 0;
  std::size_t num_items = 0;
  std::optional<MeanInterval> gap;  // length / reference - 1, mean of the ratios; nothing without items
  double mean_length = 0;
  double mean_seconds = 0;
  PurityHistogram orders;          // of all edges together
  std::optional<double> ceil_gap;  // TSPLIB: of INViT's lengths, rounded up once, for comparison with the paper
};

/// One for each set and solver, sets first.
std::vector<SummaryRow> summarise(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

/// Two networks of one architecture and training size, one trained with PUPO and one without, on one set.
struct MethodPair {
  std::string slot;         // "AM-50"
  std::size_t vanilla = 0;  // solvers
  std::size_t pupo = 0;
  std::optional<std::size_t> set;  // nothing: all sets together, each with the same weight
  std::size_t num_items = 0;
  MeanInterval difference;      // gap of PUPO minus gap of vanilla on the same instance: below 0 PUPO is better
  std::size_t num_shorter = 0;  // instances on which PUPO's tour is shorter
  std::size_t num_longer = 0;
};

std::vector<MethodPair> method_pairs(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

/// How the tours were made, for readers of the results.
struct EvaluationNotes {
  std::string program;
  std::string machine;
  std::string decoding;
  std::string augmentation;
  std::string reference_solver;
  std::uint64_t seed = 0;
  int threads = 1;
};

/// The whole outcome as one JSON document, the tours of pictured items included.
std::string evaluation_json(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers,
                            const EvaluationNotes& notes);

/// The gaps as a table in Markdown, a row for each set and a column for each solver, and the paired comparisons.
std::string gaps_markdown(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

/// A line for each solver and instance, those of the references included.
std::string instances_csv(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

/// A line for each solver and set.
std::string types_csv(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers);

}  // namespace puretour
