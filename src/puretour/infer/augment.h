// Copies of an instance that have the same tours but look different to a network.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"

namespace puretour {

inline constexpr std::size_t kNumSymmetries = 8;

/// One of the eight symmetries of the unit square, 0 .. 7; 0 changes nothing. In order: (x, y), (1-x, y), (x, 1-y),
/// (1-x, 1-y), and with x and y exchanged (y, x), (1-y, x), (y, 1-x), (1-y, 1-x). Computed in float.
std::vector<Point> symmetric_copy(std::span<const Point> points, std::size_t symmetry);

/// Turned by 2 pi turn around the origin, then moved and scaled to the unit square (aspect ratio kept), all in float as
/// INViT does it.
std::vector<Point> rotated_copy(std::span<const Point> points, float turn);

/// The same with a reflection at the line through the origin at angle 2 pi turn.
std::vector<Point> reflected_copy(std::span<const Point> points, float turn);

/// What to show a network: "1" is the instance alone, "8" its symmetries, "mix:16" the instance and 15 random copies,
/// in turn reflected and rotated.
struct Augmentation {
  bool random = false;
  std::size_t num_copies = 1;

  /// Throws InputError that says what is possible.
  static Augmentation parse(std::string_view text);

  /// Copy number `copy` below num_copies; copy 0 is the instance itself. Random ones depend on (seed, copy) only.
  [[nodiscard]] std::vector<Point> copy(std::span<const Point> points, std::size_t copy, std::uint64_t seed) const;
};

}  // namespace puretour
