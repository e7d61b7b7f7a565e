// The generators against fixed numbers, and against the distributions that they promise.
// SPDX-License-Identifier: MIT
#include "puretour/generate/generate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "puretour/base/error.h"

namespace puretour {
namespace {

constexpr std::array kAll = {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion,
                             Distribution::kImplosion};

GeneratorOptions raw_options() {
  GeneratorOptions options;
  options.normalise = false;
  options.float32 = false;
  return options;
}

double distance(Point a, Point b) {
  return std::sqrt(squared_distance(a, b));
}

std::vector<Point> points_of(const Instance& instance) {
  return {instance.points().begin(), instance.points().end()};
}

// Mean and variance of a stream of numbers.
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(double x) {
    ++count;
    sum += x;
    squares += x * x;
  }
  [[nodiscard]] double mean() const { return sum / count; }
  [[nodiscard]] double variance() const { return squares / count - mean() * mean(); }
};

std::string message_of(const GeneratorOptions& options) {
  try {
    generate_instance(options, Distribution::kUniform, 5, 0, 0);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Distribution, NamesGoBothWays) {
  for (const Distribution d : kAll) EXPECT_EQ(distribution_from_name(distribution_name(d)), d);
  EXPECT_EQ(distribution_name(Distribution::kImplosion), "implosion");
}

TEST(Distribution, AnUnknownNameListsTheValidOnes) {
  try {
    distribution_from_name("Uniform");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown distribution 'Uniform'; choose one of: uniform, clustered, explosion, implosion");
  }
  EXPECT_THROW(distribution_from_name(""), InputError);
}

// The numbers were computed by a second implementation, in another language, of the generator and its random numbers.
// A change here changes every data set: it belongs in the change log.
TEST(Generate, GivesTheSameNumbersForever) {
  struct Golden {
    Distribution distribution;
    Point first;
    double sum;
  };
  constexpr std::array kGolden = {
      Golden{Distribution::kUniform, {0x1.78a2eep-1, 0x1.a397ap-2}, 101.75704775931081},
      Golden{Distribution::kClustered, {0x1.6cea36p-4, 0x1.3f68a8p-5}, 80.37736577540636},
      Golden{Distribution::kExplosion, {0x1.7c35c2p-1, 0x1.9b00f6p-1}, 98.60451805405319},
      Golden{Distribution::kImplosion, {0x1.c5ea88p-1, 0x1.d2bb3ep-2}, 100.73790880758315},
  };
  for (const Golden& golden : kGolden) {
    const Instance instance = generate_instance({}, golden.distribution, 100, 1234, 0);
    double sum = 0;
    for (const Point p : instance.points()) sum += p.x + p.y;
    EXPECT_EQ(instance.points()[0], golden.first) << instance.name();
    EXPECT_DOUBLE_EQ(sum, golden.sum) << instance.name();
  }
}

TEST(Generate, SeedDistributionScaleAndIndexAllMatter) {
  const Point base = generate_instance(raw_options(), Distribution::kUniform, 10, 1, 0).points()[0];
  EXPECT_NE(generate_instance(raw_options(), Distribution::kUniform, 10, 2, 0).points()[0], base);
  EXPECT_NE(generate_instance(raw_options(), Distribution::kUniform, 11, 1, 0).points()[0], base);
  EXPECT_NE(generate_instance(raw_options(), Distribution::kUniform, 10, 1, 1).points()[0], base);
  GeneratorTrace trace;
  generate_instance(raw_options(), Distribution::kImplosion, 10, 1, 0, &trace);
  EXPECT_NE(trace.drawn[0], base);
}

TEST(Generate, ASmallerCountIsAPrefixAndThreadsDoNotMatter) {
  for (const Distribution d : kAll) {
    const auto ten = generate_instances({}, d, 50, 7, 10, 1);
    const auto three = generate_instances({}, d, 50, 7, 3, 1);
    const auto threaded = generate_instances({}, d, 50, 7, 10, 4);
    ASSERT_EQ(ten.size(), 10U);
    ASSERT_EQ(three.size(), 3U);
    ASSERT_EQ(threaded.size(), 10U);
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(points_of(threaded[i]), points_of(ten[i]));
      EXPECT_EQ(points_of(generate_instance({}, d, 50, 7, i)), points_of(ten[i]));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(points_of(three[i]), points_of(ten[i]));
    }
  }
  EXPECT_TRUE(generate_instances({}, Distribution::kUniform, 5, 0, 0).empty());
}

TEST(Generate, InstancesCarryANameAndTheEuclideanMetric) {
  const Instance instance = generate_instance({}, Distribution::kExplosion, 20, 9, 4);
  EXPECT_EQ(instance.name(), "explosion20-seed9-4");
  EXPECT_EQ(instance.metric(), Metric::kEuclidean);
  EXPECT_EQ(instance.size(), 20U);
}

TEST(Generate, NormalisedPointsTouchTheUnitSquare) {
  for (const Distribution d : kAll) {
    for (const Instance& instance : generate_instances({}, d, 30, 3, 50)) {
      const Box box = bounding_box(instance.points());
      EXPECT_EQ(box.low, (Point{0, 0})) << instance.name();
      EXPECT_EQ(std::max(box.high.x, box.high.y), 1.0) << instance.name();
    }
  }
}

TEST(Generate, Float32OnlyRoundsTheCoordinates) {
  GeneratorOptions exact;
  exact.float32 = false;
  for (const Distribution d : kAll) {
    for (const bool normalise : {true, false}) {
      exact.normalise = normalise;
      GeneratorOptions rounded = exact;
      rounded.float32 = true;
      const auto wide = points_of(generate_instance(exact, d, 200, 5, 0));
      const auto narrow = points_of(generate_instance(rounded, d, 200, 5, 0));
      EXPECT_NE(wide, narrow);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        EXPECT_EQ(narrow[i].x, static_cast<double>(static_cast<float>(wide[i].x)));
        EXPECT_EQ(narrow[i].y, static_cast<double>(static_cast<float>(wide[i].y)));
      }
    }
  }
}

