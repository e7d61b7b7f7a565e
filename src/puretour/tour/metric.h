// Distances between points: plain Euclidean, and the rounded ones of TSPLIB.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "puretour/geometry/point.h"

namespace puretour {

enum class Metric {
  kEuclidean,  // sqrt(dx^2 + dy^2), not rounded: generated and learned-solver data
  kEuc2d,      // TSPLIB EUC_2D: rounded to the nearest integer
  kCeil2d,     // TSPLIB CEIL_2D: rounded up
  kMan2d,      // TSPLIB MAN_2D: |dx| + |dy|, rounded to the nearest integer
  kMax2d,      // TSPLIB MAX_2D: max(round |dx|, round |dy|)
  kAtt,        // TSPLIB ATT: pseudo-Euclidean, sqrt((dx^2 + dy^2) / 10) rounded up as TSPLIB says
  kGeo,        // TSPLIB GEO: kilometres on the idealised earth; coordinates are DDD.MM (degrees.minutes)
  kExplicit,   // a matrix of weights; no function of coordinates
};

/// The name in the EDGE_WEIGHT_TYPE line of a TSPLIB file; kEuclidean is "EUC_2D_REAL", our own extension.
std::string_view metric_name(Metric metric);

/// Distance of two different nodes under a metric other than kExplicit. Whole numbers for all TSPLIB metrics. Not
/// always 0 at one place: TSPLIB's GEO gives 1.
double metric_distance(Metric metric, Point a, Point b);

}  // namespace puretour
