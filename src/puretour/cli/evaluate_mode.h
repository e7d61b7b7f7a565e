// The work of `puretour evaluate`, which `puretour reproduce` does, too.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "puretour/evaluate/data_set.h"

namespace puretour::cli {

struct EvaluateOptions {
  std::vector<std::string> models;
  std::vector<std::string> solvers;
  std::vector<std::string> data = {"random"};
  std::vector<std::size_t> scales;
  std::vector<std::string> distributions;
  std::vector<std::size_t> instances;  // one for all scales, or one for each
  std::string decode = "greedy";
  std::string augment = "1";
  std::string precision = "float32";
  std::string reference = "eax";
  std::optional<double> reference_seconds;
  std::uint64_t seed = 2025;
  std::string output;
  bool json = false;
  bool quiet = false;
  bool prints = true;  // tables on standard output
  int threads = 0;
};

/// The data sets that the options name. Throws InputError.
std::vector<EvaluationSet> sets_of(const EvaluateOptions& options);

/// Runs or continues an evaluation and writes evaluate.json, instances.csv and types.csv into its folder. Returns false
/// if Ctrl-C stopped it. Throws InputError.
bool evaluate(const EvaluateOptions& options);

}  // namespace puretour::cli
