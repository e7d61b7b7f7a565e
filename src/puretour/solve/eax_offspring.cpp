// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_offspring.h"

#include <algorithm>

namespace puretour {
namespace {

constexpr std::int32_t kNone = -1;

void exchange(EaxTour& tour, NodeId a, NodeId b, NodeId c, NodeId e, EaxTour::Cost cost_ac, EaxTour::Cost cost_be) {
  tour.replace_link(a, b, c, cost_ac);
  tour.replace_link(b, a, e, cost_be);
  tour.replace_link(c, e, a, cost_ac);
  tour.replace_link(e, c, b, cost_be);
}

void apply_cycle(EaxTour& a, const AbCycle& cycle) {
  for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
    const NodeId left = cycle.nodes[i];
    const NodeId right = cycle.nodes[i + 1];
    const std::size_t before = cycle.previous(i);
    a.replace_link(left, right, cycle.nodes[before], cycle.costs[before]);
    a.replace_link(right, left, cycle.nodes[cycle.next(i + 1)], cycle.costs[i + 1]);
  }
}

void undo_cycle(EaxTour& a, const AbCycle& cycle) {
  for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
    const NodeId left = cycle.nodes[i];
    const NodeId right = cycle.nodes[i + 1];
    a.replace_link(left, cycle.nodes[cycle.previous(i)], right, cycle.costs[i]);
    a.replace_link(right, cycle.nodes[cycle.next(i + 1)], left, cycle.costs[i]);
  }
}

}  // namespace

void apply_offspring(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set,
                     std::span<const SubtourJoin> joins) {
  for (const std::int32_t c : e_set) apply_cycle(a, cycles[static_cast<std::size_t>(c)]);
  for (const SubtourJoin& j : joins) exchange(a, j.a, j.b, j.c, j.e, j.cost_ac, j.cost_be);
}

void undo_offspring(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set,
                    std::span<const SubtourJoin> joins) {
  for (auto j = joins.rbegin(); j != joins.rend(); ++j) exchange(a, j->a, j->c, j->b, j->e, j->cost_ab, j->cost_ce);
  for (const std::int32_t c : e_set) undo_cycle(a, cycles[static_cast<std::size_t>(c)]);
}

OffspringBuilder::OffspringBuilder(const EaxSpace& space)
    : space_(space),
      num_nodes_(space.size()),
      cut_at_(static_cast<std::size_t>(num_nodes_), 0),
      longest_link_(static_cast<std::size_t>(num_nodes_)) {}

void OffspringBuilder::start(const EaxTour& a) {
  for (NodeId v = 0; v < num_nodes_; ++v) update_longest_link(a, v);
}

bool OffspringBuilder::build(EaxTour& a, const AbCycles& cycles, std::span<const std::int32_t> e_set,
                             Length least_gain) {
  gain_ = 0;
  joins_.clear();
  for (const std::int32_t c : e_set) gain_ += cycles[static_cast<std::size_t>(c)].gain;

  cut_into_segments(a, cycles, e_set);
  link_segment_ends(a, cycles, e_set);
  label_subtours();
  if (num_subtours() == 1) return gain_ >= least_gain;  // decided without touching A

  const auto update_longest_links = [&] {
    for (const std::int32_t c : e_set) {
      for (const NodeId v : cycles[static_cast<std::size_t>(c)].nodes) update_longest_link(a, v);
    }
    for (const SubtourJoin& join : joins_) {
      for (const NodeId v : {join.a, join.b, join.c, join.e}) update_longest_link(a, v);
    }
  };
  apply_offspring(a, cycles, e_set, {});
  update_longest_links();
  const bool joined = join_subtours(a, least_gain);
  undo_offspring(a, cycles, e_set, joins_);
  update_longest_links();
  return joined && gain_ >= least_gain;
}