// GCC 12 left the last of an odd number of nodes as it was.
TEST(Generate, RegressionFloat32RoundsTheLastNodeToo) {
  for (std::size_t n = 1; n < 20; ++n) {
    for (const Point p : points_of(generate_instance({}, Distribution::kUniform, n, 5, 0))) {
      EXPECT_EQ(p.x, static_cast<double>(std::stof(fmt::format("{}", p.x)))) << n;
      EXPECT_EQ(p.y, static_cast<double>(std::stof(fmt::format("{}", p.y)))) << n;
    }
  }
}

TEST(Generate, OneTwoAndThreeNodesWorkAndNoneIsAnError) {
  for (const Distribution d : kAll) {
    EXPECT_EQ(generate_instance({}, d, 1, 0, 0).points()[0], (Point{0, 0}));
    for (const std::size_t n : {2U, 3U}) {
      const Instance instance = generate_instance({}, d, n, 0, 0);
      EXPECT_EQ(instance.size(), n);
      const Box box = bounding_box(instance.points());
      EXPECT_EQ(std::max(box.high.x, box.high.y), 1.0);
    }
    try {
      generate_instance({}, d, 0, 0, 0);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), "an instance needs at least one node");
    }
  }
  EXPECT_THROW(generate_instance({}, Distribution::kUniform, std::size_t{1} << 31, 0, 0), InputError);
}

TEST(GeneratorOptions, EachBadValueHasItsOwnMessage) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of({}), "no error");
  EXPECT_EQ(message_of({.cluster_num = 0}), "cluster_num is 0; a clustered instance needs at least one cluster");
  EXPECT_EQ(message_of({.cluster_diversity = kInfinity}),
            "cluster_diversity is inf; it must be a number from 0 to 1e+09");
  EXPECT_EQ(message_of({.radius_min = -0.1}), "radius_min is -0.1; it must be a number from 0 to 1e+09");
  EXPECT_EQ(message_of({.radius_max = kNan}), "radius_max is nan; it must be a number from 0 to 1e+09");
  EXPECT_EQ(message_of({.radius_min = 0.6}), "radius_min is 0.6, above radius_max, which is 0.5; swap them");
  EXPECT_EQ(message_of({.radius_min = 0.5}), "no error");
  for (const double rate : {0.0, -1.0, kInfinity, kNan}) {
    EXPECT_NE(message_of({.explosion_rate = rate}).find("explosion_rate is "), std::string::npos) << rate;
  }
}

