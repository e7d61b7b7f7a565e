// Small instances of many kinds for the tests of the solvers.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/tour/instance.h"

namespace puretour {

enum class Kind { kUniform, kGrid, kDuplicates, kCollinear, kClusters, kMatrix, kGeo, kManhattan };

inline constexpr std::array kAllKinds = {Kind::kUniform,  Kind::kGrid,   Kind::kDuplicates, Kind::kCollinear,
                                         Kind::kClusters, Kind::kMatrix, Kind::kGeo,        Kind::kManhattan};

/// A random instance with n nodes. Lengths of kUniform are real numbers, of all others whole ones.
inline Instance random_instance(Kind kind, std::size_t n, Rng& rng) {
  if (kind == Kind::kMatrix) {
    // No triangle inequality here, and many ties.
    WeightMatrix matrix{n, std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        matrix.weights[i * n + j] = matrix.weights[j * n + i] = static_cast<double>(rng.below(100));
      }
    }
    return Instance(std::move(matrix));
  }
  std::vector<Point> points(n);
  for (Point& p : points) {
    switch (kind) {
      case Kind::kGrid:
        p = {100.0 * static_cast<double>(rng.below(5)), 100.0 * static_cast<double>(rng.below(5))};
        break;
      case Kind::kDuplicates:
        p = {1000.0 * static_cast<double>(rng.below(2)), 700.0 * static_cast<double>(rng.below(3))};
        break;
      case Kind::kCollinear: {
        const auto t = static_cast<double>(rng.below(1000));
        p = {3 * t, 4 * t};
        break;
      }
      case Kind::kClusters:
        p = {1e5 * static_cast<double>(rng.below(3)) + static_cast<double>(rng.below(50)),
             static_cast<double>(rng.below(50))};
        break;
      case Kind::kGeo:
        p = {rng.uniform() * 160 - 80, rng.uniform() * 340 - 170};
        break;
      case Kind::kManhattan:
        p = {std::floor(rng.uniform() * 1000), std::floor(rng.uniform() * 1000)};
        break;
      default:
        p = {rng.uniform(), rng.uniform()};
    }
  }
  const Metric metric = kind == Kind::kUniform     ? Metric::kEuclidean
                        : kind == Kind::kGeo       ? Metric::kGeo
                        : kind == Kind::kManhattan ? Metric::kMan2d
                                                   : Metric::kEuc2d;
  return Instance(std::move(points), metric);
}

/// The reproducible uniform instances u{n}: whole coordinates in a square of side 1e6, EUC_2D.
inline Instance uniform_benchmark(std::uint64_t n, std::uint64_t first_state) {
  std::uint64_t state = first_state;
  const auto coordinate = [&state] {
    state += 0x9E3779B97F4A7C15ULL;
    return std::floor(static_cast<double>(mix64(state) >> 11) * 0x1p-53 * 1e6);
  };
  std::vector<Point> points(n);
  for (Point& p : points) {
    p.x = coordinate();
    p.y = coordinate();
  }
  return Instance(std::move(points), Metric::kEuc2d, fmt::format("u{}", n));
}
inline Instance uniform_benchmark(std::uint64_t n) {
  return uniform_benchmark(n, n);
}

}  // namespace puretour
