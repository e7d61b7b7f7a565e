// SPDX-License-Identifier: MIT
#include "puretour/solve/small_graph.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace puretour {
namespace {

// Sums of a few costs, and of a fixed edge, stay within 32 bits.
constexpr double kLargestCost = 0x1p24;
constexpr std::int32_t kFixedCost = -0x10000000;

}  // namespace

void SmallGraph::set_points(std::span<const Point> points) {
  assert(points.size() <= kMaxNodes);
  size_ = static_cast<std::uint32_t>(points.size());
  costs_.resize(std::size_t{size_} * size_);
  Box box;
  for (const Point p : points) box.add(p);
  // Not std::hypot, whose last bit depends on the C library.
  const double extent = std::sqrt(squared_distance(box.low, box.high));
  const double scale = extent > 0 ? kLargestCost / extent : 0;
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < size_; ++j) {
      costs_[i * size_ + j] = static_cast<Cost>(std::sqrt(squared_distance(points[i], points[j])) * scale + 0.5);
    }
  }
  find_candidates();
}

void SmallGraph::fix_edge(Node a, Node b) {
  costs_[std::size_t{a} * size_ + b] = kFixedCost;
  costs_[std::size_t{b} * size_ + a] = kFixedCost;
}

void SmallGraph::find_candidates() {
  num_candidates_ = size_ == 0 ? 0 : std::min<std::size_t>(kCandidates, size_ - 1);
  if (num_candidates_ == 0) return;
  for (std::size_t i = 0; i < size_; ++i) {
    const Cost* row = costs_.data() + i * size_;
    // Costs fit 24 bits and nodes 8: one word sorts by cost, then by node.
    std::array<std::uint32_t, kCandidates> nearest{};
    std::size_t count = 0;
    for (std::uint32_t j = 0; j < size_; ++j) {
      if (j == i) continue;
      const std::uint32_t key = static_cast<std::uint32_t>(std::min<Cost>(row[j], 0xFFFFFF)) << 8U | j;
      if (count == num_candidates_ && key >= nearest[count - 1]) continue;
      std::size_t at = count < num_candidates_ ? count++ : count - 1;
      for (; at > 0 && nearest[at - 1] > key; --at) nearest[at] = nearest[at - 1];
      nearest[at] = key;
    }
    for (std::size_t r = 0; r < num_candidates_; ++r) {
      const auto node = static_cast<Node>(nearest[r] & 0xFFU);
      candidates_[i * kCandidates + r] = {row[node], node};
    }
  }
}

}  // namespace puretour
