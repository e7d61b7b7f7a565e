// SPDX-License-Identifier: MIT
#include "puretour/tour/array_samples.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "puretour/base/files.h"
#include "puretour/tour/npz.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

std::string numpy_file(const std::string& name) {
  return read_file(std::string(PURETOUR_TEST_DATA) + "/numpy/" + name);
}

// The samples of tests/data/numpy: point k is (k / 4, k / 2 + 1), tour b is (3 i + b) mod 5.
std::vector<Sample> numpy_samples() {
  std::vector<Sample> samples;
  int k = 0;
  for (NodeId b = 0; b < 3; ++b) {
    std::vector<Point> points;
    std::vector<NodeId> order;
    for (NodeId i = 0; i < 5; ++i, ++k) {
      points.push_back({k * 0.25, k * 0.5 + 1});
      order.push_back((3 * i + b) % 5);
    }
    samples.push_back({Instance(points), Tour(order)});
  }
  return samples;
}

std::vector<Sample> without_tours(std::vector<Sample> samples) {
  for (Sample& sample : samples) sample.tour.reset();
  return samples;
}

TEST(ArraySamples, ReadWhatNumPyWrote) {
  const std::vector<Sample> samples = numpy_samples();
  EXPECT_TRUE(same_samples(parse_npz_samples(numpy_file("stored.npz"), "x"), samples));
  EXPECT_TRUE(same_samples(parse_npz_samples(numpy_file("compressed.npz"), "x"), samples));
  EXPECT_TRUE(same_samples(parse_npz_samples(numpy_file("one.npz"), "x"), {&samples[1], 1}));
  EXPECT_TRUE(same_samples(parse_npy_samples(numpy_file("points_f8.npy"), "x"), without_tours(samples)));
  EXPECT_TRUE(same_samples(parse_npy_samples(numpy_file("points_one.npy"), "x"), without_tours({samples[0]})));
}

TEST(ArraySamples, SurviveWriting) {
  const std::vector<Sample> samples = numpy_samples();
  for (const bool single_precision : {false, true}) {  // these points are exact in both
    EXPECT_TRUE(same_samples(parse_npz_samples(format_npz_samples(samples, single_precision), "x"), samples));
    const std::vector<Sample> points_only = without_tours(samples);
    EXPECT_TRUE(same_samples(parse_npz_samples(format_npz_samples(points_only, single_precision), "x"), points_only));
    EXPECT_TRUE(same_samples(parse_npy_samples(format_npy_samples(samples, single_precision), "x"), points_only));
  }
}

TEST(ArraySamples, WhatCannotBeWrittenIsNamed) {
  const std::vector<Sample> samples = numpy_samples();
  std::vector<Sample> unequal = samples;
  unequal.push_back({Instance({{1, 2}}), Tour::identity(1)});
  EXPECT_EQ(input_error([&] { format_npz_samples(unequal); }),
            "instance 4 has 1 nodes but the first has 5: .npz holds instances of one size; write lines instead");
  std::vector<Sample> half = samples;
  half[1].tour.reset();
  EXPECT_EQ(input_error([&] { format_npz_samples(half); }),
            "2 of 3 instances have a tour: .npz holds tours for all or none; write lines instead");
  EXPECT_EQ(input_error([] { format_npy_samples({}); }), "no instances to write as .npy");
  const std::vector<Sample> large = {{Instance({{1e300, 0}}), std::nullopt}};
  EXPECT_EQ(input_error([&] { format_npy_samples(large, true); }),
            "coordinate 1e+300 does not fit single precision; write double precision");
  const std::vector<Sample> geo = {{Instance({{1, 0}}, Metric::kGeo), std::nullopt}};
  EXPECT_TRUE(input_error([&] { format_npz_samples(geo); }).starts_with("the instance has GEO coordinates"));
}

TEST(ArraySamples, ErrorsNameTheFileAndTheProblem) {
  const auto npy = [](std::vector<double> values, std::vector<std::size_t> shape) {
    return format_npy(values, shape, false);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<std::string, const char*> arrays[] = {
      {npy({1, 2, 3}, {3}), "f.npy:byte 128: points have the shape '(3,)'; expected (N, 2) or (B, N, 2)"},
      {npy({1, 2, 3}, {1, 3}), "f.npy:byte 128: points have the shape '(1, 3)'; expected"},
      {npy({1, 2}, {1, 1, 1, 2}), "f.npy:byte 128: points have the shape '(1, 1, 1, 2)'; expected"},
      {npy({}, {0, 2}), "f.npy:byte 128: points have the shape '(0, 2)': there is no node"},
      {npy({}, {0, 9000000000, 2}), "f.npy:byte 128: points have the shape '(0, 9000000000, 2)': there is no node"},
      {npy({1, 2, 3, nan}, {2, 2}), "f.npy:byte 128: point 1 of instance 0 is (3, nan), not finite"},
  };
  for (const auto& [bytes, message] : arrays) {
    const std::string seen = input_error([&, input = bytes] { parse_npy_samples(input, "f.npy"); });
    EXPECT_TRUE(seen.starts_with(message)) << "expected: " << message << "\nmessage: " << seen;
  }

  const std::string points = npy({0, 0, 1, 1, 2, 2}, {3, 2});
  const auto integers = [](std::vector<std::int64_t> values, std::vector<std::size_t> shape) {
    return format_npy(values, shape);
  };
  const std::pair<std::string, const char*> tours[] = {
      {npy({0, 1, 2}, {3}), "f.npz(tours.npy):byte 128: tours have the type <f8; save integers (astype('<i8'))"},
      {integers({0, 1, 2}, {1, 3}),
       "f.npz(tours.npy):byte 128: tours have the shape '(1, 3)', but points have '(3, 2)'"},
      {integers({0, 1}, {2}), "f.npz(tours.npy):byte 128: tours have the shape '(2,)', but points have '(3, 2)'"},
      {integers({1, 2, 3}, {3}), "f.npz(tours.npy):byte 128: tour 0 visits node 3 at position 2; nodes are 0 to 2"},
      {integers({0, -1, 2}, {3}), "f.npz(tours.npy):byte 128: tour 0 visits node -1 at position 1"},
      {integers({0, 2, 2}, {3}),
       "f.npz(tours.npy):byte 128: tour 0 visits node 2 twice, the second time at position 2"},
      {"x", "f.npz(tours.npy):byte 0: begins with 'x', not as a .npy array"},
  };
  for (const auto& [bytes, message] : tours) {
    const std::string archive = format_npz(std::vector<NpzMember>{{"points.npy", points}, {"tours.npy", bytes}});
    const std::string seen = input_error([&] { parse_npz_samples(archive, "f.npz"); });
    EXPECT_TRUE(seen.starts_with(message)) << "expected: " << message << "\nmessage: " << seen;
  }
  const std::string no_points = format_npz(std::vector<NpzMember>{{"x.npy", points}, {"y.npy", points}});
  EXPECT_EQ(input_error([&] { parse_npz_samples(no_points, "f.npz"); }),
            "f.npz:byte 0: the archive has no array 'points'; it has 'x.npy, y.npy'");
}

}  // namespace
}  // namespace puretour
