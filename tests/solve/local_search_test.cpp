// SPDX-License-Identifier: MIT
#include "puretour/solve/local_search.h"

#include <gtest/gtest.h>

#include <atomic>

#include "puretour/base/error.h"
#include "puretour/base/rng.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/exact.h"
#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

LocalSearchResult search(const Problem& problem, std::int64_t max_kicks, std::uint64_t seed = 0,
                         std::span<const NodeId> start = {}) {
  LocalSearchOptions options;
  options.max_kicks = max_kicks;
  options.seed = seed;
  options.start = start;
  return iterated_local_search(problem, options);
}

TEST(IteratedLocalSearch, FindsTheOptimumOfSmallInstances) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = 1; n <= 12; ++n) {
      for (int round = 0; round < 10; ++round) {
        const Problem problem(random_instance(kind, n, rng), kLocalSearchCandidates);
        const LocalSearchResult result = search(problem, 100);
        check_permutation(result.order, n);
        EXPECT_EQ(result.length, problem.length(result.order));
        EXPECT_EQ(result.length, problem.length(exact_tour(problem)))
            << "kind " << static_cast<int>(kind) << ", n " << n << ", round " << round;
      }
    }
  }
}

TEST(IteratedLocalSearch, ComesCloseToTheBestKnownLength) {
  const Problem problem(uniform_benchmark(1000), kLocalSearchCandidates);
  EXPECT_LT(static_cast<double>(search(problem, 500, 1).length), 1.006 * 23031406);
}

TEST(IteratedLocalSearch, DependsOnlyOnTheSeed) {
  const Problem problem(uniform_benchmark(500), kLocalSearchCandidates);
  const LocalSearchResult first = search(problem, 200, 1);
  const LocalSearchResult second = search(problem, 200, 1);
  EXPECT_EQ(first.order, second.order);
  EXPECT_EQ(first.kicks, 200);
  EXPECT_NE(first.order, search(problem, 200, 2).order);
}

TEST(IteratedLocalSearch, NeverReturnsALongerTourThanItsStart) {
  Rng rng(2);
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : {5, 9, 30, 200}) {
      const Problem problem(random_instance(kind, n, rng), kLocalSearchCandidates);
      const std::vector<NodeId> good = search(problem, 100).order;
      for (const std::int64_t kicks : {0, 1, 50}) {
        const LocalSearchResult result = search(problem, kicks, 3, good);
        check_permutation(result.order, n);
        EXPECT_LE(result.length, problem.length(good));
        EXPECT_EQ(result.length, problem.length(result.order));
      }
    }
  }
}

TEST(IteratedLocalSearch, RefusesAStartThatIsNoTour) {
  Rng rng(3);
  const Problem problem(random_instance(Kind::kUniform, 10, rng), kLocalSearchCandidates);
  const std::vector<NodeId> start = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8};
  EXPECT_THROW(search(problem, 1, 0, start), InputError);
}

TEST(IteratedLocalSearch, StopsAtOnceWhenAskedTo) {
  const Problem problem(uniform_benchmark(2000), kLocalSearchCandidates);
  const std::atomic<bool> stop = true;
  LocalSearchOptions options;
  options.deadline = Deadline().with_stop_flag(&stop);
  const LocalSearchResult result = iterated_local_search(problem, options);
  EXPECT_EQ(result.kicks, 0);
  EXPECT_NO_THROW(check_permutation(result.order, 2000));
}

TEST(IteratedLocalSearch, ReportsShorterAndShorterTours) {
  const Problem problem(uniform_benchmark(1000), kLocalSearchCandidates);
  std::vector<LocalSearchProgress> reports;
  LocalSearchOptions options;
  options.max_kicks = 200;
  options.progress = [&](const LocalSearchProgress& report) { reports.push_back(report); };
  const LocalSearchResult result = iterated_local_search(problem, options);
  ASSERT_FALSE(reports.empty());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_LT(reports[i].best_length, reports[i - 1].best_length);
    EXPECT_GE(reports[i].kicks, reports[i - 1].kicks);
    EXPECT_GE(reports[i].seconds, reports[i - 1].seconds);
  }
  EXPECT_GE(reports.back().best_length, result.length);
}

// Long tours are improved in cells; every cell must leave a complete tour whose length is known.
TEST(IteratedLocalSearch, ImprovesLongToursInCells) {
  Rng rng(4);
  const Problem problem(uniform_benchmark(16000), 8);
  const std::vector<NodeId> start = greedy_tour(problem);
  const LocalSearchResult result = search(problem, 60, 1, start);
  check_permutation(result.order, 16000);
  EXPECT_EQ(result.kicks, 60);
  EXPECT_EQ(result.length, problem.length(result.order));
  EXPECT_LT(static_cast<double>(result.length), 0.89 * static_cast<double>(problem.length(start)));
  EXPECT_EQ(result.order, search(problem, 60, 1, start).order);
}

}  // namespace
}  // namespace puretour
