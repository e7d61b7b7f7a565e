// Completions of partial tours against all permutations.
// SPDX-License-Identifier: MIT
#include "puretour/solve/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "puretour/base/error.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

double length_of(std::span<const Point> points, std::span<const NodeId> tour) {
  double length = 0;
  for (std::size_t i = 0; i < tour.size(); ++i) {
    const Point a = points[static_cast<std::size_t>(tour[i])];
    const Point b = points[static_cast<std::size_t>(tour[(i + 1) % tour.size()])];
    length += std::sqrt(squared_distance(a, b));
  }
  return length;
}

std::vector<Point> random_points(std::size_t n, Rng& rng) {
  std::vector<Point> points(n);
  for (Point& p : points) {
    p.x = rng.uniform();
    p.y = rng.uniform();
  }
  return points;
}

TEST(CompleteTour, IsAsShortAsTheBestOfAllPermutations) {
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    const std::size_t n = 1 + rng.below(i % 50 == 0 ? 9 : 8);
    std::vector<Point> points = random_points(n, rng);
    if (i % 7 == 0) points.back() = points.front();
    std::vector<NodeId> order(n);
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(order.data(), n);
    const std::size_t num_visited = rng.below(n + 1);
    const auto visited = std::span<const NodeId>(order).first(num_visited);
    const std::vector<NodeId> tour = complete_tour(points, visited);
    check_permutation(tour, n);
    ASSERT_TRUE(std::equal(visited.begin(), visited.end(), tour.begin()));
    std::vector<NodeId> other = order;
    const auto rest = other.begin() + static_cast<std::ptrdiff_t>(num_visited);
    std::sort(rest, other.end());
    double best = 1e9;
    do {
      best = std::min(best, length_of(points, other));
    } while (std::next_permutation(rest, other.end()));
    EXPECT_NEAR(length_of(points, tour), best, 1e-9) << n << " nodes, " << num_visited << " visited";
  }
}

TEST(CompleteTour, KeepsWhatIsVisitedAtAllSizes) {
  Rng rng(5);
  for (const std::size_t n : {10, 30, 100, 254}) {
    const std::vector<Point> points = random_points(n, rng);
    for (const std::size_t num_visited : {std::size_t{0}, std::size_t{1}, std::size_t{2}, n / 2, n - 1, n}) {
      std::vector<NodeId> visited(n);
      std::iota(visited.begin(), visited.end(), 0);
      rng.shuffle(visited.data(), n);
      visited.resize(num_visited);
      const std::vector<NodeId> tour = complete_tour(points, visited);
      check_permutation(tour, n);
      EXPECT_TRUE(std::equal(visited.begin(), visited.end(), tour.begin()));
      EXPECT_EQ(complete_tour(points, visited), tour);
    }
  }
}

TEST(CompleteTour, CompletesManyPointsToo) {
  Rng rng(6);
  const std::vector<Point> points = random_points(400, rng);
  const std::vector<NodeId> visited = {7, 12, 3};
  const std::vector<NodeId> tour = complete_tour(points, visited);
  check_permutation(tour, points.size());
  EXPECT_TRUE(std::equal(visited.begin(), visited.end(), tour.begin()));
  EXPECT_LT(length_of(points, tour), 0.7124 * std::sqrt(400.0) * 1.15 + 3);  // about the length of random tours
}

TEST(CompleteTour, RefusesWhatIsNoBeginningOfATour) {
  const std::vector<Point> points = {{0, 0}, {1, 0}, {0, 1}};
  EXPECT_THROW(complete_tour(points, std::vector<NodeId>{0, 0}), InputError);
  EXPECT_THROW(complete_tour(points, std::vector<NodeId>{3}), InputError);
  EXPECT_THROW(complete_tour(points, std::vector<NodeId>{-1}), InputError);
}

}  // namespace
}  // namespace puretour
