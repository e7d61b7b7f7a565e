// SPDX-License-Identifier: MIT
#include "puretour/law/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "puretour/base/rng.h"

namespace puretour {
namespace {

std::vector<double> exponential(double alpha, double beta, int count) {
  std::vector<double> shares;
  for (int k = 0; k < count; ++k) shares.push_back(alpha * std::exp(-beta * k));
  return shares;
}

TEST(FitExponential, FindsTheParametersOfExactCurves) {
  for (const double alpha : {0.3, 0.92, 1.5}) {
    for (const double beta : {0.01, 0.7, 2.63, 9.0}) {
      const auto fit = fit_exponential(exponential(alpha, beta, 7));
      ASSERT_TRUE(fit);
      EXPECT_NEAR(fit->alpha, alpha, 1e-7);
      EXPECT_NEAR(fit->beta, beta, 1e-5 * (beta < 5 ? 1 : 1000)) << "at large beta only the second value matters";
      EXPECT_NEAR(fit->mean_squared_error, 0, 1e-14);
      EXPECT_NEAR(fit->r_squared, 1, 1e-9);
    }
  }
}

// No small change of the parameters makes the squares smaller.
TEST(FitExponential, IsAMinimumForAnyShares) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> shares;
    double rest = 1;
    for (std::size_t k = 0, count = 2 + rng.below(8); k < count; ++k) {
      shares.push_back(rest * (0.3 + 0.65 * rng.uniform()));
      rest -= shares.back();
    }
    const auto fit = fit_exponential(shares);
    ASSERT_TRUE(fit);
    const auto error = [&](double alpha, double beta) {
      double sum = 0;
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const double residual = shares[k] - alpha * std::exp(-beta * static_cast<double>(k));
        sum += residual * residual;
      }
      return sum / static_cast<double>(shares.size());
    };
    EXPECT_NEAR(error(fit->alpha, fit->beta), fit->mean_squared_error, 1e-12);
    for (const double change : {-1e-3, 1e-3}) {
      EXPECT_GE(error(fit->alpha + change, fit->beta), fit->mean_squared_error - 1e-15);
      EXPECT_GE(error(fit->alpha, fit->beta + change), fit->mean_squared_error - 1e-15);
    }
  }
}

TEST(FitExponential, NeedsTwoOrders) {
  EXPECT_FALSE(fit_exponential(std::vector<double>{}));
  EXPECT_FALSE(fit_exponential(std::vector<double>{1}));
  EXPECT_FALSE(fit_exponential(std::vector<double>{1, 0, 0}));
  EXPECT_TRUE(fit_exponential(std::vector<double>{0.9, 0.1}));
}

TEST(FitLogLinear, PassesThroughTheLogarithms) {
  const auto fit = fit_log_linear(exponential(0.8, 1.3, 5));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha, 0.8, 1e-12);
  EXPECT_NEAR(fit->beta, 1.3, 1e-12);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
  // Zeros have no logarithm and are left out: a line through (0, ln 0.9) and (2, ln 0.1).
  const auto gap = fit_log_linear(std::vector<double>{0.9, 0, 0.1});
  ASSERT_TRUE(gap);
  EXPECT_NEAR(gap->alpha, 0.9, 1e-12);
  EXPECT_NEAR(gap->beta, std::log(9.0) / 2, 1e-12);
  EXPECT_FALSE(fit_log_linear(std::vector<double>{1}));
}

TEST(BootstrapFit, CoversTheTruthAndShrinksWithTheNumberOfInstances) {
  // Instances of 100 edges with orders from the law alpha = 0.92 (1 - e^-beta = alpha makes the shares add up to 1).
  const double beta = -std::log(1 - 0.92);
  Rng rng(5);
  const auto draw = [&](std::size_t count) {
    std::vector<PurityHistogram> instances(count);
    for (PurityHistogram& histogram : instances) {
      for (int edge = 0; edge < 100; ++edge) {
        std::uint32_t order = 0;
        while (rng.uniform() > 0.92) ++order;
        histogram.add(order);
      }
    }
    return instances;
  };
  const auto few = bootstrap_fit(draw(25), 400, 1);
  const auto many = bootstrap_fit(draw(400), 400, 1);
  ASSERT_TRUE(few && many);
  EXPECT_LT(many->alpha.low, 0.92);
  EXPECT_GT(many->alpha.high, 0.92);
  EXPECT_LT(many->beta.low, beta);
  EXPECT_GT(many->beta.high, beta);
  // Sixteen times the instances, a quarter of the error.
  EXPECT_NEAR(few->alpha.standard_error / many->alpha.standard_error, 4, 1.5);
  // The binomial standard error of the share of order 0, which alpha nearly is.
  EXPECT_NEAR(many->alpha.standard_error, std::sqrt(0.92 * 0.08 / 40000), 4e-4);
  EXPECT_EQ(bootstrap_fit(draw(0), 10, 1).has_value(), false);
}

TEST(OrderShares, AddUpToOne) {
  PurityHistogram histogram;
  histogram.add(0, 8);
  histogram.add(3, 2);
  EXPECT_EQ(order_shares(histogram), (std::vector<double>{0.8, 0, 0, 0.2}));
}

TEST(ExponentialFit, RegressionOneEdgeOfHighOrderDoesNotSpoilTheFit) {
  // e^(2 * 5 * 100) is infinite; the search through negative exponents met it first and never got away.
  std::vector<double> shares;
  for (int k = 0; k <= 100; ++k) shares.push_back(0.9 * std::exp(-2.5 * k));
  shares.back() = 1e-6;
  const auto fit = fit_exponential(shares);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha, 0.9, 1e-9);
  EXPECT_NEAR(fit->beta, 2.5, 1e-6);
  // Shares that grow, too, in the range of the search.
  std::vector<double> growing;
  for (int k = 0; k <= 100; ++k) growing.push_back(1e-9 * std::exp(0.2 * k));
  const auto grown = fit_exponential(growing);
  ASSERT_TRUE(grown);
  EXPECT_NEAR(grown->alpha, 1e-9, 1e-15);
  EXPECT_NEAR(grown->beta, -0.2, 1e-6);
}

}  // namespace
}  // namespace puretour
