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

TEST(CollapsedInstance, ContractsChainsOfFixedEdges) {
  // A chain 3 - 0 - 5 - 1, an edge 2 - 4, and node 6 alone.
  const std::vector<Point> points = {{0, 0}, {10, 0}, {20, 0}, {0, 5}, {20, 5}, {5, 0}, {30, 30}};
  const std::vector<FixedEdge> edges = {{0, 3}, {4, 2}, {5, 0}, {1, 5}};
  const CollapsedInstance collapsed(Instance(points, Metric::kEuc2d).with_fixed_edges(edges));
  ASSERT_EQ(collapsed.instance().size(), 5U);  // 1, 2, 3, 4, 6
  EXPECT_EQ(std::vector(collapsed.instance().fixed_edges().begin(), collapsed.instance().fixed_edges().end()),
            (std::vector<FixedEdge>{{0, 2}, {1, 3}}));
  EXPECT_EQ(collapsed.contracted_length(), 5 + 5 + 5 - 11);
  EXPECT_EQ(collapsed.expanded(Tour({2, 0, 1, 3, 4})), Tour({3, 0, 5, 1, 2, 4, 6}));
  EXPECT_EQ(collapsed.expanded(Tour({0, 4, 1, 3, 2})), Tour({6, 2, 4, 3, 0, 5, 1}));  // not over the end of the order
  EXPECT_EQ(collapsed.collapsed(Tour({5, 1, 6, 4, 2, 3, 0})), Tour({0, 4, 3, 1, 2}));
}

TEST(CollapsedInstance, KeepsEndsOfChainsThatShareAPlace) {
  // Nodes 0 to 3 share a place: 1 and 3 are ends of different edges, 0 and 2 go along with 1. Node 6 is at the place of
  // the inner node 5, from where it cannot be reached for nothing.
  const std::vector<Point> points = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {9, 0}, {7, 7}, {7, 7}, {8, 8}};
  const std::vector<FixedEdge> edges = {{1, 5}, {5, 7}, {3, 4}};
  const CollapsedInstance collapsed(Instance(points).with_fixed_edges(edges));
  ASSERT_EQ(collapsed.instance().size(), 5U);  // 1, 3, 4, 6, 7
  EXPECT_EQ(collapsed.expanded(Tour({0, 4, 3, 2, 1})), Tour({0, 2, 1, 5, 7, 6, 4, 3}));
  EXPECT_EQ(collapsed.expanded(Tour({4, 0, 3, 2, 1})), Tour({7, 5, 1, 0, 2, 6, 4, 3}));
  EXPECT_EQ(collapsed.collapsed(Tour({0, 4, 3, 2, 1, 5, 7, 6})), Tour({2, 1, 0, 4, 3}));
}

TEST(CollapsedInstance, ExpandedToursFollowChains) {
  Rng rng(3);
  for (int trial = 0; trial < 400; ++trial) {
    const Kind kind = kAllKinds[rng.below(kAllKinds.size())];
    const std::size_t n = 1 + rng.below(40);
    const std::vector<NodeId> order = random_order(static_cast<NodeId>(n), rng);
    std::vector<FixedEdge> edges;
    const double probability = rng.uniform();
    for (std::size_t i = 0; i + 1 < n; ++i) {
      if (rng.uniform() < probability) edges.push_back({order[i], order[i + 1]});
    }
    const Instance instance = random_instance(kind, n, rng).with_fixed_edges(edges);
    const CollapsedInstance collapsed(instance);
    const Tour tour = collapsed.collapsed(Tour(order));
    check_contains_fixed_edges(tour.order(), collapsed.instance().fixed_edges(), "collapsed");
    const Tour expanded = collapsed.expanded(tour);
    check_contains_fixed_edges(expanded.order(), edges, "expanded");
    const double length = tour_length(instance, expanded);
    EXPECT_NEAR(length, tour_length(collapsed.instance(), tour) + collapsed.contracted_length(), 1e-9 * length);
    EXPECT_LE(length, tour_length(instance, Tour(order)) * (1 + 1e-9));
    EXPECT_EQ(collapsed.collapsed(expanded).normal_form(), tour.normal_form());
  }
}

TEST(CollapsedInstance, AllPointsEqualBecomeOne) {
  const CollapsedInstance collapsed(Instance(std::vector<Point>(7, Point{3, 4})));
  EXPECT_EQ(collapsed.instance().size(), 1U);
  EXPECT_EQ(collapsed.expanded(Tour::identity(1)), Tour::identity(7));
}

}  // namespace
}  // namespace puretour
