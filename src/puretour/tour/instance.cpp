// SPDX-License-Identifier: MIT
#include "puretour/tour/instance.h"

#include <fmt/format.h>

#include <cmath>

#include "puretour/base/error.h"

namespace puretour {
namespace {

void check_finite(std::span<const Point> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].x) || !std::isfinite(points[i].y)) {
      throw InputError(fmt::format("node {}: coordinates ({}, {}) are not finite", i + 1, points[i].x, points[i].y));
    }
  }
}

}  // namespace

Instance::Instance(std::vector<Point> points, Metric metric, std::string name)
    : points_(std::move(points)), metric_(metric), name_(std::move(name)) {
  if (metric == Metric::kExplicit) throw InputError("an EXPLICIT instance needs a matrix of weights, not coordinates");
  check_finite(points_);
}

Instance::Instance(WeightMatrix matrix, std::vector<Point> display_points, std::string name)
    : points_(std::move(display_points)), metric_(Metric::kExplicit), name_(std::move(name)) {
  const std::size_t n = matrix.size;
  if (matrix.weights.size() != n * n) {
    throw InputError(fmt::format("weight matrix: {} weights given, {} nodes need {}", matrix.weights.size(), n, n * n));
  }
  if (!points_.empty() && points_.size() != n) {
    throw InputError(fmt::format("{} display coordinates given for {} nodes", points_.size(), n));
  }
  check_finite(points_);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double weight = matrix.weights[i * n + j];
      const double mirrored = matrix.weights[j * n + i];
      if (!std::isfinite(weight)) {
        throw InputError(fmt::format("weight of ({}, {}) is {}, not a finite number", i + 1, j + 1, weight));
      }
      if (weight != mirrored) {
        throw InputError(fmt::format("weights are not symmetric: ({}, {}) is {} but ({}, {}) is {}", i + 1, j + 1,
                                     weight, j + 1, i + 1, mirrored));
      }
    }
  }
  matrix_ = std::make_shared<const WeightMatrix>(std::move(matrix));
}

Instance Instance::with_fixed_edges(std::span<const FixedEdge> edges) const {
  Instance result = *this;
  result.fixed_edges_ = checked_fixed_edges(edges, size());
  return result;
}

std::span<const Point> Instance::require_points(const char* purpose) const {
  if (has_points()) return points_;
  throw InputError(
      fmt::format("{}: {} needs coordinates, but this EXPLICIT instance has only weights (no "
                  "DISPLAY_DATA_SECTION)",
                  name_.empty() ? "instance" : name_, purpose));
}

std::vector<Point> normalised_to_unit_square(std::span<const Point> points) {
  const Box box = bounding_box(points);
  const double side = std::max(box.width(), box.height());
  const double divisor = side > 0 ? side : 1;
  std::vector<Point> result(points.begin(), points.end());
  for (Point& p : result) p = {(p.x - box.low.x) / divisor, (p.y - box.low.y) / divisor};
  return result;
}

}  // namespace puretour
