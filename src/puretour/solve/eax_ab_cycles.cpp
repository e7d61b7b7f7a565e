// SPDX-License-Identifier: MIT
#include "puretour/solve/eax_ab_cycles.h"

namespace puretour {

AbCycles::AbCycles(NodeId num_nodes) : sites_(static_cast<std::size_t>(num_nodes)), offsets_{0} {
  differing_.reserve(static_cast<std::size_t>(num_nodes));
}

void AbCycles::build(const EaxTour& a, const EaxTour& b, Rng& rng, std::size_t max_cycles) {
  nodes_.clear();
  costs_.clear();
  gains_.clear();
  offsets_.assign(1, 0);
  num_coins_ = 0;
  collect_difference(a, b);
  while (!differing_.empty() && size() < max_cycles) {
    const std::size_t k = rng.below(differing_.size());
    const NodeId start = differing_[k];
    if (site(start).ends[0].count == 0) {  // A- and B-edges run out together
      differing_[k] = differing_.back();
      differing_.pop_back();
    } else {
      walk_from(start, rng, max_cycles);
    }
  }
}

void AbCycles::collect_difference(const EaxTour& a, const EaxTour& b) {
  // Which nodes differ is unpredictable early in a run, so there are no branches here: each result is written, then
  // counted or left to be overwritten.
  differing_.resize(static_cast<std::size_t>(a.size()));
  std::size_t num_differing = 0;
  for (NodeId v = 0; v < a.size(); ++v) {
    const auto [a0, a1] = a.node(v).link;
    const auto [b0, b1] = b.node(v).link;
    differing_[num_differing] = v;
    num_differing += ((a0 != b0) | (a1 != b1)) & ((a0 != b1) | (a1 != b0)) ? 1 : 0;
  }
  differing_.resize(num_differing);

  const auto ends_missing_in = [](const EaxTour::Node& other, const EaxTour::Node& node) {
    const auto missing = [&](NodeId w) { return ((w != other.link[0]) & (w != other.link[1])) != 0 ? 1 : 0; };
    const int first = missing(node.link[0]);
    const int second = missing(node.link[1]);
    return Ends{{node.link[1 - first], node.link[1]}, {node.cost[1 - first], node.cost[1]}, first + second};
  };
  std::size_t num_ends = 0;
  for (const NodeId v : differing_) {
    const EaxTour::Node& in_a = a.node(v);
    const EaxTour::Node& in_b = b.node(v);
    Site& here = site(v);
    here.ends[0] = ends_missing_in(in_b, in_a);
    here.ends[1] = ends_missing_in(in_a, in_b);
    here.walk_index[0] = here.walk_index[1] = kNotOnWalk;
    num_ends += static_cast<std::size_t>(here.ends[0].count);
  }
  num_differing_edges_ = num_ends / 2;
}

void AbCycles::walk_from(NodeId start, Rng& rng, std::size_t max_cycles) {
  walk_.assign(1, start);
  walk_costs_.clear();
  site(start).walk_index[0] = 0;
  while (size() < max_cycles) {
    // Leave by a random remaining edge of the type that is due. There is one: every node has as many A- as B-edges.
    const std::size_t type = (walk_.size() - 1) % 2;
    const NodeId v = walk_.back();
    Ends& ends = site(v).ends[type];
    assert(ends.count > 0);
    int choice = 0;
    if (ends.count == 2) {
      if (num_coins_ == 0) {
        coins_ = rng.bits();
        num_coins_ = 64;
      }
      choice = static_cast<int>(coins_ & 1);
      coins_ >>= 1;
      --num_coins_;
    }
    const NodeId w = ends.node[choice];
    const EaxTour::Cost cost = ends.cost[choice];
    ends.node[choice] = ends.node[1];
    ends.cost[choice] = ends.cost[1];
    --ends.count;
    Ends& back = site(w).ends[type];
    const int back_choice = back.node[0] == v ? 0 : 1;
    assert(back.node[back_choice] == v && back_choice < back.count);
    back.node[back_choice] = back.node[1];
    back.cost[back_choice] = back.cost[1];
    --back.count;

    walk_costs_.push_back(cost);
    std::int32_t& on_walk = site(w).walk_index[walk_.size() % 2];
    if (on_walk == kNotOnWalk) {
      on_walk = static_cast<std::int32_t>(walk_.size());
      walk_.push_back(w);
      continue;
    }
    // Back at a node that is left by the same type: the loop since then has even length and is an AB-cycle.
    const auto begin = static_cast<std::size_t>(on_walk);
    emit(begin, walk_.size());
    for (std::size_t i = begin + 1; i < walk_.size(); ++i) site(walk_[i]).walk_index[i % 2] = kNotOnWalk;
    walk_.resize(begin + 1);
    walk_costs_.resize(begin);
    if (begin == 0) break;
  }
  // Not empty only if max_cycles cut the walk short; then the sites are not used again.
  if (walk_.size() == 1) site(start).walk_index[0] = kNotOnWalk;
}

void AbCycles::emit(std::size_t begin, std::size_t end) {
  // Start with an A-edge: rotate by one if the loop starts at an odd index.
  EaxTour::Length gain = 0;
  for (std::size_t i = begin; i < end; ++i) {
    std::size_t from = i + begin % 2;
    if (from == end) from = begin;
    nodes_.push_back(walk_[from]);
    costs_.push_back(walk_costs_[from]);
    gain += from % 2 == 0 ? walk_costs_[from] : -walk_costs_[from];
  }
  offsets_.push_back(nodes_.size());
  gains_.push_back(gain);
}

}  // namespace puretour
