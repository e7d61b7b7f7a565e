// SPDX-License-Identifier: MIT
#include "puretour/solve/construct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "puretour/tour/tour.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

TEST(GreedyTour, IsATourOfEveryKindOfInstance) {
  Rng rng(1);
  for (const Kind kind : kAllKinds) {
    for (const std::size_t n : {1, 2, 3, 4, 5, 7, 20, 100, 333}) {
      for (const std::size_t k : {1, 2, 5, 10}) {
        const Problem problem(random_instance(kind, n, rng), k);
        const std::vector<NodeId> order = greedy_tour(problem);
        ASSERT_EQ(order.size(), n);
        EXPECT_NO_THROW(check_permutation(order, n));
      }
    }
  }
}

TEST(GreedyTour, IsWithinAQuarterOfTheUniformOptimum) {
  const Instance instance = uniform_benchmark(2000);
  const Problem problem(instance, 8);
  EXPECT_LT(static_cast<double>(problem.length(greedy_tour(problem))), 1.25 * 32719341);
}

TEST(GreedyTour, TakesTheShortestEdges) {
  // Two pairs and a far node: both short edges must be in the tour.
  const Problem problem(Instance({{0, 0}, {10, 0}, {1, 0}, {11, 0}, {100, 50}}), 4);
  const std::vector<NodeId> order = greedy_tour(problem);
  const auto adjacent = [&](NodeId a, NodeId b) {
    const auto p = std::find(order.begin(), order.end(), a) - order.begin();
    return order[static_cast<std::size_t>(p + 1) % 5] == b || order[static_cast<std::size_t>(p + 4) % 5] == b;
  };
  EXPECT_TRUE(adjacent(0, 2));
  EXPECT_TRUE(adjacent(1, 3));
}

TEST(HilbertOrder, VisitsTheCellsOfAGridOneStepAtATime) {
  std::vector<Point> points;
  for (int x = 0; x < 16; ++x) {
    for (int y = 0; y < 16; ++y) points.push_back({x * 1.0, y * 1.0});
  }
  const std::vector<NodeId> order = hilbert_order(points);
  check_permutation(order, points.size());
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const Point a = points[static_cast<std::size_t>(order[i])];
    const Point b = points[static_cast<std::size_t>(order[i + 1])];
    EXPECT_EQ(std::fabs(a.x - b.x) + std::fabs(a.y - b.y), 1);
  }
}

TEST(HilbertOrder, CopesWithDegenerateBoxes) {
  EXPECT_TRUE(hilbert_order({}).empty());
  const std::vector<Point> equal(5, Point{1e7, -1e7});
  EXPECT_EQ(hilbert_order(equal), (std::vector<NodeId>{0, 1, 2, 3, 4}));
  const std::vector<Point> vertical = {{5, 3}, {5, 1}, {5, 2}};
  EXPECT_EQ(hilbert_order(vertical).size(), 3U);
}

TEST(RandomOrder, IsAPermutationThatFollowsTheSeed) {
  Rng first(3);
  Rng second(3);
  const std::vector<NodeId> order = random_order(50, first);
  EXPECT_NO_THROW(check_permutation(order, 50));
  EXPECT_EQ(order, random_order(50, second));
  EXPECT_NE(order, random_order(50, second));
}

TEST(RandomGreedyTour, DrawsDifferentToursNearTheGreedyOne) {
  const Problem problem(uniform_benchmark(500), 10);
  Rng rng(1);
  const std::vector<NodeId> first = random_greedy_tour(problem, rng);
  const std::vector<NodeId> second = random_greedy_tour(problem, rng);
  check_permutation(first, 500);
  check_permutation(second, 500);
  EXPECT_NE(first, second);
  EXPECT_LT(problem.length(first), problem.length(greedy_tour(problem)) * 3 / 2);
}

TEST(LongEdgeShare, TellsClustersFromUniformPoints) {
  EXPECT_LT(long_edge_share(Problem(uniform_benchmark(1000), 10)), 0.16);
  // Ten dense clusters far from each other.
  Rng rng(1);
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) {
    points.push_back({1e5 * (i % 5) + 1000 * rng.uniform(), 1e5 * (i % 2) + 1000 * rng.uniform()});
  }
  EXPECT_GT(long_edge_share(Problem(Instance(points, Metric::kEuc2d), 10)), 0.5);
  EXPECT_EQ(long_edge_share(Problem(Instance(std::vector<Point>(20, Point{1, 1}), Metric::kEuc2d), 10)), 0);
}

}  // namespace
}  // namespace puretour
