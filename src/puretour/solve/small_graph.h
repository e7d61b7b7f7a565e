// Distances of a few points as whole numbers in one small table, with the nearest nodes of each: what searches of small
// tours look at. Nodes are bytes, so that a tour fits in a few cache lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour {

class SmallGraph {
 public:
  using Node = std::uint8_t;
  using Cost = std::int32_t;

  /// One value of a byte is spare.
  static constexpr std::size_t kMaxNodes = 254;
  static constexpr Node kNoNode = 255;

  struct Candidate {
    Cost cost;
    Node node;
  };

  /// All distances, scaled such that the diagonal of the box around the points is 2^24, and the candidates.
  void set_points(std::span<const Point> points);

  /// Makes the edge between two nodes so cheap that no move that removes it pays. Candidates keep its length.
  void fix_edge(Node a, Node b);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Cost cost(Node a, Node b) const { return costs_[a * size_ + b]; }
  [[nodiscard]] const Cost* costs_from(Node a) const { return costs_.data() + std::size_t{a} * size_; }
  /// The nearest nodes, nearest first.
  [[nodiscard]] std::span<const Candidate> candidates(Node a) const {
    return {candidates_.data() + a * kCandidates, num_candidates_};
  }
  [[nodiscard]] bool is_fixed(Node a, Node b) const { return cost(a, b) < 0; }

 private:
  static constexpr std::size_t kCandidates = 7;

  void find_candidates();

  std::uint32_t size_ = 0;
  std::size_t num_candidates_ = 0;
  std::vector<Cost> costs_;
  std::array<Candidate, kMaxNodes * kCandidates> candidates_{};
};

}  // namespace puretour
