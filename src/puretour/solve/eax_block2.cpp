// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_block2.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace puretour {

void Block2::prepare(const EaxTour& a, const AbCycles& cycles) {
  const auto num_cycles = static_cast<std::int32_t>(cycles.size());
  lengths_.clear();
  a_edges_.clear();
  for (std::int32_t s = 0; s < num_cycles; ++s) {
    const AbCycle cycle = cycles[index(s)];
    lengths_.push_back(static_cast<std::int32_t>(cycle.num_a_edges()));
    for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
      a_edges_.emplace_back(a.cut_position(cycle.nodes[i], cycle.nodes[i + 1]), s);
    }
  }
  centres_.resize(cycles.size());
  std::iota(centres_.begin(), centres_.end(), 0);
  std::stable_sort(centres_.begin(), centres_.end(),
                   [&](std::int32_t s, std::int32_t t) { return lengths_[index(s)] > lengths_[index(t)]; });

  // Neighbours in the cyclic sequence of A-edges that are not in B meet at a node or across a path of common edges.
  std::sort(a_edges_.begin(), a_edges_.end());
  pairs_.clear();
  for (std::size_t i = 0; i < a_edges_.size(); ++i) {
    const std::int32_t s = a_edges_[i].second;
    const std::int32_t t = a_edges_[i + 1 < a_edges_.size() ? i + 1 : 0].second;
    if (s != t) {
      pairs_.emplace_back(s, t);
      pairs_.emplace_back(t, s);
    }
  }
  std::sort(pairs_.begin(), pairs_.end());
  meetings_.clear();
  offsets_.assign(1, 0);
  total_meetings_.assign(cycles.size(), 0);
  for (std::size_t i = 0; i < pairs_.size();) {
    const auto [s, t] = pairs_[i];
    std::int32_t times = 0;
    for (; i < pairs_.size() && pairs_[i] == std::pair(s, t); ++i) ++times;
    while (offsets_.size() <= index(s)) offsets_.push_back(meetings_.size());
    meetings_.push_back({t, times});
    total_meetings_[index(s)] += times;
  }
  while (offsets_.size() <= cycles.size()) offsets_.push_back(meetings_.size());
}

std::span<const std::int32_t> Block2::choose(std::int32_t centre, Rng& rng) {
  const auto num_cycles = static_cast<std::int32_t>(lengths_.size());
  in_set_.assign(lengths_.size(), 0);
  meetings_with_set_.assign(lengths_.size(), 0);
  tabu_until_.assign(lengths_.size(), 0);

  std::int32_t cut = total_meetings_[index(centre)];
  flip(centre);
  for (const Meeting& meeting : meetings_of(centre)) {
    if (lengths_[index(meeting.cycle)] < lengths_[index(centre)] && rng.below(2) == 0) {
      cut += cut_change(meeting.cycle);
      flip(meeting.cycle);
    }
  }
  first_cut_ = best_cut_ = cut;
  const auto keep_as_best = [&] {
    best_cut_ = cut;
    best_set_.clear();
    for (std::int32_t s = 0; s < num_cycles; ++s) {
      if (in_set_[index(s)]) best_set_.push_back(s);
    }
  };
  keep_as_best();

  for (int iteration = 1, last_improved = 0; iteration <= last_improved + options_.tabu_stall; ++iteration) {
    std::int32_t chosen = -1;
    std::int32_t chosen_change = std::numeric_limits<std::int32_t>::max();
    for (std::int32_t s = 0; s < num_cycles; ++s) {
      if (s == centre || (!in_set_[index(s)] && meetings_with_set_[index(s)] == 0)) continue;
      const std::int32_t change = cut_change(s);
      const bool allowed = tabu_until_[index(s)] < iteration || cut + change < best_cut_;
      if (allowed && change < chosen_change) {
        chosen = s;
        chosen_change = change;
      }
    }
    if (chosen < 0) continue;  // everything rests; time passes
    cut += chosen_change;
    flip(chosen);
    tabu_until_[index(chosen)] =
        iteration + 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(options_.tabu_tenure)));
    if (cut < best_cut_) {
      keep_as_best();
      last_improved = iteration;
    }
  }
  return best_set_;
}

void Block2::flip(std::int32_t s) {
  in_set_[index(s)] ^= 1;
  const std::int32_t sign = in_set_[index(s)] ? 1 : -1;
  for (const Meeting& meeting : meetings_of(s)) meetings_with_set_[index(meeting.cycle)] += sign * meeting.times;
}

std::int32_t Block2::meetings(std::int32_t s, std::int32_t t) const {
  for (const Meeting& meeting : meetings_of(s)) {
    if (meeting.cycle == t) return meeting.times;
  }
  return 0;
}

}  // namespace puretour
