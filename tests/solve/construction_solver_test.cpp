// SPDX-License-Identifier: MIT
#include "puretour/solve/construction_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "puretour/base/error.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

SolveResult solve(const char* name, const Instance& instance, std::uint64_t seed = 0) {
  SolveOptions options;
  options.seed = seed;
  const SolveResult result = make_solver(name)->solve(instance, options);
  EXPECT_EQ(result.method, name);
  EXPECT_DOUBLE_EQ(result.length, tour_length(instance, result.tour));
  return result;
}

TEST(ConstructionSolver, NearestWalksToTheNearestNodeThatIsLeft) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    const Instance instance = random_instance(kind, 40, rng);
    const Tour tour = solve("nearest", instance).tour;
    EXPECT_EQ(tour[0], 0);
    std::set<NodeId> visited = {0};
    for (std::size_t t = 0; t + 1 < tour.size(); ++t) {
      visited.insert(tour[t + 1]);
      const double step = instance.distance(tour[t], tour[t + 1]);
      for (NodeId other = 0; other < 40; ++other) {
        if (!visited.contains(other)) {
          EXPECT_LE(step, instance.distance(tour[t], other)) << static_cast<int>(kind);
        }
      }
    }
  }
}

TEST(ConstructionSolver, RefusesATourOfAnotherInstance) {
  Rng rng(3);
  const Instance instance = random_instance(kAllKinds[0], 20, rng);
  SolveOptions options;
  options.initial = Tour::identity(19);
  for (const char* name : {"nearest", "greedy", "2opt"}) {
    EXPECT_THROW((void)make_solver(name)->solve(instance, options), InputError) << name;
  }
}

// With eleven nodes every other one is a candidate. Nodes whose edges have not changed are not looked at again, so that
// an exchange can be overlooked, but seldom.
TEST(ConstructionSolver, TwoOptLeavesHardlyAnyExchangeOfTwoEdgesThatGains) {
  Rng rng(2);
  std::size_t num_overlooked = 0;
  std::size_t num_improvable = 0;
  const auto has_gain = [](const Instance& instance, const SolveResult& result) {
    const std::vector<NodeId> order(result.tour.order().begin(), result.tour.order().end());
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = i + 2; j <= order.size(); ++j) {
        std::vector<NodeId> other = order;
        std::reverse(other.begin() + static_cast<std::ptrdiff_t>(i), other.begin() + static_cast<std::ptrdiff_t>(j));
        if (tour_length(instance, Tour(other)) < result.length * (1 - 1e-6)) return true;
      }
    }
    return false;
  };
  for (int round = 0; round < 20; ++round) {
    for (const Kind kind : kAllKinds) {
      const Instance instance = random_instance(kind, 11, rng);
      const SolveResult greedy = solve("greedy", instance);
      const SolveResult result = solve("2opt", instance, rng.bits());
      EXPECT_LE(result.length, greedy.length + 1e-9);
      num_improvable += has_gain(instance, greedy) ? 1 : 0;
      num_overlooked += has_gain(instance, result) ? 1 : 0;
    }
  }
  EXPECT_GT(num_improvable, 60U) << "the test can fail";
  EXPECT_LE(num_overlooked, 3U);
}

TEST(ConstructionSolver, GreedyTakesTheShortestEdgesThatFit) {
  // On a line: 1 apart, then 2, then 10. By hand: (0,1), (1,2), (2,3), closing edge (3,0).
  const Instance line({{0, 0}, {1, 0}, {3, 0}, {13, 0}});
  EXPECT_EQ(solve("greedy", line).tour.normal_form(), Tour({0, 1, 2, 3}));
  // By hand: 5-6 (1), 0-1 (2), 2-3 (3) are taken first; a tour that goes round would have other edges.
  const SolveResult pairs = solve("greedy", Instance({{0, 0}, {2, 0}, {10, 0}, {13, 0}, {30, 0}, {40, 0}, {41, 0}}));
  EXPECT_DOUBLE_EQ(pairs.length, 82);
}

TEST(ConstructionSolver, CopesWithTinyInstances) {
  Rng rng(3);
  for (const char* name : {"nearest", "greedy", "2opt"}) {
    EXPECT_THROW(static_cast<void>(make_solver(name)->solve(Instance(), {})), InputError);
    for (std::size_t n = 1; n <= 13; ++n) {
      for (const Kind kind : kAllKinds) EXPECT_EQ(solve(name, random_instance(kind, n, rng)).tour.size(), n);
    }
  }
}

TEST(ConstructionSolver, NeverReturnsALongerTourThanTheGivenOne) {
  Rng rng(4);
  const Instance instance = random_instance(Kind::kUniform, 60, rng);
  SolveOptions options;
  options.initial = make_solver("eax")->solve(instance, {}).tour;
  EXPECT_LE(make_solver("nearest")->solve(instance, options).length, tour_length(instance, *options.initial));
}

}  // namespace
}  // namespace puretour
