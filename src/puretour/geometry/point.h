// A point of the plane and the box around points.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace puretour {

/// Index of a node of an instance: 0-based in memory, 1-based only in TSPLIB files.
using NodeId = std::int32_t;

struct Point {
  double x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

/// Squared Euclidean distance, each operation rounded once.
inline double squared_distance(Point a, Point b) {
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  return dx * dx + dy * dy;
}

/// Axis-aligned box; empty() until the first point is added.
struct Box {
  Point low{1, 1};
  Point high{0, 0};

  [[nodiscard]] bool empty() const { return low.x > high.x; }
  [[nodiscard]] double width() const { return empty() ? 0 : high.x - low.x; }
  [[nodiscard]] double height() const { return empty() ? 0 : high.y - low.y; }

  void add(Point p) {
    if (empty()) {
      low = high = p;
      return;
    }
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
};

inline Box bounding_box(std::span<const Point> points) {
  Box box;
  for (const Point p : points) box.add(p);
  return box;
}

}  // namespace puretour
