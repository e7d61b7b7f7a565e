// SPDX-License-Identifier: MIT
#include "puretour/tour/metric.h"

#include <cmath>

#include "puretour/base/error.h"

namespace puretour {
namespace {

// TSPLIB rounds with (int)(x + 0.5); floor is the same for x >= 0 and does not overflow.
double nearest_integer(double x) {
  return std::floor(x + 0.5);
}

// DDD.MM to radians, with the constant that TSPLIB prescribes instead of pi.
double geo_radians(double coordinate) {
  constexpr double kTsplibPi = 3.141592;
  const double degrees = std::trunc(coordinate);
  const double minutes = coordinate - degrees;
  return kTsplibPi * (degrees + 5.0 * minutes / 3.0) / 180.0;
}

double geo_distance(Point a, Point b) {
  constexpr double kEarthRadius = 6378.388;
  const double latitude_a = geo_radians(a.x);
  const double latitude_b = geo_radians(b.x);
  const double q1 = std::cos(geo_radians(a.y) - geo_radians(b.y));
  const double q2 = std::cos(latitude_a - latitude_b);
  const double q3 = std::cos(latitude_a + latitude_b);
  const double cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
  return std::floor(kEarthRadius * std::acos(std::fmin(1.0, std::fmax(-1.0, cosine))) + 1.0);
}

double att_distance(double squared) {
  const double exact = std::sqrt(squared / 10.0);
  const double rounded = nearest_integer(exact);
  return rounded < exact ? rounded + 1 : rounded;
}

}  // namespace

std::string_view metric_name(Metric metric) {
  switch (metric) {
    case Metric::kEuclidean:
      return "EUC_2D_REAL";
    case Metric::kEuc2d:
      return "EUC_2D";
    case Metric::kCeil2d:
      return "CEIL_2D";
    case Metric::kMan2d:
      return "MAN_2D";
    case Metric::kMax2d:
      return "MAX_2D";
    case Metric::kAtt:
      return "ATT";
    case Metric::kGeo:
      return "GEO";
    case Metric::kExplicit:
      return "EXPLICIT";
  }
  throw InternalError("metric_name: unknown metric");
}

double metric_distance(Metric metric, Point a, Point b) {
  switch (metric) {
    case Metric::kEuclidean:
      return std::sqrt(squared_distance(a, b));
    case Metric::kEuc2d:
      return nearest_integer(std::sqrt(squared_distance(a, b)));
    case Metric::kCeil2d:
      return std::ceil(std::sqrt(squared_distance(a, b)));
    case Metric::kMan2d:
      return nearest_integer(std::fabs(a.x - b.x) + std::fabs(a.y - b.y));
    case Metric::kMax2d:
      return std::fmax(nearest_integer(std::fabs(a.x - b.x)), nearest_integer(std::fabs(a.y - b.y)));
    case Metric::kAtt:
      return att_distance(squared_distance(a, b));
    case Metric::kGeo:
      return geo_distance(a, b);
    case Metric::kExplicit:
      break;
  }
  throw InternalError("metric_distance: an EXPLICIT instance has no distance function");
}

}  // namespace puretour
