// Sequential k-opt local search in the manner of Lin and Kernighan, with moves evaluated before the tour is touched.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/solve/array_tour.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// Rounded Euclidean costs, computed in place: faster than a table that does not fit the cache.
class EuclideanCost {
 public:
  /// Whether the costs of a problem are of this kind.
  static bool fits(const Problem& problem) {
    return problem.metric() == Metric::kEuclidean || problem.metric() == Metric::kEuc2d;
  }

  explicit EuclideanCost(const Problem& problem)
      : points_(problem.points().begin(), problem.points().end()), scale_(problem.scale()) {}

  Problem::Cost operator()(NodeId i, NodeId j) const {
    const double squared = squared_distance(points_[static_cast<std::size_t>(i)], points_[static_cast<std::size_t>(j)]);
    return static_cast<Problem::Cost>(std::sqrt(squared) * scale_ + 0.5);
  }

 private:
  std::vector<Point> points_;
  double scale_;
};

/// Costs of any metric, asked from the problem.
class ProblemCost {
 public:
  explicit ProblemCost(const Problem& problem) : problem_(&problem) {}
  Problem::Cost operator()(NodeId i, NodeId j) const { return problem_->cost(i, j); }

 private:
  const Problem* problem_;
};

/// A candidate neighbour with its cost beside it.
struct Candidate {
  NodeId node;
  Problem::Cost cost;
};

/// The candidate lists of a problem, row by row.
std::vector<Candidate> candidate_rows(const Problem& problem);

/// Below this many nodes there are too few edges for the moves; use exact_tour().
inline constexpr NodeId kMinMoveNodes = 5;

/// Candidates beyond this rank are not looked at.
inline constexpr std::size_t kMaxCandidates = 16;

/// The most edges that one move exchanges.
inline constexpr int kMaxMoveEdges = 10;

struct KOptParams {
  /// Edges that one move may exchange: 3 is 3-opt, from 5 on it is Lin-Kernighan.
  int max_edges = 5;
  /// How many continuations are tried from each partial move with 1, 2, 3, ... edges removed.
  std::array<int, kMaxMoveEdges> breadth = {10, 5, 3, 2, 1, 1, 1, 1, 1, 1};
};

/// Improves a tour of nodes 0 .. n - 1 by moves t1 t2 t3 ... t2k: remove the tour edges (t1 t2), (t3 t4), ...; add
/// (t2 t3), (t4 t5), ... and (t2k t1); t3, t5, ... are candidates of t2, t4, ..., and every partial sum of removed
/// minus added costs is positive. Nodes wait in a queue until nothing starting from them improves.
template <typename CostFunction>
class KOptSearch {
 public:
  using Cost = Problem::Cost;
  using Length = Problem::Length;

  /// `candidates` holds rows of equal length, each sorted by cost.
  KOptSearch(CostFunction cost, std::vector<Candidate> candidates, std::span<const NodeId> order, KOptParams params)
      : cost_(std::move(cost)),
        candidates_(std::move(candidates)),
        per_node_(candidates_.size() / order.size()),
        tour_(order),
        params_(params),
        is_queued_(order.size(), 0) {
    assert(params.max_edges <= kMaxMoveEdges);
  }

  [[nodiscard]] const ArrayTour& tour() const { return tour_; }
  [[nodiscard]] ArrayTour& tour() { return tour_; }
  [[nodiscard]] Cost cost(NodeId i, NodeId j) const { return cost_(i, j); }

  void push(NodeId node) {
    if (is_queued_[index(node)] != 0) return;
    is_queued_[index(node)] = 1;
    queue_.push_back(node);
  }