TEST(GeneratorOptions, TheirExtremesStillGiveFiniteFloats) {
  const GeneratorOptions options{
      .cluster_diversity = 1e9, .radius_min = 1e9, .radius_max = 1e9, .explosion_rate = 1e-9, .normalise = false};
  for (const Distribution d : kAll) EXPECT_NO_THROW(generate_instance(options, d, 100, 0, 0));
}

TEST(Uniform, HasTheMomentsOfTheUnitSquare) {
  Moments x;
  Moments y;
  double product = 0;
  double successive = 0;
  for (const Instance& instance : generate_instances(raw_options(), Distribution::kUniform, 500, 11, 200)) {
    double previous = 0.5;
    for (const Point p : instance.points()) {
      ASSERT_TRUE(p.x >= 0 && p.x < 1 && p.y >= 0 && p.y < 1);
      x.add(p.x);
      y.add(p.y);
      product += (p.x - 0.5) * (p.y - 0.5);
      successive += (p.x - 0.5) * (previous - 0.5);
      previous = p.x;
    }
  }
  // Five standard errors of 100,000 draws each.
  EXPECT_NEAR(x.mean(), 0.5, 0.0046);
  EXPECT_NEAR(y.mean(), 0.5, 0.0046);
  EXPECT_NEAR(x.variance(), 1 / 12.0, 0.0012);
  EXPECT_NEAR(y.variance(), 1 / 12.0, 0.0012);
  EXPECT_NEAR(product / x.count, 0, 0.0014);
  EXPECT_NEAR(successive / x.count, 0, 0.0014);
}

TEST(Clustered, CloudsHaveUnitVarianceAndMultinomialSizes) {
  constexpr std::size_t kNodes = 90;
  constexpr std::size_t kInstances = 2000;
  const GeneratorOptions options = raw_options();
  Moments centre;
  Moments offset;
  Moments size;
  double size_product = 0;
  for (std::size_t i = 0; i < kInstances; ++i) {
    GeneratorTrace trace;
    const Instance instance = generate_instance(options, Distribution::kClustered, kNodes, 21, i, &trace);
    ASSERT_EQ(trace.cluster_centres.size(), 3U);
    ASSERT_EQ(trace.cluster_labels.size(), kNodes);
    for (const Point c : trace.cluster_centres) {
      ASSERT_TRUE(c.x >= 0 && c.x < 10 && c.y >= 0 && c.y < 10);
      centre.add(c.x);
      centre.add(c.y);
    }
    std::array<double, 3> sizes{};
    for (std::size_t node = 0; node < kNodes; ++node) {
      const std::uint32_t label = trace.cluster_labels[node];
      offset.add(instance.points()[node].x - trace.cluster_centres.at(label).x);
      offset.add(instance.points()[node].y - trace.cluster_centres.at(label).y);
      ++sizes.at(label);
    }
    for (const double s : sizes) size.add(s);
    size_product += (sizes[0] - 30) * (sizes[1] - 30);
  }
  EXPECT_NEAR(centre.mean(), 5, 5 * std::sqrt(100 / 12.0 / centre.count));
  EXPECT_NEAR(centre.variance(), 100 / 12.0, 0.4);
  EXPECT_NEAR(offset.mean(), 0, 5 / std::sqrt(offset.count));
  EXPECT_NEAR(offset.variance(), 1, 5 * std::sqrt(2 / offset.count));
  // Multinomial(90; 1/3, 1/3, 1/3): variance n p (1 - p), covariance -n p^2.
  EXPECT_EQ(size.mean(), 30);
  EXPECT_NEAR(size.variance(), 20, 2.5);
  EXPECT_NEAR(size_product / kInstances, -10, 2.5);
}

TEST(Clustered, FollowsItsOptions) {
  GeneratorOptions options = raw_options();
  options.cluster_num = 7;
  options.cluster_diversity = 0;
  GeneratorTrace trace;
  const Instance instance = generate_instance(options, Distribution::kClustered, 500, 1, 0, &trace);
  EXPECT_EQ(trace.cluster_centres, std::vector<Point>(7));
  EXPECT_EQ(*std::max_element(trace.cluster_labels.begin(), trace.cluster_labels.end()), 6U);
  for (const Point p : instance.points()) EXPECT_LT(distance(p, {}), 6);
}

