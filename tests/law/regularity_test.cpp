// SPDX-License-Identifier: MIT
#include "puretour/law/regularity.h"

#include <gtest/gtest.h>

#include "puretour/base/rng.h"
#include "puretour/law/propositions.h"
#include "puretour/solve/construct.h"

namespace puretour {
namespace {

TEST(Regularity, CountsSharedPlacesAndTiesByHand) {
  // A square with a doubled corner, and a point outside every circle of its sides. The sides pass through no other
  // corner; the diagonal's circle passes through the other two.
  const std::vector<Point> points = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}, {20, 3}};
  const Regularity sides = measure_regularity(points, std::vector<NodeId>{4, 0, 1, 5, 2, 3});
  EXPECT_EQ(sides.num_nodes, 6U);
  EXPECT_EQ(sides.num_sharing, 2U);
  EXPECT_EQ(sides.num_tied_edges, 0U);
  const Regularity diagonal = measure_regularity(points, std::vector<NodeId>{0, 2, 1, 5, 3, 4});
  EXPECT_EQ(diagonal.num_tied_edges, 1U);
  EXPECT_DOUBLE_EQ(diagonal.share_tied_edges(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(diagonal.share_sharing(), 2.0 / 6);
  EXPECT_EQ(Regularity{}.share_sharing(), 0);
}

TEST(Regularity, AgreesWithBruteForceOnEveryPattern) {
  std::uint64_t num_tied = 0;
  for (std::size_t p = 0; p < kNumPointPatterns; ++p) {
    for (std::uint64_t index = 0; index < 5; ++index) {
      const std::vector<Point> points = pattern_points(static_cast<PointPattern>(p), 60, 8, index);
      Rng rng(index);
      const std::vector<NodeId> order = random_order(60, rng);
      Regularity expected;
      expected.num_nodes = 60;
      for (std::size_t t = 0; t < 60; ++t) {
        const Point a = points[static_cast<std::size_t>(order[t])];
        const Point b = points[static_cast<std::size_t>(order[(t + 1) % 60])];
        bool is_tied = false;
        std::size_t num_same = 0;
        for (const Point x : points) {
          const double dot = (a.x - x.x) * (b.x - x.x) + (a.y - x.y) * (b.y - x.y);
          is_tied = is_tied || (dot == 0 && x != a && x != b);
          if (x == a) ++num_same;
        }
        expected.num_tied_edges += is_tied ? 1 : 0;
        expected.num_sharing += num_same > 1 ? 1 : 0;
      }
      EXPECT_EQ(measure_regularity(points, order), expected) << "pattern " << p;
      num_tied += expected.num_tied_edges;
    }
  }
  EXPECT_GT(num_tied, 50U);
}

}  // namespace
}  // namespace puretour