void OffspringBuilder::cut_into_segments(const EaxTour& a, const AbCycles& cycles,
                                         std::span<const std::int32_t> e_set) {
  cuts_.clear();
  for (const std::int32_t c : e_set) {
    const AbCycle cycle = cycles[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < cycle.nodes.size(); i += 2) {
      cuts_.push_back(a.cut_position(cycle.nodes[i], cycle.nodes[i + 1]));
    }
  }
  std::sort(cuts_.begin(), cuts_.end());
}

void OffspringBuilder::link_segment_ends(const EaxTour& a, const AbCycles& cycles,
                                         std::span<const std::int32_t> e_set) {
  for (std::int32_t s = 0; s < num_segments(); ++s) cut_at_[index(cuts_[index(s)])] = s + 1;
  end_mate_.assign(2 * cuts_.size(), kNone);
  for (const std::int32_t c : e_set) {
    const AbCycle cycle = cycles[static_cast<std::size_t>(c)];
    for (std::size_t i = 1; i < cycle.nodes.size(); i += 2) {
      const std::int32_t from = take_end(a, cycle.nodes[i]);
      end_mate_[index(from)] = from;  // taken; the other end must not be the same one
      const std::int32_t to = take_end(a, cycle.nodes[cycle.next(i)]);
      end_mate_[index(from)] = to;
      end_mate_[index(to)] = from;
    }
  }
  for (const NodeId cut : cuts_) cut_at_[index(cut)] = 0;
}

// A free segment end at node v. A node that lost both A-edges is a segment by itself; its two ends are interchangeable.
std::int32_t OffspringBuilder::take_end(const EaxTour& a, NodeId v) {
  const NodeId position = a.position(v);
  const std::int32_t cut_before = cut_at_[index(position)];
  if (cut_before != 0 && end_mate_[index(2 * (cut_before - 1))] == kNone) return 2 * (cut_before - 1);
  const std::int32_t cut_after = cut_at_[index(position + 1 < num_nodes_ ? position + 1 : 0)];
  assert(cut_after != 0);
  const std::int32_t segment = cut_after > 1 ? cut_after - 2 : num_segments() - 1;
  assert(end_mate_[index(2 * segment + 1)] == kNone);
  return 2 * segment + 1;
}

void OffspringBuilder::label_subtours() {
  subtour_.assign(cuts_.size(), kNone);
  subtour_sizes_.clear();
  for (std::int32_t s = 0; s < num_segments(); ++s) {
    if (subtour_[index(s)] != kNone) continue;
    NodeId size = 0;
    std::int32_t end = 2 * s;
    do {  // run through the segment entered at `end`, leave it at its other end, follow the B-edge
      subtour_[index(end / 2)] = num_subtours();
      size += segment_length(end / 2);
      end = end_mate_[index(end ^ 1)];
    } while (end != 2 * s);
    subtour_sizes_.push_back(size);
  }
}

bool OffspringBuilder::join_subtours(EaxTour& a, Length least_gain) {
  present_sizes_ = subtour_sizes_;
  present_subtour_ = subtour_;
  for (int left = num_subtours(); left > 1; --left) {
    std::int32_t smallest = kNone;
    for (std::int32_t t = 0; t < num_subtours(); ++t) {
      if (present_sizes_[index(t)] > 0 &&
          (smallest == kNone || present_sizes_[index(t)] < present_sizes_[index(smallest)])) {
        smallest = t;
      }
    }
    collect_inside(a, smallest);
    // The last join decides: one that leaves the offspring too long need not be found.
    const Length threshold = left == 2 ? least_gain - gain_ - 1 : kAnyGain;
    SubtourJoin join;
    const bool found = find_best_join(a, smallest, threshold, join);
    for (const NodeId v : inside_) update_longest_link(a, v);
    if (!found) return false;
    exchange(a, join.a, join.b, join.c, join.e, join.cost_ac, join.cost_be);
    for (const NodeId v : {join.a, join.b, join.c, join.e}) update_longest_link(a, v);
    joins_.push_back(join);
    gain_ += join.gain();

    const std::int32_t other = present_subtour_[index(segment_of(a.position(join.c)))];
    for (std::int32_t& t : present_subtour_) {
      if (t == smallest) t = other;
    }
    present_sizes_[index(other)] += present_sizes_[index(smallest)];
    present_sizes_[index(smallest)] = 0;
  }
  return true;
}

