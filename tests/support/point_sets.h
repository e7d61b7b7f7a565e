// Point sets for tests: friendly ones, and those that break careless geometry.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"

namespace puretour::test {

inline std::vector<Point> uniform_points(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) p = {rng.uniform(), rng.uniform()};
  return points;
}

inline std::vector<Point> clustered_points(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  const Point centres[3] = {{10 * rng.uniform(), 10 * rng.uniform()}, {9, 1}, {2, 7}};
  std::vector<Point> points(n);
  for (Point& p : points) {
    const Point c = centres[rng.below(3)];
    p = {c.x + rng.normal(), c.y + rng.normal()};
  }
  return points;
}

/// Whole numbers in 0 .. range - 1.
inline std::vector<Point> integer_points(std::size_t n, std::uint64_t seed, std::uint64_t range) {
  Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) p = {static_cast<double>(rng.below(range)), static_cast<double>(rng.below(range))};
  return points;
}

/// The first n points of a square grid, shuffled: almost every circle has points exactly on it.
inline std::vector<Point> grid_points(std::size_t n, std::uint64_t seed) {
  std::size_t side = 1;
  while (side * side < n) ++side;
  std::vector<Point> points(n);
  for (std::size_t i = 0; i < n; ++i) points[i] = {static_cast<double>(i % side), static_cast<double>(i / side)};
  Rng(seed).shuffle(points.data(), n);
  return points;
}

inline std::vector<Point> collinear_points(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) {
    const auto t = static_cast<double>(rng.below(3 * n));
    p = {2 * t, 5 * t};
  }
  return points;
}

/// Whole-number points of one circle (radius 5^6 * 13 * 17 has many), plus the centre.
inline std::vector<Point> cocircular_points(std::size_t n, std::uint64_t seed) {
  const Point generators[3] = {{3, 4}, {5, 12}, {8, 15}};
  Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) {
    p = {1, 0};
    // Products of Gaussian integers of norm 5, 13 and 17 squared: all have the same absolute value.
    const auto multiply = [&p](Point g) { p = {p.x * g.x - p.y * g.y, p.x * g.y + p.y * g.x}; };
    for (int power = 0; power < 3; ++power) multiply({3, rng.below(2) == 0 ? 4.0 : -4.0});
    for (int g = 1; g < 3; ++g) multiply({generators[g].x, rng.below(2) == 0 ? generators[g].y : -generators[g].y});
    if (rng.below(2) == 0) p = {-p.y, p.x};
    if (rng.below(2) == 0) p = {-p.x, -p.y};
  }
  if (n > 0) points[0] = {0, 0};
  return points;
}

/// Few distinct places, each many times.
inline std::vector<Point> duplicated_points(std::size_t n, std::uint64_t seed) {
  return integer_points(n, seed, 4);
}

inline std::vector<std::pair<std::string, std::vector<Point>>> all_point_sets(std::size_t n, std::uint64_t seed) {
  return {{"uniform", uniform_points(n, seed)},       {"clustered", clustered_points(n, seed)},
          {"integer", integer_points(n, seed, 1000)}, {"grid", grid_points(n, seed)},
          {"collinear", collinear_points(n, seed)},   {"cocircular", cocircular_points(n, seed)},
          {"duplicated", duplicated_points(n, seed)}, {"all equal", std::vector<Point>(n, Point{3, 4})}};
}

}  // namespace puretour::test
