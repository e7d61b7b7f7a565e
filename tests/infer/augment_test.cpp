// SPDX-License-Identifier: MIT
#include "puretour/infer/augment.h"

#include <cmath>

#include "infer/golden.h"
#include "puretour/base/error.h"

namespace puretour {
namespace {

using test::lattice_points;

double distance(const std::vector<Point>& points, std::size_t i, std::size_t j) {
  return std::sqrt(squared_distance(points[i], points[j]));
}

double orientation(const std::vector<Point>& p) {
  return (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[1].y - p[0].y) * (p[2].x - p[0].x);
}

TEST(Augmentation, SymmetriesComeInTheOrderOfPointerformer) {
  const std::vector<Point> one = {{0.25, 0.125}};
  const std::vector<Point> expected = {{0.25, 0.125}, {0.75, 0.125}, {0.25, 0.875}, {0.75, 0.875},
                                       {0.125, 0.25}, {0.875, 0.25}, {0.125, 0.75}, {0.875, 0.75}};
  for (std::size_t k = 0; k < kNumSymmetries; ++k) EXPECT_EQ(symmetric_copy(one, k)[0], expected[k]) << k;
}

// The generator of PyTorch's CPU tensors of floats: 24 bits of each output of the Mersenne twister.
class TorchUniform {
 public:
  explicit TorchUniform(std::uint32_t seed) : generator_(seed) {}
  float operator()() { return static_cast<float>(generator_() & 0xFFFFFF) * 0x1p-24F; }

 private:
  std::mt19937 generator_;
};

TEST(Augmentation, RotationsAndReflectionsAreThoseOfInvit) {
  TorchUniform next(1234);
  std::vector<std::vector<Point>> instances(8);
  for (auto& points : instances) {
    for (int i = 0; i < 100; ++i) {
      const double x = next();
      const double y = next();
      points.push_back({x, y});
    }
  }
  std::vector<float> rotations(64);
  std::vector<float> reflections(64);
  for (float& turn : rotations) turn = next();
  for (float& turn : reflections) turn = next();
  EXPECT_NEAR(instances[0][0].x, 0.0289792, 1e-7);
  EXPECT_NEAR(instances[0][0].y, 0.4018986, 1e-7);
  const auto expect_first = [](const std::vector<Point>& copy, double x, double y) {
    EXPECT_NEAR(copy[0].x, x, 2e-6);
    EXPECT_NEAR(copy[0].y, y, 2e-6);
  };
  expect_first(reflected_copy(instances[0], reflections[0]), 0.4914477, 0.0599611);  // row 1
  expect_first(rotated_copy(instances[0], rotations[1]), 0.4320484, 1.0);            // row 2
  expect_first(reflected_copy(instances[0], reflections[7]), 0.3101735, 0.1462499);  // row 15
  for (std::size_t k = 1; k < 16; ++k) {                                             // turned, mirrored, turned ...
    const auto copy =
        k % 2 == 0 ? rotated_copy(instances[0], rotations[k / 2]) : reflected_copy(instances[0], reflections[k / 2]);
    EXPECT_EQ(orientation(copy) > 0, (orientation(instances[0]) > 0) == (k % 2 == 0)) << k;
  }
  EXPECT_GT(orientation(instances[0]), 0);
}

TEST(Augmentation, CopiesHaveTheSameShape) {
  const auto points = lattice_points(20);
  for (const Augmentation augmentation : {Augmentation::parse("8"), Augmentation::parse("mix:16")}) {
    for (std::size_t k = 0; k < augmentation.num_copies; ++k) {
      const auto copy = augmentation.copy(points, k, 5);
      const double scale = distance(copy, 0, 1) / distance(points, 0, 1);
      for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_GE(copy[i].x, 0);
        EXPECT_LE(copy[i].x, 1);
        for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(distance(copy, i, j), scale * distance(points, i, j), 1e-5);
      }
      EXPECT_TRUE(k > 0 || copy == points);
      // Of the random copies every other one is a mirror image.
      EXPECT_TRUE(!augmentation.random || (orientation(copy) * orientation(points) > 0) == (k % 2 == 0)) << k;
      EXPECT_EQ(augmentation.copy(points, k, 5), copy);
    }
  }
  EXPECT_NE(Augmentation::parse("mix:2").copy(points, 1, 5), Augmentation::parse("mix:2").copy(points, 1, 6));
}

TEST(Augmentation, PointsAtOnePlaceStayFinite) {
  const std::vector<Point> same(3, {0.5, 0.25});
  EXPECT_EQ(rotated_copy(same, 0.3F)[1], (Point{0, 0}));
}

TEST(Augmentation, BadTextsAreRefused) {
  for (const char* text : {"", "0", "9", "mix", "mix:", "mix:0", "mix:x", "mix:2 ", "mix:-1", "mix:99999999999"}) {
    EXPECT_THROW((void)Augmentation::parse(text), InputError) << text;
  }
}

}  // namespace
}  // namespace puretour
