// SPDX-License-Identifier: MIT
#include "puretour/solve/local_optima.h"

#include <gtest/gtest.h>

#include <set>

#include "puretour/solve/construct.h"
#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

constexpr LocalOptimum kBothKinds[] = {LocalOptimum::kThreeOpt, LocalOptimum::kLinKernighan};

TEST(LocalOptima, AreGoodAndDifferent) {
  const Instance instance = uniform_benchmark(2000);
  const Problem problem(instance, 10);
  constexpr double kBest = 32719341;
  for (const LocalOptimum kind : kBothKinds) {
    const LocalOptima optima(problem, kind);
    Rng rng(3);
    std::set<Problem::Length> lengths;
    double sum = 0;
    for (int run = 0; run < 5; ++run) {
      const std::vector<NodeId> order = optima.draw(rng);
      check_permutation(order, 2000);
      lengths.insert(problem.length(order));
      sum += static_cast<double>(problem.length(order)) / kBest - 1;
    }
    EXPECT_EQ(lengths.size(), 5U);
    EXPECT_LT(sum / 5, kind == LocalOptimum::kThreeOpt ? 0.06 : 0.02);
  }
}

TEST(LocalOptima, DependOnTheRandomNumbersOnly) {
  const Problem problem(uniform_benchmark(300), 10);
  for (const LocalOptimum kind : kBothKinds) {
    Rng rng(1);
    Rng same(1);
    EXPECT_EQ(LocalOptima(problem, kind).draw(rng), LocalOptima(problem, kind).draw(same));
  }
}

TEST(LocalOptima, AreNoLongerThanTheirStartForAnyKindOfInstance) {
  Rng rng(4);
  for (const Kind instance_kind : kAllKinds) {
    for (std::size_t n = 1; n < 100; n += n < 10 ? 1 : 30) {
      const Problem problem(random_instance(instance_kind, n, rng), 8);
      for (const LocalOptimum kind : kBothKinds) {
        Rng same = rng;
        const std::vector<NodeId> start = kind == LocalOptimum::kThreeOpt || n < kMinMoveNodes
                                              ? random_order(problem.size(), same)
                                              : random_greedy_tour(problem, same);
        const std::vector<NodeId> order = LocalOptima(problem, kind).draw(rng);
        check_permutation(order, n);
        EXPECT_LE(problem.length(order), problem.length(start));
      }
    }
  }
}

TEST(LocalOptima, StopAtTheDeadline) {
  const Problem problem(uniform_benchmark(2000), 10);
  for (const LocalOptimum kind : kBothKinds) {
    Rng rng(1);
    check_permutation(LocalOptima(problem, kind).draw(rng, Deadline::after_seconds(0)), 2000);
  }
}

}  // namespace
}  // namespace puretour