TEST(Explosion, EmptiesTheDiscWithExponentialExcess) {
  const GeneratorOptions options = raw_options();
  Moments radius;
  Moments excess;
  double beyond_mean = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    GeneratorTrace trace;
    const Instance instance = generate_instance(options, Distribution::kExplosion, 200, 31, i, &trace);
    ASSERT_TRUE(trace.radius >= 0.1 && trace.radius < 0.5);
    radius.add(trace.radius);
    for (std::size_t node = 0; node < instance.size(); ++node) {
      const Point before = trace.drawn[node];
      const Point after = instance.points()[node];
      if (distance(before, trace.centre) >= trace.radius) {
        ASSERT_EQ(after, before);
        continue;
      }
      const double extra = distance(after, trace.centre) - trace.radius;
      ASSERT_GE(extra, -1e-12);
      excess.add(extra);
      if (extra > 0.1) ++beyond_mean;
      // The direction is kept: the cosine between before and after is 1.
      const Point u{before.x - trace.centre.x, before.y - trace.centre.y};
      const Point v{after.x - trace.centre.x, after.y - trace.centre.y};
      ASSERT_NEAR((u.x * v.x + u.y * v.y) / (distance(u, {}) * distance(v, {})), 1, 1e-9);
    }
  }
  EXPECT_NEAR(radius.mean(), 0.3, 5 * std::sqrt(0.16 / 12 / radius.count));
  EXPECT_NEAR(radius.variance(), 0.16 / 12, 0.002);
  ASSERT_GT(excess.count, 20000);
  EXPECT_NEAR(excess.mean(), 0.1, 5 * 0.1 / std::sqrt(excess.count));
  EXPECT_NEAR(excess.variance(), 0.01, 5 * 0.01 * std::sqrt(8 / excess.count));
  EXPECT_NEAR(beyond_mean / excess.count, std::exp(-1.0), 2.5 / std::sqrt(excess.count));
}

TEST(Explosion, ANodeOnTheCentreStays) {
  EXPECT_EQ(exploded({0.5, 0.5}, {0.5, 0.5}, 0.3, 0.1), (Point{0.5, 0.5}));
  EXPECT_EQ(exploded({0.75, 0.5}, {0.5, 0.5}, 0.3, 0.25), (Point{1.05, 0.5}));
  EXPECT_EQ(exploded({0.75, 0.5}, {0.5, 0.5}, 0.25, 0.25), (Point{0.75, 0.5})) << "the rim is outside";
}

TEST(Implosion, ScalesTheDiscByOneFactor) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    GeneratorTrace trace;
    const Instance instance = generate_instance(raw_options(), Distribution::kImplosion, 100, 41, i, &trace);
    for (std::size_t node = 0; node < instance.size(); ++node) {
      const Point before = trace.drawn[node];
      const Point after = instance.points()[node];
      if (distance(before, trace.centre) >= trace.radius) {
        ASSERT_EQ(after, before);
        continue;
      }
      ++moved;
      ASSERT_NEAR(after.x - trace.centre.x, trace.factor * (before.x - trace.centre.x), 1e-12);
      ASSERT_NEAR(after.y - trace.centre.y, trace.factor * (before.y - trace.centre.y), 1e-12);
    }
  }
  EXPECT_GT(moved, 1000U);
  EXPECT_EQ(imploded({0.75, 0.5}, {0.5, 0.5}, 0.25, 0.1), (Point{0.75, 0.5})) << "the rim is outside";
  EXPECT_EQ(imploded({0.75, 0.5}, {0.5, 0.5}, 0.3, -1), (Point{0.25, 0.5}));
}

TEST(Implosion, FactorIsTheSmallerOfRadiusAndANormal) {
  constexpr double kInstances = 20000;
  double negative = 0;
  double below_minus_one = 0;
  double equals_radius = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kInstances); ++i) {
    GeneratorTrace trace;
    generate_instance(raw_options(), Distribution::kImplosion, 1, 51, i, &trace);
    ASSERT_LE(trace.factor, trace.radius);
    if (trace.factor < 0) ++negative;
    if (trace.factor < -1) ++below_minus_one;
    if (trace.factor == trace.radius) ++equals_radius;
  }
  // Five standard errors are at most 0.018. 0.38285 is P(z > R) averaged over R in [0.1, 0.5).
  EXPECT_NEAR(negative / kInstances, 0.5, 0.018);
  EXPECT_NEAR(below_minus_one / kInstances, 0.158655, 0.013);
  EXPECT_NEAR(equals_radius / kInstances, 0.38285, 0.0175);
}

}  // namespace
}  // namespace puretour
