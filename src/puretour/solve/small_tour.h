// Near-optimal tours and Hamiltonian paths of up to 254 points in about a millisecond: labels for training.
//
// A few short searches from different starts, each a 3-opt search with kicks as in local_search.h, then crossovers
// between their tours. Made for many small problems: the tour, the positions and the candidate lists are arrays of
// bytes, a kick is undone by copying the tour back, and nothing is allocated between problems.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/geometry/point.h"
#include "puretour/solve/small_crossover.h"
#include "puretour/solve/small_graph.h"

namespace puretour {

/// A search with the memory it needs: keep one per thread. Holds no state between calls.
class SmallTourSearch {
 public:
  static constexpr std::size_t kMaxNodes = SmallGraph::kMaxNodes;

  struct Limits {
    /// Kicks of all searches together are this times the nodes, times nodes / 50 where there are more than 50. Tuned
    /// for a mean excess below 0.01 % at 50 and 100 uniform points (bench/label_bench.cpp).
    double kicks_per_node = 1.6;
    /// Number of searches; 0: one for every 11 nodes.
    std::uint32_t starts = 0;
  };

  /// A short closed tour, as positions in `points`; starts anywhere. At most kMaxNodes points.
  std::span<const std::uint8_t> closed_tour(std::span<const Point> points, Rng& rng, const Limits& limits);

  /// A short path through all points from the first to the last one of `points`: starts with 0, ends with size - 1.
  std::span<const std::uint8_t> path(std::span<const Point> points, Rng& rng, const Limits& limits);

 private:
  using Node = SmallGraph::Node;
  using Cost = SmallGraph::Cost;

  struct Segment {
    std::uint32_t begin;
    std::uint32_t length;
    bool reversed;
  };

  // Cut behind t1, the tour is A B C with t2 the first node of A. The move makes another cycle of them.
  enum class MoveKind : std::uint8_t {
    kTwoOpt,        // A reversed; B is empty
    kSwap,          // B A
    kSwapReverseA,  // B, A reversed
    kSwapReverseB,  // B reversed, A
    kReverseBoth,   // A reversed, B reversed
  };
  struct Move {
    Cost gain = 0;
    MoveKind kind = MoveKind::kTwoOpt;
    bool mirrored = false;  // found in the tour read backwards
    std::uint32_t base = 0;
    std::uint32_t length_a = 0;
    std::uint32_t length_b = 0;
  };

  void solve(Rng& rng, const Limits& limits);
  void start_nearest_neighbour(Node first);
  void search(Rng& rng, std::int64_t num_kicks);
  void descend(Cost enough);
  bool improve_from(Node t1);
  template <bool mirrored>
  bool find_move(Node t1, Move& move) const;
  void make(const Move& move);
  void rearrange(std::span<Segment> segments);
  Cost kick(Rng& rng);
  void push(Node node);
  void clear_queue();
  void close_order();
  void keep_links(LinkedTour& tour) const;
  void take_links(const LinkedTour& tour);
  [[nodiscard]] const LinkedTour& recombine(Rng& rng, std::span<LinkedTour> tours) const;

  [[nodiscard]] std::uint32_t wrapped(std::uint32_t position) const {
    return position >= size_ ? position - size_ : position;
  }

  SmallGraph graph_;
  std::uint32_t size_ = 0;
  bool is_path_ = false;           // node 0 and the last node are neighbours by a fixed edge
  Cost gain_ = 0;                  // of the current descent
  std::vector<LinkedTour> tours_;  // one of each search
  // The tour is order_[1 .. size]; the places before and behind it repeat its ends, so that neighbours need no test.
  std::array<Node, kMaxNodes + 2> order_{};
  std::array<Node, kMaxNodes> position_{};
  std::array<Node, kMaxNodes + 2> best_order_{};
  std::array<Node, kMaxNodes> best_position_{};
  std::array<Node, kMaxNodes> moved_{};
  std::array<Node, kMaxNodes> queue_{};  // a ring
  std::array<bool, kMaxNodes> is_queued_{};
  std::uint32_t queue_head_ = 0;
  std::uint32_t queue_size_ = 0;
};

}  // namespace puretour
