// SPDX-License-Identifier: MIT
#include "puretour/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/portable_math.h"

namespace puretour {
namespace {

TEST(Rng, GivesTheSameNumbersOnEveryMachine) {
  // xoshiro256** from the state {1, 2, 3, 4}: the values of the published reference implementation.
  Rng rng = Rng::from_state({1, 2, 3, 4});
  EXPECT_EQ(rng.bits(), 11520U);
  EXPECT_EQ(rng.bits(), 0U);
  EXPECT_EQ(rng.bits(), 1509978240U);
  EXPECT_EQ(rng.bits(), 1215971899390074240U);
}

TEST(Rng, StreamsOfDifferentKeysDiffer) {
  EXPECT_NE(Rng(0, {1, 2}).bits(), Rng(0, {2, 1}).bits());
  EXPECT_NE(Rng(0, {1}).bits(), Rng(0, {1, 0}).bits());
  EXPECT_NE(Rng(0, {1}).bits(), Rng(1, {1}).bits());
  EXPECT_EQ(Rng(7, {1, 2}), Rng(7, {1, 2}));
}

TEST(Rng, StoredStateContinuesTheStream) {
  Rng rng(5);
  rng.normal();
  Rng resumed = Rng::from_state(rng.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(resumed.bits(), rng.bits());
  EXPECT_THROW(Rng::from_state({}), InputError);
}

TEST(Rng, BelowIsUniformAndInRange) {
  Rng rng(1);
  std::vector<int> counts(7);
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(rng.below(7));
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 5 * std::sqrt(kDraws / 7.0));
  EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, NormalAndExponentialHaveTheirMoments) {
  Rng rng(2);
  constexpr int kDraws = 200000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  double exponential_sum = 0;
  double exponential_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = rng.normal();
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    const double e = rng.exponential();
    EXPECT_GE(e, 0);
    exponential_sum += e;
    exponential_squares += e * e;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.012);
  EXPECT_NEAR(squares / kDraws, 1, 0.017);
  EXPECT_NEAR(fourth / kDraws, 3, 0.12);
  EXPECT_NEAR(exponential_sum / kDraws, 1, 0.012);
  EXPECT_NEAR(exponential_squares / kDraws, 2, 0.05);
}

TEST(PortableLog, AgreesWithTheLibraryToTheLastBits) {
  Rng rng(3);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(1 + rng.uniform(), static_cast<int>(rng.below(200)) - 100);
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * std::fmax(1, std::fabs(std::log(x)))) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
}

TEST(Rng, ShuffleGivesAllOrdersEquallyOften) {
  Rng rng(4);
  int counts[6] = {};
  for (int i = 0; i < 60000; ++i) {
    int items[3] = {0, 1, 2};
    rng.shuffle(items, 3);
    ++counts[items[0] * 2 + (items[1] > items[2] ? 1 : 0)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

}  // namespace
}  // namespace puretour
