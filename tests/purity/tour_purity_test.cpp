// SPDX-License-Identifier: MIT
#include "puretour/purity/tour_purity.h"

#include <gtest/gtest.h>

#include <numeric>

#include "puretour/base/error.h"
#include "puretour/purity/order_matrix.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

std::vector<NodeId> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<NodeId> tour(n);
  std::iota(tour.begin(), tour.end(), 0);
  Rng(seed).shuffle(tour.data(), n);
  return tour;
}

TEST(TourOrders, EqualPairByPairCounting) {
  for (const std::size_t n : {2, 3, 4, 50, 400}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      const auto tour = shuffled(n, n);
      const auto orders = tour_orders(points, tour, 2);
      ASSERT_EQ(orders.size(), n);
      for (std::size_t t = 0; t < n; ++t) {
        ASSERT_EQ(orders[t], purity_order(points, tour[t], tour[(t + 1) % n])) << name << " n = " << n << " t = " << t;
      }
    }
  }
}

TEST(TourOrders, RefuseWhatIsNoTour) {
  const auto points = test::uniform_points(4, 1);
  EXPECT_THROW(tour_orders({}, {}), InputError);
  EXPECT_THROW(tour_orders(std::span(points).first(1), std::vector<NodeId>{0}), InputError);
  EXPECT_THROW(tour_orders(points, std::vector<NodeId>{0, 1, 2}), InputError);
  try {
    tour_orders(points, std::vector<NodeId>{0, 1, 1, 3});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "tour: not a permutation of 4 nodes: node 2 appears twice (positions 2 and 3), node 3 is missing (4 "
                 "nodes given)");
  }
}

TEST(PurityHistogram, MetricsFollowTheirDefinitions) {
  PurityHistogram histogram;
  histogram.add(std::vector<std::uint32_t>{0, 0, 3, 0, 1, 0, 0, 1});
  EXPECT_EQ(histogram.num_edges(), 8U);
  EXPECT_EQ(std::vector(histogram.counts().begin(), histogram.counts().end()),
            (std::vector<std::uint64_t>{5, 2, 0, 1}));
  EXPECT_EQ(histogram.proportion_zero(), 5.0 / 8);
  EXPECT_EQ(histogram.proportion(2), 0);
  EXPECT_EQ(histogram.proportion(99), 0);
  EXPECT_EQ(histogram.mean_order(), 5.0 / 8);
  EXPECT_EQ(histogram.mean_positive_order(), 5.0 / 3);
}

TEST(PurityHistogram, MeanOfPositiveOrdersIsUndefinedWithoutThem) {
  PurityHistogram histogram;
  EXPECT_THROW((void)histogram.mean_order(), InputError);
  histogram.add(0, 10);
  EXPECT_EQ(histogram.mean_positive_order(), std::nullopt);
  EXPECT_EQ(histogram.mean_order(), 0);
}

TEST(PurityHistogram, TheThreeMetricsAreTiedByAnIdentity) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto points = test::uniform_points(100, seed);
    PurityHistogram histogram;
    histogram.add(tour_orders(points, shuffled(100, seed)));
    ASSERT_TRUE(histogram.mean_positive_order().has_value());
    EXPECT_NEAR(histogram.mean_order(), (1 - histogram.proportion_zero()) * *histogram.mean_positive_order(), 1e-12);
  }
}

TEST(PurityHistogram, PoolingAddsCounts) {
  PurityHistogram first;
  PurityHistogram second;
  PurityHistogram both;
  first.add(std::vector<std::uint32_t>{0, 1});
  second.add(std::vector<std::uint32_t>{5});
  both.add(first);
  both.add(second);
  EXPECT_EQ(both.num_edges(), 3U);
  EXPECT_EQ(both.counts().size(), 6U);
  EXPECT_EQ(both.mean_order(), 2);
}

}  // namespace
}  // namespace puretour
