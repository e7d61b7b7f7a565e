// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_edge_counts.h"

#include <algorithm>
#include <bit>

#include "puretour/base/portable_math.h"

namespace puretour {
namespace {

double entropy_term(std::int64_t count, double num_tours) {
  if (count == 0) return 0;
  const double share = static_cast<double>(count) / num_tours;
  return -share * portable_log(share);
}

}  // namespace

EdgeCounts::EdgeCounts(NodeId num_nodes, int population) : num_tours_(population) {
  // An offspring is counted before its parent is taken away, so a count can reach N + 1 for a moment.
  const auto most = static_cast<std::size_t>(population) + 1;
  gain_of_adding_.assign(most + 1, 0);
  gain_of_removing_.assign(most + 1, 0);
  for (std::size_t f = 0; f < most; ++f) {
    const double gain = entropy_term(static_cast<std::int64_t>(f) + 1, num_tours_) -
                        entropy_term(static_cast<std::int64_t>(f), num_tours_);
    gain_of_adding_[f] = gain;
    gain_of_removing_[f + 1] = -gain;
  }
  // Random tours after local search have about 3.5 n distinct edges.
  rebuild(std::bit_ceil(8 * static_cast<std::size_t>(num_nodes)));
}

void EdgeCounts::add(const EaxTour& tour) {
  for (NodeId v = 0; v < tour.size(); ++v) {
    for (const NodeId w : tour.node(v).link) {
      if (v < w) add_edge(v, w);
    }
  }
}

int EdgeCounts::count(NodeId u, NodeId v) const {
  const std::uint64_t key = key_of(u, v);
  for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].key == key) return static_cast<int>(slots_[i].count);
    if (slots_[i].key == kFree) return 0;
  }
}

double EdgeCounts::entropy() const {
  double sum = 0;
  for (const Slot& slot : slots_) sum += entropy_term(slot.count, num_tours_);
  return sum;
}

std::int64_t EdgeCounts::total() const {
  std::int64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.count;
  return sum;
}

EdgeCounts::Slot& EdgeCounts::insert(std::uint64_t key) {
  if (2 * (num_used_ + 1) > slots_.size()) {
    // Edges that the population has lost give their slots back; grow only if that is not enough.
    const auto alive = static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.count > 0; }));
    rebuild(4 * alive > slots_.size() ? 2 * slots_.size() : slots_.size());
  }
  std::size_t i = home(key);
  while (slots_[i].key != kFree) i = (i + 1) & (slots_.size() - 1);
  slots_[i].key = key;
  ++num_used_;
  return slots_[i];
}

void EdgeCounts::rebuild(std::size_t num_slots) {
  std::vector<Slot> old(num_slots);
  old.swap(slots_);
  shift_ = 64 - std::countr_zero(num_slots);
  num_used_ = 0;
  for (const Slot& slot : old) {
    if (slot.count > 0) insert(slot.key).count = slot.count;
  }
}

}  // namespace puretour
