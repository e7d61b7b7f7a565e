// SPDX-License-Identifier: MIT
#include "puretour/geometry/disc.h"

#include <cstdint>

#include "puretour/base/vectorize.h"

namespace puretour {

std::size_t count_inside_diametral_disc(Point a, Point b, std::span<const Point> points) {
  std::size_t count = 0;
  for (const Point x : points) count += inside_diametral_disc(a, b, x) ? 1 : 0;
  return count;
}

PURETOUR_VECTORISED
std::size_t count_inside_diametral_disc(Point a, Point b, const double* xs, const double* ys, std::size_t count) {
  std::int64_t inside = 0;  // as wide as a double: compare masks add up lane by lane
  for (std::size_t k = 0; k < count; ++k) {
    inside += (a.x - xs[k]) * (b.x - xs[k]) + (a.y - ys[k]) * (b.y - ys[k]) < 0 ? 1 : 0;
  }
  return static_cast<std::size_t>(inside);
}

}  // namespace puretour
