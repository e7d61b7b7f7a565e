// SPDX-License-Identifier: MIT
#include "puretour/purity/pupo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "puretour/base/error.h"
#include "support/point_sets.h"

namespace puretour {
namespace {

// The example that is worked out by hand. Nodes: a b c d e = 0 1 2 3 4.
//
// Dot products (i - x) . (j - x) that decide the orders, "<" marks x inside the disc of ij:
//   ab: c -3 <, d 5, e 22    -> 1        bd: a 8, c 4, e 19      -> 0
//   ac: b 8, d 12, e 35      -> 0        be: a 28, c 10, d 22    -> 0
//   ad: b 8, c 4, e 39       -> 0        cd: a 1, b 1, e 25      -> 0
//   ae: b -12 <, c -10 <, d 2 -> 2       ce: a 15, b -5 <, d 16  -> 1
//   bc: a 8, d 12, e 15      -> 0        de: a 11, b -9 <, c 0   -> 1  (c lies exactly on the circle)
class HandExample : public testing::Test {
 protected:
  const std::vector<Point> points_ = {{0, 0}, {4, 0}, {2, 1}, {2, -3}, {7, 1}};
  const std::vector<NodeId> tour_ = {0, 2, 1, 4, 3};  // a c b e d
  const OrderMatrix orders_{points_};
};

TEST_F(HandExample, Orders) {
  const int expected[5][5] = {
      {0, 1, 0, 0, 2}, {1, 0, 0, 0, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 1}, {2, 0, 1, 1, 0},
  };
  for (NodeId i = 0; i < 5; ++i) {
    for (NodeId j = 0; j < 5; ++j) EXPECT_EQ(orders_.at(i, j), expected[i][j]) << i << " " << j;
  }
}

// phi(U_1 = bcde): every node has a partner of order 0 (b-c, c-b, d-b, e-b)                        -> 0
// phi(U_2 = bde): b-d, d-b, e-b                                                                    -> 0
// phi(U_3 = ed): only the pair ed of order 1                                                       -> 1
// phi(U_4 = d), phi(U_5 = {}): 0 by convention
// C_1 = K(ac) + 0 - 0 = 0,  C_2 = K(cb) + 1 - 0 = 1,  C_3 = K(be) + 0 - 1 = -1,  C_4 = K(ed) + 0 - 0 = 1,  C_5 = K(da)
// = 0
TEST_F(HandExample, AvailabilityAndCosts) {
  const PupoTrace trace = pupo_trace(orders_, tour_);
  EXPECT_EQ(trace.availabilities, (std::vector<double>{0, 0, 1, 0, 0}));
  EXPECT_EQ(trace.costs, (std::vector<double>{0, 1, -1, 1, 0}));
}

// discount 1:   S_5 = 0, S_4 = 1, S_3 = 0, S_2 = 1, S_1 = 1
// discount 0.5: S_5 = 0, S_4 = 1, S_3 = -1 + 0.5 = -0.5, S_2 = 1 - 0.25 = 0.75, S_1 = 0.375;   W_{t+1} = 1 + S_t
TEST_F(HandExample, Weights) {
  EXPECT_EQ(pupo_trace(orders_, tour_, {.discount = 1}).weights, (std::vector<double>{1, 2, 2, 1, 2}));
  EXPECT_EQ(pupo_trace(orders_, tour_, {.discount = 0.5}).weights, (std::vector<double>{1, 1.375, 1.75, 0.5, 2}));
}

// The authors' program charges the choice of tau_t (t = 2 .. N-1) with K(tau_{t-1}, tau_t) and the change of phi one
// step late, the choice of tau_N with the closing edge only:
//   c: K(ac) + phi(bcde) - phi(abcde) = 0 + 0 - 0 = 0      b: K(cb) + phi(bde) - phi(bcde) = 0 + 0 - 0 = 0
//   e: K(be) + phi(ed) - phi(bde)     = 0 + 1 - 0 = 1      d: K(da) = 0, and K(ed) = 1 is charged nowhere
// discount 1: S = 1 1 1 0;  discount 0.5: S = 0.25 0.5 1 0
TEST_F(HandExample, WeightsOfTheAuthorsProgram) {
  const auto weights = [&](double discount) {
    return pupo_trace(orders_, tour_, {.discount = discount, .variant = PupoVariant::kAuthors}).weights;
  };
  EXPECT_EQ(weights(1), (std::vector<double>{1, 2, 2, 2, 1}));
  EXPECT_EQ(weights(0.5), (std::vector<double>{1, 1.25, 1.5, 2, 1}));
  const std::vector<NodeId> others = {4, 0, 1, 2, 3};  // e a b c d
  // a: K(ea) + phi(abcd) - phi(abcde) = 2      b: K(ab) + phi(bcd) - phi(abcd) = 1
  // c: K(bc) + phi(cd) - phi(bcd) = 0         d: K(de) = 1
  EXPECT_EQ(pupo_trace(orders_, others, {.discount = 1, .variant = PupoVariant::kAuthors}).weights,
            (std::vector<double>{1, 5, 3, 2, 2}));
}

// Availability by the definition at every step, and the recursion written the other way round.
std::vector<double> weights_by_definition(const OrderMatrix& orders, std::span<const NodeId> tour, double discount) {
  const std::size_t n = tour.size();
  std::vector<double> costs(n);
  for (std::size_t t = 0; t + 1 < n; ++t) {
    costs[t] = orders.at(tour[t], tour[t + 1]) + availability(orders, tour.subspan(t + 2)) -
               availability(orders, tour.subspan(t + 1));
  }
  costs[n - 1] = orders.at(tour[n - 1], tour[0]);
  std::vector<double> weights(n, 1);
  for (std::size_t t = 1; t < n; ++t) {
    double factor = 1;
    for (std::size_t s = t - 1; s < n; ++s) {
      weights[t] += factor * costs[s];
      factor *= discount;
    }
  }
  return weights;
}

TEST(PupoTrace, EqualsTheDefinition) {
  for (const std::size_t n : {1, 2, 3, 4, 17, 40, 100}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      const OrderMatrix orders(points);
      std::vector<NodeId> tour(n);
      std::iota(tour.begin(), tour.end(), 0);
      Rng(n).shuffle(tour.data(), n);
      for (const double discount : {0.0, 0.5, 0.9, 1.0}) {
        const auto expected = weights_by_definition(orders, tour, discount);
        const PupoTrace trace = pupo_trace(orders, tour, {.discount = discount});
        for (std::size_t t = 0; t < n; ++t) {
          ASSERT_NEAR(trace.weights[t], expected[t], 1e-9 * (1 + std::fabs(expected[t]))) << name << " n = " << n;
        }
      }
    }
  }
}

TEST(PupoTrace, WithoutImpureEdgesIsVanilla) {
  const std::size_t n = 30;
  const auto zero = OrderMatrix::from_orders(n, std::vector<OrderMatrix::Order>(n * n, 0));
  std::vector<NodeId> tour(n);
  std::iota(tour.begin(), tour.end(), 0);
  EXPECT_EQ(pupo_trace(zero, tour).weights, std::vector<double>(n, 1));
}

TEST(PupoTrace, ClampingOnlyRaisesNegativeWeights) {
  const auto points = test::uniform_points(60, 5);
  const OrderMatrix orders(points);
  std::vector<NodeId> tour(60);
  std::iota(tour.begin(), tour.end(), 0);
  bool some_negative = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng(seed).shuffle(tour.data(), tour.size());
    const auto plain = pupo_trace(orders, tour, {.discount = 0.0}).weights;
    const auto clamped = pupo_trace(orders, tour, {.discount = 0.0, .clamp_weights = true}).weights;
    for (std::size_t t = 0; t < plain.size(); ++t) {
      some_negative |= plain[t] < 0;
      EXPECT_EQ(clamped[t], std::max(0.0, plain[t]));
    }
  }
  EXPECT_TRUE(some_negative) << "the example must contain what is to be clamped";
}

