// Near-optimal tours and Hamiltonian paths of up to 254 points in a fraction of a millisecond: labels for training.
//
// An iterated local search like local_search.h, made for many small problems: the tour, the positions and the candidate
// lists are arrays of bytes, a kick is undone by copying the tour back, and nothing is allocated between problems.
// Moves are sequential 3-opt (all four pure ones and 2-opt) from candidate lists. SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"

namespace puretour {

/// A search with the memory it needs: keep one per thread. Holds no state between calls.
class SmallTourSearch {
 public:
  /// Nodes are bytes, and one value is spare.
  static constexpr std::size_t kMaxNodes = 254;

  struct Limits {
    double kicks_per_node = 2.5;
  };

  /// A short closed tour, as positions in `points`; starts anywhere. At most kMaxNodes points.
  std::span<const std::uint8_t> closed_tour(std::span<const Point> points, Rng& rng, const Limits& limits);

  /// A short path through all points from the first to the last one of `points`: starts with 0, ends with size - 1.
  std::span<const std::uint8_t> path(std::span<const Point> points, Rng& rng, const Limits& limits);

 private:
  using Node = std::uint8_t;
  using Cost = std::int32_t;

  static constexpr std::size_t kCandidates = 8;
  static constexpr std::size_t kCandidatesOfSecond = 5;  // breadth of the second added edge

  struct Segment {
    std::uint32_t begin;
    std::uint32_t length;
    bool reversed;
  };

  void set_points(std::span<const Point> points);
  void find_candidates();
  void start_nearest_neighbour(std::size_t first, std::size_t last);
  void search(Rng& rng, std::int64_t num_kicks);
  void descend();
  bool improve_from(Node t1);
  template <bool mirrored>
  bool improve_from(Node t1);
  template <bool mirrored>
  void make_two_opt(std::uint32_t edge1, std::uint32_t edge2);
  template <bool mirrored>
  void make_three_opt(std::uint32_t begin, std::uint32_t length_a, std::uint32_t length_b, bool b_first, bool reverse_a,
                      bool reverse_b);
  void rearrange(std::uint32_t begin, std::span<const Segment> segments);
  void reverse(std::uint32_t begin, std::uint32_t length);
  Cost disturb(Rng& rng);
  void push(Node node);

  [[nodiscard]] Cost cost(Node a, Node b) const { return costs_[a * stride_ + b]; }
  [[nodiscard]] std::uint32_t wrapped(std::uint32_t position) const {
    return position >= size_ ? position - size_ : position;
  }

  std::uint32_t size_ = 0;
  std::size_t stride_ = 0;
  std::size_t per_node_ = 0;
  Cost gain_ = 0;  // of the current descent
  std::vector<Cost> costs_;
  std::array<Node, kMaxNodes * kCandidates> candidates_{};
  std::array<Node, kMaxNodes + 2> order_{};
  std::array<Node, kMaxNodes + 2> position_{};
  std::array<Node, kMaxNodes + 2> best_order_{};
  std::array<Node, kMaxNodes + 2> best_position_{};
  std::array<Node, kMaxNodes + 2> moved_{};
  std::array<Node, kMaxNodes + 2> queue_{};  // a ring
  std::array<bool, kMaxNodes + 2> is_queued_{};
  std::uint32_t queue_head_ = 0;
  std::uint32_t queue_size_ = 0;
};

}  // namespace puretour
