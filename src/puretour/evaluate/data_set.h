// What solvers are tested on: sets of instances of one type, generated or read.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "puretour/generate/generate.h"
#include "puretour/tour/sample.h"

namespace puretour {

struct EvaluationItem {
  std::string name;  // unique in its set: a number for generated instances, else the name of the file
  std::size_t nodes = 0;
  std::optional<double> published = {};  // the optimal length as others have found it
};

struct EvaluationSet {
  std::string name;         // "uniform-100", "tsplib-101-1000"
  std::string description;  // what decides the instances: kept with results, so that they are not mixed up
  std::optional<Distribution> distribution = {};  // of generated sets
  std::size_t scale = 0;                          // nodes of every instance; 0: they differ
  bool is_tsplib = false;
  std::vector<EvaluationItem> items;
  std::function<Sample(std::size_t item)> load;  // from any thread; a tour in it is taken as the reference
};

/// Instances 0 .. num_instances - 1 of the data set (seed, distribution, scale), see generate_instance.
EvaluationSet random_set(Distribution distribution, std::size_t scale, std::size_t num_instances, std::uint64_t seed);

/// The set of a text like "uniform-100" or "clustered-1000:20" (so many instances; else the usual number). Nothing for
/// a text that does not begin with a distribution and a dash. Throws InputError for impossible numbers.
std::optional<EvaluationSet> random_set_of_text(std::string_view text, std::uint64_t seed);

/// How many instances the published test sets have: 500 up to 100 nodes, 50 up to 1000, 5 above.
std::size_t usual_instances(std::size_t scale);

/// The sizes of the paper's tables, and the largest instance that is evaluated.
inline constexpr std::size_t kPaperScales[] = {100, 1000, 5000, 10000};
inline constexpr std::size_t kMaxEvaluatedNodes = 10'000;

/// Generated instances may have other sizes, too.
inline constexpr std::size_t kMinRandomNodes = 5;
inline constexpr std::size_t kMaxRandomNodes = 100'000;

/// What is in a folder. TSPLIB files (.tsp): those with metric EUC_2D or CEIL_2D, at most kMaxEvaluatedNodes nodes and
/// no fixed edges, in three sets of 1-100, 101-1000 and 1001-10000 nodes; a file `solutions` with lines "NAME : LENGTH"
/// gives the published lengths. Files of samples (.txt, .lines, .npy, .npz): a set for each. Sets come by size, items
/// by name. Throws InputError if there is neither.
std::vector<EvaluationSet> folder_sets(const std::string& folder);

}  // namespace puretour
