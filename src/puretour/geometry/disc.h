// The one predicate behind the purity order: is a point strictly inside the circle whose diameter is a given segment?
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "puretour/geometry/point.h"

namespace puretour {

/// (a - x) . (b - x) < 0: x sees the segment ab under an angle above 90 degrees (Thales). False for x = a, x = b and
/// points on the circle. Exact for whole-number coordinates below 2^25; every fast path of PureTour either evaluates
/// this very expression or proves its sign, so that all of them agree to the bit.
inline bool inside_diametral_disc(Point a, Point b, Point x) {
  return (a.x - x.x) * (b.x - x.x) + (a.y - x.y) * (b.y - x.y) < 0;
}

/// How many of `points` are strictly inside; O(n), vectorised.
std::size_t count_inside_diametral_disc(Point a, Point b, std::span<const Point> points);

/// The same for coordinates in two arrays of length `count`.
std::size_t count_inside_diametral_disc(Point a, Point b, const double* xs, const double* ys, std::size_t count);

}  // namespace puretour
