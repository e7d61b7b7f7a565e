// SPDX-License-Identifier: MIT
#include "puretour/purity/order_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "puretour/base/error.h"
#include "puretour/geometry/disc.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

// The definition, with nothing shared but the predicate.
std::size_t order_by_definition(std::span<const Point> points, std::size_t i, std::size_t j) {
  std::size_t count = 0;
  for (const Point x : points) {
    if ((points[i].x - x.x) * (points[j].x - x.x) + (points[i].y - x.y) * (points[j].y - x.y) < 0) ++count;
  }
  return count;
}

void expect_equal_to_definition(std::span<const Point> points, const std::string& what) {
  const OrderMatrix matrix(points);
  ASSERT_EQ(matrix.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      ASSERT_EQ(matrix.at(static_cast<NodeId>(i), static_cast<NodeId>(j)), order_by_definition(points, i, j))
          << what << ", n = " << points.size() << ", pair " << i << " " << j;
    }
  }
}

TEST(OrderMatrix, EqualsTheDefinitionOnEveryKindOfInput) {
  for (const std::size_t n : {1, 2, 3, 5, 15, 16, 17, 31, 33, 47, 48, 49, 64, 97, 100, 113, 150, 301, 333}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) expect_equal_to_definition(points, name);
  }
}

TEST(OrderMatrix, EqualsTheDefinitionAtExtremeScales) {
  for (const double scale : {1e-200, 1e-160, 1e-15, 1e15, 1e160, 1e200}) {
    auto points = test::uniform_points(60, 7);
    for (Point& p : points) p = {p.x * scale, p.y * scale};
    expect_equal_to_definition(points, "scaled by " + std::to_string(std::log10(scale)));
  }
  auto far_away = test::uniform_points(200, 8);
  for (Point& p : far_away) p = {p.x + 1e9, p.y - 3e9};  // only about 2^-21 of resolution is left: many ties
  expect_equal_to_definition(far_away, "large offset");
}

TEST(OrderMatrix, ResultDoesNotDependOnThreads) {
  const auto points = test::uniform_points(500, 3);
  EXPECT_EQ(OrderMatrix(points, 1), OrderMatrix(points, 3));
}

TEST(OrderMatrix, ReusedMemoryGivesTheSameResult) {
  OrderMatrix matrix(test::uniform_points(200, 1));
  const auto points = test::grid_points(64, 2);
  matrix.compute(points);
  EXPECT_EQ(matrix, OrderMatrix(points));
}

TEST(OrderMatrix, IsInvariantUnderExactMotionsAndRelabelling) {
  const auto points = test::integer_points(80, 4, 1 << 20);
  const OrderMatrix original(points);
  std::vector<Point> moved(points.size());
  const auto n = static_cast<NodeId>(points.size());
  // Quarter turn, reflection, doubling, shift and reversal of labels: all exact on these whole numbers.
  for (std::size_t i = 0; i < points.size(); ++i) {
    moved[points.size() - 1 - i] = {-2 * points[i].y + 12345, -2 * points[i].x - 777};
  }
  const OrderMatrix image(moved);
  for (NodeId i = 0; i < n; ++i) {
    for (NodeId j = 0; j < n; ++j) EXPECT_EQ(original.at(i, j), image.at(n - 1 - i, n - 1 - j));
  }
}

TEST(OrderMatrix, CountsStrictlyInsideOnly) {
  // The corners of a square see each other's diagonal under exactly 90 degrees: on the circle, not inside.
  const std::vector<Point> square = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  EXPECT_EQ(purity_order(square, 0, 2), 0U);
  const std::vector<Point> with_centre = {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 1}};
  EXPECT_EQ(purity_order(with_centre, 0, 2), 1U);
  EXPECT_EQ(purity_order(with_centre, 0, 1), 0U);  // the centre sees a side under 90 degrees
}

TEST(OrderMatrix, RefusesTooManyNodes) {
  const std::vector<Point> points(OrderMatrix::kMaxNodes + 1);
  EXPECT_THROW(OrderMatrix{points}, InputError);
}

}  // namespace
}  // namespace puretour
