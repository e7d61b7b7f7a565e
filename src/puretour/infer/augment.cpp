// SPDX-License-Identifier: MIT
#include "puretour/infer/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

struct FloatPoint {
  float x;
  float y;
};

// The matrix ((a, b), (c, d)) applied to all points, and the result fitted into the unit square.
std::vector<Point> mapped_and_fitted(std::span<const Point> points, float a, float b, float c, float d) {
  // INViT moves everything by this much first, which costs some bits; kept, so that its copies are ours.
  constexpr float kOffset = 10;
  std::vector<FloatPoint> mapped;
  mapped.reserve(points.size());
  for (const Point p : points) {
    const auto x = static_cast<float>(p.x);
    const auto y = static_cast<float>(p.y);
    mapped.push_back({(a * x + b * y) + kOffset, (c * x + d * y) + kOffset});
  }
  FloatPoint low = mapped.front();
  FloatPoint high = mapped.front();
  for (const FloatPoint p : mapped) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  float range = std::max(high.x - low.x, high.y - low.y);
  if (range == 0) range = 1;
  std::vector<Point> result;
  result.reserve(points.size());
  for (const FloatPoint p : mapped) result.push_back({(p.x - low.x) / range, (p.y - low.y) / range});
  return result;
}

float angle_of(float turn) {
  return turn * (2 * std::numbers::pi_v<float>);
}

}  // namespace

std::vector<Point> symmetric_copy(std::span<const Point> points, std::size_t symmetry) {
  std::vector<Point> result;
  result.reserve(points.size());
  for (const Point p : points) {
    auto first = static_cast<float>(p.x);
    auto second = static_cast<float>(p.y);
    if (symmetry >= 4) std::swap(first, second);
    if (symmetry % 2 != 0) first = 1 - first;
    if (symmetry / 2 % 2 != 0) second = 1 - second;
    result.push_back({first, second});
  }
  return result;
}

std::vector<Point> rotated_copy(std::span<const Point> points, float turn) {
  const float cosine = std::cos(angle_of(turn));
  const float sine = std::sin(angle_of(turn));
  return mapped_and_fitted(points, cosine, -sine, sine, cosine);
}

std::vector<Point> reflected_copy(std::span<const Point> points, float turn) {
  const float cosine = std::cos(2 * angle_of(turn));
  const float sine = std::sin(2 * angle_of(turn));
  return mapped_and_fitted(points, cosine, sine, sine, -cosine);
}

Augmentation Augmentation::parse(std::string_view text) {
  constexpr std::size_t kMaxCopies = 1'000'000;
  constexpr std::string_view kMix = "mix:";
  if (text == "1") return {};
  if (text == "8") return {false, kNumSymmetries};
  if (text.starts_with(kMix)) {
    Augmentation result{true, 0};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kMix.size(), end, result.num_copies);
    if (error == std::errc() && stop == end && result.num_copies >= 1 && result.num_copies <= kMaxCopies) return result;
  }
  throw InputError(fmt::format("augmentation {}: choose 1 (none), 8 (symmetries of the square) or mix:K (K copies)",
                               quote_input(text)));
}

std::vector<Point> Augmentation::copy(std::span<const Point> points, std::size_t copy, std::uint64_t seed) const {
  if (copy == 0) return {points.begin(), points.end()};
  if (!random) return symmetric_copy(points, copy);
  Rng rng(seed, {0x6175676d, copy});  // a stream of its own, apart from those of the roll-outs
  const float turn = rng.uniform_float();
  return copy % 2 == 0 ? rotated_copy(points, turn) : reflected_copy(points, turn);
}

}  // namespace puretour
