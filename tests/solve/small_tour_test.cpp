// Searches of small tours against all permutations, and against the genetic algorithm.
// SPDX-License-Identifier: MIT
#include "puretour/solve/small_tour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "puretour/solve/solver.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

double length_of(std::span<const Point> points, std::span<const std::uint8_t> order, bool closed) {
  double length = 0;
  for (std::size_t i = 0; i + (closed ? 0 : 1) < order.size(); ++i) {
    length += std::sqrt(squared_distance(points[order[i]], points[order[(i + 1) % order.size()]]));
  }
  return length;
}

bool is_permutation_of(std::span<const std::uint8_t> order, std::size_t n) {
  std::vector<bool> seen(n);
  for (const std::uint8_t node : order) {
    if (node >= n || seen[node]) return false;
    seen[node] = true;
  }
  return order.size() == n;
}

// Of all orders that begin with node 0, and end with the last one if it is a path.
double shortest(std::span<const Point> points, bool closed) {
  std::vector<std::uint8_t> order(points.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  const auto end = closed ? order.end() : order.end() - 1;
  double best = length_of(points, order, closed);
  while (std::next_permutation(order.begin() + 1, end)) best = std::min(best, length_of(points, order, closed));
  return best;
}

TEST(SmallTourSearch, FindsTheShortestOfAllPermutations) {
  SmallTourSearch search;
  Rng rng(1);
  for (std::size_t n = 2; n <= 8; ++n) {
    for (int i = 0; i < 20; ++i) {
      for (const auto& [name, points] : test::all_point_sets(n, 100 * n + static_cast<std::size_t>(i))) {
        const SmallTourSearch::Limits limits{.kicks_per_node = 5, .starts = 3};
        const double tolerance = 1e-6 * shortest(points, true);
        EXPECT_NEAR(length_of(points, search.closed_tour(points, rng, limits), true), shortest(points, true), tolerance)
            << name << ", " << n << " nodes";
        EXPECT_NEAR(length_of(points, search.path(points, rng, limits), false), shortest(points, false), tolerance)
            << name << ", path of " << n << " nodes";
      }
    }
  }
}

TEST(SmallTourSearch, GivesPermutationsOfAllSizesAndTheEndsOfPaths) {
  SmallTourSearch search;
  Rng rng(2);
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 127, 128, 200, 254}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      const SmallTourSearch::Limits limits{.kicks_per_node = 0.3};
      EXPECT_TRUE(is_permutation_of(search.closed_tour(points, rng, limits), n)) << name << " " << n;
      const auto path = search.path(points, rng, limits);
      ASSERT_TRUE(is_permutation_of(path, n)) << name << " " << n;
      EXPECT_EQ(path.front(), 0) << name << " " << n;
      EXPECT_EQ(path.back(), n - 1) << name << " " << n;
    }
  }
}

TEST(SmallTourSearch, IsWithinAHundredthOfAPercentOfTheGeneticAlgorithm) {
  SmallTourSearch search;
  const auto eax = make_solver("eax");
  double excess = 0;
  constexpr int kInstances = 100;
  for (int i = 0; i < kInstances; ++i) {
    const std::vector<Point> points = test::uniform_points(50, static_cast<std::uint64_t>(i));
    const double best = eax->solve(Instance(points), {}).length;
    Rng rng(3, {static_cast<std::uint64_t>(i)});
    const double length = length_of(points, search.closed_tour(points, rng, {.kicks_per_node = 4}), true);
    EXPECT_GE(length, best * (1 - 1e-6));
    excess += length / best - 1;
  }
  EXPECT_LE(excess / kInstances, 1e-4);
}

// The links of a cycle in this order.
LinkedTour linked(const SmallGraph& graph, std::span<const std::uint8_t> order) {
  LinkedTour tour;
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    tour.links[order[i]] = {order[(i + n - 1) % n], order[(i + 1) % n]};
    tour.length += graph.cost(order[i], order[(i + 1) % n]);
  }
  return tour;
}

TEST(SmallCrossover, ChildrenAreShorterToursAndKeepFixedEdges) {
  Rng rng(4);
  int improved = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::size_t n = 5 + rng.below(100);
    SmallGraph graph;
    graph.set_points(test::uniform_points(n, i));
    // Two tours that share the fixed edge from the first to the last place, and the part between random places.
    std::vector<std::uint8_t> order(n);
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    rng.shuffle(order.data(), n);
    graph.fix_edge(order.front(), order.back());
    LinkedTour a = linked(graph, order);
    std::vector<std::uint8_t> other = order;
    const std::size_t begin = 1 + rng.below(n - 3);
    rng.shuffle(other.data() + begin, 1 + rng.below(n - 1 - begin));
    const LinkedTour b = linked(graph, other);
    const std::int64_t before = a.length;
    const bool shortened = shorten_by_crossover(graph, a, b, rng);
    EXPECT_EQ(shortened, a.length < before);
    improved += shortened ? 1 : 0;
    std::vector<std::uint8_t> child;
    std::uint8_t node = order.front();
    std::uint8_t previous = order.back();
    EXPECT_TRUE(a.links[node][0] == previous || a.links[node][1] == previous) << "the fixed edge is gone";
    for (std::size_t k = 0; k < n; ++k) {
      child.push_back(node);
      const std::uint8_t next = a.next(previous, node);
      previous = node;
      node = next;
    }
    ASSERT_TRUE(is_permutation_of(child, n)) << n;
    EXPECT_EQ(linked(graph, child).length, a.length);
  }
  EXPECT_GT(improved, 100);
}

}  // namespace
}  // namespace puretour