  /// Improves until the queue is empty; returns by how much the tour became shorter.
  Length descend() {
    Length total = 0;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const NodeId t1 = queue_[head];
      is_queued_[index(t1)] = 0;
      while (const Length gain = improve_from(t1)) total += gain;
      // Long descents would otherwise keep all nodes ever queued.
      if (head > 100000) {
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head) + 1);
        head = static_cast<std::size_t>(-1);
      }
    }
    queue_.clear();
    return total;
  }

 private:
  static std::size_t index(NodeId node) { return static_cast<std::size_t>(node); }

  // --- The frame of a move: t2 is at place 0, t1 at place n - 1, whichever direction that is in the array. ---

  [[nodiscard]] NodeId place(NodeId node) const {
    const NodeId p = mirrored_ ? anchor_ - tour_.position(node) : tour_.position(node) - anchor_;
    return p < 0 ? p + tour_.size() : p;
  }
  [[nodiscard]] NodeId successor(NodeId node) const { return mirrored_ ? tour_.previous(node) : tour_.next(node); }
  [[nodiscard]] NodeId predecessor(NodeId node) const { return mirrored_ ? tour_.next(node) : tour_.previous(node); }

  /// One removed edge beyond the first: it joined the places `cut` and `cut + 1`.
  struct Removed {
    NodeId cut;
    bool enters_right;  // t3 (t5, ...) is the right end, at `cut + 1`, and t4 the left one
  };

  /// A way to go on: remove the edge from `near` (a candidate of the last node) to `far`.
  struct Continuation {
    Length gain;  // removed minus added costs, the new removed edge included
    NodeId far;
    NodeId near;
    Removed removed;
  };

  Length improve_from(NodeId t1) {
    for (const bool mirrored : {false, true}) {
      mirrored_ = mirrored;
      t1_ = t1;
      const NodeId t2 = successor(t1);
      anchor_ = tour_.position(t2);
      nodes_[0] = t1;
      nodes_[1] = t2;
      if (const Length gain = extend(1, t2, cost_(t1, t2))) return gain;
    }
    return 0;
  }

  /// Tries to complete the partial move that has removed `num_removed` edges, ends in `last` and has gained `gain`.
  /// Returns the gain of the move made, 0 if there is none.
  Length extend(int num_removed, NodeId last, Length gain) {
    std::array<Continuation, 2 * kMaxCandidates> ways;
    int num_ways = 0;
    const int breadth = params_.breadth[static_cast<std::size_t>(num_removed - 1)];
    const bool is_last = num_removed + 1 >= params_.max_edges;
    const NodeId before_last = predecessor(last);
    const NodeId after_last = successor(last);
    const Candidate* row = candidates_.data() + index(last) * per_node_;
    const Candidate* row_end = row + std::min(per_node_, kMaxCandidates);
    for (const Candidate* c = row; c != row_end; ++c) {
      const Length open_gain = gain - c->cost;
      if (open_gain <= 0) break;
      const NodeId near = c->node;
      if (near == before_last || near == after_last) continue;
      const NodeId near_place = place(near);
      for (const bool enters_right : {true, false}) {
        const NodeId cut = enters_right ? near_place - 1 : near_place;
        if (cut < 0 || cut == tour_.size() - 1 || is_cut(num_removed, cut)) continue;
        const NodeId far = enters_right ? predecessor(near) : successor(near);
        const Length new_gain = open_gain + cost_(near, far);
        const Length closed_gain = new_gain - cost_(far, t1_);
        removed_[num_removed] = {cut, enters_right};
        if (closed_gain > 0 && is_tour(num_removed + 1)) {
          nodes_[2 * num_removed] = near;
          nodes_[2 * num_removed + 1] = far;
          make_move(num_removed + 1, closed_gain);
          return closed_gain;
        }
        if (!is_last) ways[num_ways++] = {new_gain, far, near, {cut, enters_right}};
      }
    }
    if (is_last) return 0;
    const int tried = std::min(breadth, num_ways);
    for (int w = 0; w < tried; ++w) {
      auto best = std::max_element(ways.begin() + w, ways.begin() + num_ways,
                                   [](const auto& a, const auto& b) { return a.gain < b.gain; });
      std::swap(ways[w], *best);
      removed_[num_removed] = ways[w].removed;
      nodes_[2 * num_removed] = ways[w].near;
      nodes_[2 * num_removed + 1] = ways[w].far;
      if (const Length made = extend(num_removed + 1, ways[w].far, ways[w].gain)) return made;
    }
    return 0;
  }

  [[nodiscard]] bool is_cut(int num_removed, NodeId cut) const {
    for (int i = 1; i < num_removed; ++i) {
      if (removed_[i].cut == cut) return true;
    }
    return false;
  }

  // The k removed edges leave k segments. Their ends are numbered along the tour: 2s and 2s + 1 are the left and right
  // end of segment s, so t2 is end 0 and t1 is end 2k - 1.
  // mate_[e] is the end to which an added edge leads from e.
  void find_mates(int k) {
    std::array<int, kMaxMoveEdges> rank;
    for (int i = 1; i < k; ++i) {
      rank[i] = 1;
      for (int j = 1; j < k; ++j) rank[i] += removed_[j].cut < removed_[i].cut ? 1 : 0;
    }
    int open_end = 0;
    for (int i = 1; i < k; ++i) {
      const int left_end = 2 * rank[i] - 1;  // the right end of the segment on the left of the cut
      const int right_end = 2 * rank[i];
      const int near = removed_[i].enters_right ? right_end : left_end;
      mate_[open_end] = near;
      mate_[near] = open_end;
      open_end = removed_[i].enters_right ? left_end : right_end;
    }
    mate_[open_end] = 2 * k - 1;
    mate_[2 * k - 1] = open_end;
  }

  /// Whether closing up after k removed edges gives one cycle.
  bool is_tour(int k) {
    if (k == 2) return removed_[1].enters_right;
    find_mates(k);
    int visited = 0;
    int end = 2 * k - 1;
    do {
      end = mate_[end] ^ 1;
      ++visited;
    } while (end != 2 * k - 1);
    return visited == k;
  }

  void make_move(int k, [[maybe_unused]] Length gain) {
    [[maybe_unused]] const Length length_before = checked_length();
    find_mates(k);
    std::array<NodeId, kMaxMoveEdges> cuts;
    for (int i = 1; i < k; ++i) cuts[i - 1] = removed_[i].cut;
    std::sort(cuts.begin(), cuts.begin() + (k - 1));
    cuts[k - 1] = tour_.size() - 1;
    std::array<ArrayTour::Piece, kMaxMoveEdges> pieces;
    int end = 2 * k - 1;
    for (int visited = 0; visited < k; ++visited) {
      const int entered = mate_[end];
      const int segment = entered / 2;
      const NodeId first = segment == 0 ? 0 : cuts[segment - 1] + 1;
      const NodeId last = cuts[segment];
      const bool backwards = (entered & 1) != 0;
      pieces[visited] = {wrapped(mirrored_ ? anchor_ - last : anchor_ + first), last - first + 1,
                         backwards != mirrored_};
      end = entered ^ 1;
    }
    tour_.rearrange({pieces.data(), static_cast<std::size_t>(k)});
    assert(tour_.size() > kMaxCheckedNodes || length_before - checked_length() == gain);
    for (int i = 0; i < 2 * k; ++i) push(nodes_[i]);
  }

  // Debug builds compare every gain with the recomputed length where that is cheap.
  static constexpr NodeId kMaxCheckedNodes = 1000;
  [[nodiscard]] Length checked_length() const {
    Length sum = 0;
#ifndef NDEBUG
    for (NodeId p = 0; tour_.size() <= kMaxCheckedNodes && p < tour_.size(); ++p)
      sum += cost_(tour_.at(p), tour_.at(p + 1));
#endif
    return sum;
  }

  [[nodiscard]] NodeId wrapped(NodeId position) const {
    if (position < 0) return position + tour_.size();
    return position >= tour_.size() ? position - tour_.size() : position;
  }

  CostFunction cost_;
  std::vector<Candidate> candidates_;
  std::size_t per_node_;
  ArrayTour tour_;
  KOptParams params_;
  std::vector<NodeId> queue_;
  std::vector<char> is_queued_;

  // The move under construction.
  bool mirrored_ = false;
  NodeId anchor_ = 0;
  NodeId t1_ = 0;
  std::array<Removed, kMaxMoveEdges> removed_{};
  std::array<NodeId, 2 * kMaxMoveEdges> nodes_{};
  std::array<int, 2 * kMaxMoveEdges> mate_{};
};

}  // namespace puretour