void OffspringBuilder::collect_inside(const EaxTour& a, std::int32_t subtour) {
  inside_.clear();
  for (std::int32_t s = 0; s < num_segments(); ++s) {
    if (present_subtour_[index(s)] != subtour) continue;
    NodeId position = cuts_[index(s)];
    for (NodeId k = segment_length(s); k > 0; --k) {
      const NodeId v = a.at(position);
      inside_.push_back(v);
      longest_link_[index(v)] = kInside;
      if (++position == num_nodes_) position = 0;
    }
  }
}

// Tries the four exchanges that add the edge from `inside` to `outside` and remove no fixed edge; returns the gain of
// the best join so far. At least one of them is possible: a node has at most one fixed edge.
EaxTour::Length OffspringBuilder::try_edge(const EaxTour& a, NodeId inside, NodeId outside, EaxTour::Cost cost_ac,
                                           Length best_gain, SubtourJoin& best) const {
  const EaxTour::Node& near = a.node(inside);
  const EaxTour::Node& far = a.node(outside);
  for (const int i : {0, 1}) {
    const NodeId b = near.link[i];
    if (space_.is_fixed(inside, b)) continue;
    const Length limit = best_gain + cost_ac + space_.least_cost(b);
    for (const int j : {0, 1}) {
      if (Length{near.cost[i]} + far.cost[j] <= limit || space_.is_fixed(outside, far.link[j])) continue;
      const EaxTour::Cost cost_be = space_.cost(b, far.link[j]);
      const SubtourJoin join = {inside, b, outside, far.link[j], near.cost[i], far.cost[j], cost_ac, cost_be};
      if (join.gain() > best_gain) {
        best = join;
        best_gain = join.gain();
      }
    }
  }
  return best_gain;
}

// The exchange of an edge inside and an edge outside with the largest gain above `threshold`, among those that add an
// edge from an inside node to one of its near neighbours, or put back an edge of A that was cut.
bool OffspringBuilder::find_best_join(const EaxTour& a, std::int32_t subtour, Length threshold,
                                      SubtourJoin& best) const {
  Length best_gain = threshold;
  // Cut edges always lead outside somewhere, also where a cluster is larger than the neighbour lists reach.
  for (std::int32_t s = 0; s < num_segments(); ++s) {
    const std::int32_t previous = s > 0 ? s - 1 : num_segments() - 1;
    const bool starts_inside = present_subtour_[index(s)] == subtour;
    const bool ends_inside = present_subtour_[index(previous)] == subtour;
    if (starts_inside == ends_inside) continue;
    const NodeId first = a.at(cuts_[index(s)]);
    const NodeId last = a.at(cuts_[index(s)] > 0 ? cuts_[index(s)] - 1 : num_nodes_ - 1);
    best_gain = try_edge(a, starts_inside ? first : last, starts_inside ? last : first, space_.cost(first, last),
                         best_gain, best);
  }
  for (const NodeId v : inside_) {
    const EaxTour::Node& node = a.node(v);
    const Length most =
        std::max(node.cost[0] - space_.least_cost(node.link[0]), node.cost[1] - space_.least_cost(node.link[1]));
    for (const EaxSpace::Neighbour& neighbour : space_.neighbours(v)) {
      if (most + longest_link_[index(neighbour.node)] - neighbour.cost > best_gain) [[unlikely]] {
        best_gain = try_edge(a, v, neighbour.node, neighbour.cost, best_gain, best);
      }
    }
  }
  return best_gain > threshold;
}

std::int32_t OffspringBuilder::segment_of(NodeId position) const {
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), position);
  return after == cuts_.begin() ? num_segments() - 1 : static_cast<std::int32_t>(after - cuts_.begin()) - 1;
}

int OffspringBuilder::subtour_before_joining(const EaxTour& a, NodeId v) const {
  return subtour_[index(segment_of(a.position(v)))];
}

}  // namespace puretour
