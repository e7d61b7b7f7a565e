// The anytime solver: Lin-Kernighan descents from small random disturbances of the tour (iterated local search).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/solve/problem.h"

namespace puretour {

struct LocalSearchProgress {
  Problem::Length best_length = 0;  // in costs of the problem
  std::int64_t kicks = 0;           // disturbances tried so far
  double seconds = 0;               // since the start of the search
};

struct LocalSearchOptions {
  /// When to stop. The search always returns a tour that is complete, however early it has to stop.
  Deadline deadline;
  /// Stops after this many kicks, too; negative: no limit, or 10 per node if there is no time limit either. With a
  /// limit on kicks only, the result depends on nothing but the problem, the start and the seed.
  std::int64_t max_kicks = -1;
  std::uint64_t seed = 0;
  /// The tour to start from, and never to return a longer one than; empty: a greedy tour. With all fixed edges of the
  /// problem, else InputError.
  std::span<const NodeId> start;
  /// Tries the first so many candidates of the problem instead of a few alpha-nearest ones; for comparison.
  int plain_candidates = 0;
  /// Called from time to time when the best tour has become shorter.
  std::function<void(const LocalSearchProgress&)> progress;
};

struct LocalSearchResult {
  std::vector<NodeId> order;
  Problem::Length length = 0;
  std::int64_t kicks = 0;
};

/// How many candidates per node a problem should have for this search.
inline constexpr std::size_t kLocalSearchCandidates = 10;

/// Improves a tour until a limit is reached. A kick is a double bridge of short segments at a random place; the tour is
/// repaired there by k-opt moves and put back as it was if it did not become shorter. The cost of a kick does not
/// depend on n: tours of more than some 10,000 nodes are improved in cells of the plane, one after the other.
LocalSearchResult iterated_local_search(const Problem& problem, const LocalSearchOptions& options);

}  // namespace puretour