TEST(PupoWeights, BatchEqualsSingleTours) {
  const std::size_t batch = 7;
  const std::size_t n = 50;
  const std::size_t per_instance = 3;
  std::vector<Point> points;
  std::vector<NodeId> tours;
  Rng rng(1);
  for (std::size_t b = 0; b < batch; ++b) {
    const auto instance = test::uniform_points(n, b);
    points.insert(points.end(), instance.begin(), instance.end());
    for (std::size_t r = 0; r < per_instance; ++r) {
      std::vector<NodeId> tour(n);
      std::iota(tour.begin(), tour.end(), 0);
      rng.shuffle(tour.data(), n);
      tours.insert(tours.end(), tour.begin(), tour.end());
    }
  }
  std::vector<float> one_thread(tours.size());
  std::vector<float> three_threads(tours.size());
  pupo_weights(points, tours, n, per_instance, {}, one_thread, 1);
  pupo_weights(points, tours, n, per_instance, {}, three_threads, 3);
  EXPECT_EQ(one_thread, three_threads);
  for (std::size_t b = 0; b < batch; ++b) {
    const OrderMatrix orders{std::span<const Point>(points).subspan(b * n, n)};
    for (std::size_t r = 0; r < per_instance; ++r) {
      const std::size_t begin = (b * per_instance + r) * n;
      const auto trace = pupo_trace(orders, std::span(tours).subspan(begin, n));
      for (std::size_t t = 0; t < n; ++t) EXPECT_EQ(one_thread[begin + t], static_cast<float>(trace.weights[t]));
    }
  }
}

TEST(PupoWeights, RefusesWhatDoesNotFit) {
  const auto points = test::uniform_points(10, 1);
  std::vector<NodeId> tour(10);
  std::iota(tour.begin(), tour.end(), 0);
  std::vector<float> weights(10);
  EXPECT_THROW(pupo_weights(points, tour, 7, 1, {}, weights), InputError);
  EXPECT_THROW(pupo_weights(points, tour, 10, 2, {}, weights), InputError);
  EXPECT_THROW(pupo_weights(points, tour, 10, 1, {.discount = 1.5}, weights), InputError);
  EXPECT_THROW(pupo_weights(points, tour, 10, 1, {.discount = std::nan("")}, weights), InputError);
  tour[3] = 4;
  EXPECT_THROW(pupo_weights(points, tour, 10, 1, {}, weights), InputError);
}

}  // namespace
}  // namespace puretour
