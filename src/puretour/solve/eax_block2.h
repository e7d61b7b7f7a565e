// The block2 strategy of EAX: E-sets that move large contiguous blocks and leave few sub-tours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/solve/eax_ab_cycles.h"
#include "puretour/solve/eax_tour.h"

namespace puretour {

/// Chooses E-sets by tabu search on the number of places where the offspring changes between edges of A and of B
/// (Nagata and Kobayashi 2013, section 4.2). Fewer changes make fewer sub-tours.
class Block2 {
 public:
  struct Options {
    int tabu_tenure = 10;  // a cycle that moved rests for 1 .. tabu_tenure iterations
    int tabu_stall = 20;   // iterations without a new best until the search ends
  };

  explicit Block2(const Options& options) : options_(options) {}

  /// Takes all cycles of a pair (see AbCycles::build without a limit) and counts where they meet along A.
  void prepare(const EaxTour& a, const AbCycles& cycles);

  /// Cycles by decreasing length: the centres to grow E-sets around.
  [[nodiscard]] std::span<const std::int32_t> centres() const { return centres_; }

  /// An E-set that contains the centre and has few meetings with the cycles outside. Valid until the next call.
  std::span<const std::int32_t> choose(std::int32_t centre, Rng& rng);

  /// Times that an A-edge of one cycle is followed along A, common edges aside, by an A-edge of the other.
  [[nodiscard]] std::int32_t meetings(std::int32_t s, std::int32_t t) const;
  /// Sum of meetings(s, t) over cycles s inside and t outside the set that choose() started from and returned.
  [[nodiscard]] std::int32_t first_cut() const { return first_cut_; }
  [[nodiscard]] std::int32_t best_cut() const { return best_cut_; }

 private:
  struct Meeting {
    std::int32_t cycle;
    std::int32_t times;
  };

  [[nodiscard]] std::span<const Meeting> meetings_of(std::int32_t s) const {
    return {meetings_.data() + offsets_[index(s)], meetings_.data() + offsets_[index(s) + 1]};
  }
  void flip(std::int32_t s);
  // Change of the cut if s changes sides.
  [[nodiscard]] std::int32_t cut_change(std::int32_t s) const {
    const std::int32_t if_added = total_meetings_[index(s)] - 2 * meetings_with_set_[index(s)];
    return in_set_[index(s)] ? -if_added : if_added;
  }
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  Options options_;
  std::vector<std::int32_t> lengths_;  // A-edges, by cycle
  std::vector<std::int32_t> centres_;
  std::vector<std::pair<NodeId, std::int32_t>> a_edges_;  // (position, cycle)
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
  std::vector<Meeting> meetings_;  // row by row, by increasing cycle
  std::vector<std::size_t> offsets_;
  std::vector<std::int32_t> total_meetings_;
  std::vector<std::int32_t> meetings_with_set_;
  std::vector<char> in_set_;
  std::vector<int> tabu_until_;
  std::vector<std::int32_t> best_set_;
  std::int32_t first_cut_ = 0;
  std::int32_t best_cut_ = 0;
};

}  // namespace puretour
