// How often each edge occurs in the EAX population, and the edge entropy that measures its diversity.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "puretour/solve/eax_tour.h"

namespace puretour {

/// Occurrences F(e) of every edge in a population of N tours, and H = - sum over e of F(e)/N ln(F(e)/N). Sparse: an
/// open-addressing hash table of the edges seen, a few per node.
class EdgeCounts {
 public:
  EdgeCounts(NodeId num_nodes, int population);

  /// Counts all edges of a tour.
  void add(const EaxTour& tour);

  /// Adds or removes one occurrence and returns the change of H.
  double add_edge(NodeId u, NodeId v) {
    Slot& slot = find_or_insert(u, v);
    return gain_of_adding_[static_cast<std::size_t>(slot.count++)];
  }
  double remove_edge(NodeId u, NodeId v) {
    Slot& slot = find_or_insert(u, v);
    assert(slot.count > 0);
    return gain_of_removing_[static_cast<std::size_t>(slot.count--)];
  }

  [[nodiscard]] int count(NodeId u, NodeId v) const;

  /// H, from scratch.
  [[nodiscard]] double entropy() const;
  /// Sum of F(e) over all edges: N n if nothing is lost.
  [[nodiscard]] std::int64_t total() const;

 private:
  struct Slot {
    std::uint64_t key = kFree;
    std::int64_t count = 0;
  };
  static constexpr std::uint64_t kFree = ~0ULL;

  static std::uint64_t key_of(NodeId u, NodeId v) {
    const auto low = static_cast<std::uint64_t>(u < v ? u : v);
    const auto high = static_cast<std::uint64_t>(u < v ? v : u);
    return high << 32 | low;
  }
  // Multiplicative hashing: the golden ratio spreads consecutive keys, the top bits are the best ones.
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key ^ key >> 29) * 0x9E3779B97F4A7C15ULL >> shift_);
  }
  Slot& find_or_insert(NodeId u, NodeId v) {
    const std::uint64_t key = key_of(u, v);
    for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i];
      if (slots_[i].key == kFree) return insert(key);
    }
  }
  Slot& insert(std::uint64_t key);
  void rebuild(std::size_t num_slots);

  double num_tours_;
  std::vector<double> gain_of_adding_;    // by the count before
  std::vector<double> gain_of_removing_;  // by the count before
  std::vector<Slot> slots_;
  int shift_ = 0;
  std::size_t num_used_ = 0;  // slots with a key; the count may have dropped to 0
};

}  // namespace puretour
