// SPDX-License-Identifier: MIT
#include "puretour/solve/collapse.h"

#include <gtest/gtest.h>

#include "puretour/solve/construct.h"
#include "solve/test_instances.h"

namespace puretour {
namespace {

TEST(CollapsedInstance, KeepsInstancesWithoutCopies) {
  Rng rng(1);
  for (const Kind kind : {Kind::kUniform, Kind::kMatrix}) {
    const Instance instance = random_instance(kind, 20, rng);
    const CollapsedInstance collapsed(instance);
    EXPECT_FALSE(collapsed.is_smaller());
    EXPECT_EQ(collapsed.instance().size(), 20U);
    EXPECT_EQ(collapsed.expanded(Tour::identity(20)), Tour::identity(20));
    EXPECT_EQ(collapsed.collapsed(Tour::identity(20)), Tour::identity(20));
  }
}

TEST(CollapsedInstance, SolvesCopiesAsOnePoint) {
  const Instance instance({{0, 0}, {1, 0}, {0, 0}, {1, 1}, {-0.0, 0}, {1, 1}});
  const CollapsedInstance collapsed(instance);
  ASSERT_TRUE(collapsed.is_smaller());
  ASSERT_EQ(collapsed.instance().size(), 3U);
  EXPECT_EQ(collapsed.instance().points()[0], (Point{0, 0}));
  EXPECT_EQ(collapsed.instance().points()[1], (Point{1, 0}));
  EXPECT_EQ(collapsed.instance().points()[2], (Point{1, 1}));
  EXPECT_EQ(collapsed.expanded(Tour({2, 0, 1})), Tour({3, 5, 0, 2, 4, 1}));
  EXPECT_EQ(collapsed.collapsed(Tour({4, 3, 5, 2, 1, 0})), Tour({0, 2, 1}));
}

TEST(CollapsedInstance, ExpandedToursHaveTheSameLength) {
  Rng rng(2);
  for (std::size_t n = 1; n < 60; ++n) {
    const Instance instance = random_instance(n % 2 == 0 ? Kind::kDuplicates : Kind::kGrid, n, rng);
    const CollapsedInstance collapsed(instance);
    const auto num_distinct = static_cast<NodeId>(collapsed.instance().size());
    const Tour tour(random_order(num_distinct, rng));
    const Tour expanded = collapsed.expanded(tour);
    EXPECT_EQ(tour_length(instance, expanded), tour_length(collapsed.instance(), tour));
    EXPECT_EQ(collapsed.collapsed(expanded), tour);
  }
}

TEST(CollapsedInstance, AllPointsEqualBecomeOne) {
  const CollapsedInstance collapsed(Instance(std::vector<Point>(7, Point{3, 4})));
  EXPECT_EQ(collapsed.instance().size(), 1U);
  EXPECT_EQ(collapsed.expanded(Tour::identity(1)), Tour::identity(7));
}

}  // namespace
}  // namespace puretour
