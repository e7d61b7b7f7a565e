// SPDX-License-Identifier: MIT
#include "puretour/geometry/kd_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "puretour/geometry/disc.h"
#include "puretour/geometry/neighbours.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

TEST(KdTree, CountsInDiscsLikeTheDefinition) {
  for (const std::size_t n : {1, 2, 7, 8, 9, 17, 100, 257, 1000}) {
    for (const auto& [name, points] : test::all_point_sets(n, n + 1)) {
      const KdTree tree(points);
      Rng rng(n);
      for (int trial = 0; trial < 300; ++trial) {
        const auto a = static_cast<NodeId>(rng.below(n));
        const auto b = static_cast<NodeId>(rng.below(n));
        const std::size_t expected = count_inside_diametral_disc(points[static_cast<std::size_t>(a)],
                                                                 points[static_cast<std::size_t>(b)], points);
        ASSERT_EQ(tree.count_inside_diametral_disc(tree.position_of(a), tree.position_of(b)), expected)
            << name << " n = " << n;
        const std::size_t limited = tree.count_inside_diametral_disc(tree.position_of(a), tree.position_of(b), 2);
        ASSERT_EQ(std::min<std::size_t>(limited, 3), std::min<std::size_t>(expected, 3)) << name << " n = " << n;
      }
    }
  }
}

TEST(KdTree, CountsInDiscsAtExtremeScalesAndOffsets) {
  for (const double scale : {1e-200, 1e-140, 1e-15, 1.0, 1e15, 1e140, 1e200}) {
    for (const double offset : {0.0, 1e6, 1e12}) {
      auto points = test::uniform_points(300, 9);
      for (Point& p : points) p = {(p.x + offset) * scale, (p.y - offset) * scale};
      const KdTree tree(points);
      for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        ASSERT_EQ(tree.count_inside_diametral_disc(tree.position_of(static_cast<NodeId>(i)),
                                                   tree.position_of(static_cast<NodeId>(i + 1))),
                  count_inside_diametral_disc(points[i], points[i + 1], points))
            << "scale " << scale << " offset " << offset;
      }
    }
  }
}

TEST(KdTree, FindsTheLeafOfEveryPosition) {
  for (const std::size_t n : {1, 8, 9, 100, 1000, 12345}) {
    const KdTree tree(test::uniform_points(n, 1));
    for (std::size_t p = 0; p < n; ++p) {
      const auto range = tree.leaf_range(tree.leaf_of_position(p));
      ASSERT_TRUE(range.begin <= p && p < range.end) << "n = " << n << ", position " << p;
      ASSERT_EQ(tree.position_of(tree.id_at(p)), p);
    }
  }
}

TEST(NearestNeighbours, EqualBruteForceWithTiesByIndex) {
  for (const std::size_t n : {1, 2, 3, 9, 64, 300}) {
    for (const auto& [name, points] : test::all_point_sets(n, n + 2)) {
      for (const std::size_t k : {1, 5, 50}) {
        const NeighbourLists lists = nearest_neighbours(points, k, 2);
        ASSERT_EQ(lists.per_node, std::min(k, n - 1));
        for (std::size_t i = 0; i < n; ++i) {
          std::vector<std::pair<double, NodeId>> others;
          for (std::size_t j = 0; j < n; ++j) {
            if (j != i) others.emplace_back(squared_distance(points[i], points[j]), static_cast<NodeId>(j));
          }
          std::sort(others.begin(), others.end());
          for (std::size_t r = 0; r < lists.per_node; ++r) {
            ASSERT_EQ(lists.of(static_cast<NodeId>(i))[r], others[r].second)
                << name << " n = " << n << " node " << i << " rank " << r;
          }
        }
      }
    }
  }
}

TEST(NearestNeighbours, OfNoPointsAreEmpty) {
  EXPECT_EQ(nearest_neighbours({}, 5).per_node, 0U);
  const std::vector<Point> one(1);
  EXPECT_EQ(nearest_neighbours(one, 5).per_node, 0U);
}

}  // namespace
}  // namespace puretour
