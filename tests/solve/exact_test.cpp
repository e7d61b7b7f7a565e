// SPDX-License-Identifier: MIT
#include "puretour/solve/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "puretour/base/error.h"
#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

Problem::Length shortest_by_enumeration(const Problem& problem) {
  std::vector<NodeId> order(static_cast<std::size_t>(problem.size()));
  std::iota(order.begin(), order.end(), 0);
  Problem::Length best = problem.length(order);
  if (order.size() < 3) return best;
  while (std::next_permutation(order.begin() + 1, order.end())) best = std::min(best, problem.length(order));
  return best;
}

TEST(ExactTour, EqualsEnumerationOfAllTours) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (std::size_t n = 1; n <= 8; ++n) {
      const Problem problem(random_instance(kind, n, rng), 5);
      const std::vector<NodeId> order = exact_tour(problem);
      check_permutation(order, n);
      EXPECT_EQ(order.size(), n);
      EXPECT_EQ(problem.length(order), shortest_by_enumeration(problem));
    }
  }
}

TEST(ExactTour, AcceptsNegativeWeights) {
  const Instance instance(WeightMatrix{4, {0, -5, 3, 2, -5, 0, -4, 1, 3, -4, 0, -7, 2, 1, -7, 0}});
  const Problem problem(instance, 3);
  EXPECT_EQ(problem.length(exact_tour(problem)), shortest_by_enumeration(problem));
}

TEST(ExactTour, RefusesWhatItCannotHold) {
  Rng rng(2);
  EXPECT_NO_THROW(exact_tour(Problem(random_instance(Kind::kUniform, 13, rng), 5)));
  EXPECT_THROW(exact_tour(Problem(random_instance(Kind::kUniform, kMaxExactNodes + 1, rng), 5)), InputError);
}

}  // namespace
}  // namespace puretour
