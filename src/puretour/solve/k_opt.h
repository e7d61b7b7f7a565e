// Sequential k-opt local search in the manner of Lin and Kernighan, with moves evaluated before the tour is touched.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "puretour/solve/array_tour.h"
#include "puretour/solve/problem.h"

namespace puretour {

/// A candidate neighbour with its cost beside it.
struct Candidate {
  NodeId node;
  Problem::Cost cost;
};

/// Costs as the search sees them: those of the problem times a whole factor, plus a penalty for each of the two nodes.
/// Penalties change no comparison of two tours, but they change which partial moves look promising.
struct CostShift {
  Problem::Cost factor = 1;
  std::vector<Problem::Cost> penalties;  // of each node; empty: all zero
};

/// Shifted costs of rounded Euclidean distances, computed in place: faster than a table that does not fit the cache.
class EuclideanCost {
 public:
  /// Whether the costs of a problem are of this kind.
  static bool fits(const Problem& problem) {
    return problem.metric() == Metric::kEuclidean || problem.metric() == Metric::kEuc2d;
  }

  /// Node i of the search is nodes[i] of the problem; penalties are by node of the search.
  EuclideanCost(const Problem& problem, std::span<const NodeId> nodes, const CostShift& shift)
      : scale_(problem.scale()), factor_(shift.factor) {
    sites_.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Point p = problem.points()[static_cast<std::size_t>(nodes[i])];
      sites_.push_back({p, shift.penalties.empty() ? 0 : shift.penalties[i]});
    }
  }

  // Half of the running time is spent here; compilers find it too large to inline by themselves.
  [[gnu::always_inline]] Problem::Cost operator()(NodeId i, NodeId j) const {
    const Site& a = sites_[static_cast<std::size_t>(i)];
    const Site& b = sites_[static_cast<std::size_t>(j)];
    const double squared = squared_distance(a.point, b.point);
    if (squared < 0) __builtin_unreachable();  // spares the check for the error number of sqrt
    return static_cast<Problem::Cost>(std::sqrt(squared) * scale_ + 0.5) * factor_ + a.penalty + b.penalty;
  }

 private:
  struct Site {
    Point point;
    Problem::Cost penalty;
  };
  std::vector<Site> sites_;
  double scale_;
  Problem::Cost factor_;
};

/// Shifted costs of any metric, asked from the problem.
class ProblemCost {
 public:
  ProblemCost(const Problem& problem, std::span<const NodeId> nodes, const CostShift& shift)
      : problem_(&problem), nodes_(nodes.begin(), nodes.end()), penalties_(shift.penalties), factor_(shift.factor) {
    penalties_.resize(nodes.size());
  }

  Problem::Cost operator()(NodeId i, NodeId j) const {
    const auto a = static_cast<std::size_t>(i);
    const auto b = static_cast<std::size_t>(j);
    return problem_->cost(nodes_[a], nodes_[b]) * factor_ + penalties_[a] + penalties_[b];
  }

 private:
  const Problem* problem_;
  std::vector<NodeId> nodes_;
  std::vector<Problem::Cost> penalties_;
  Problem::Cost factor_;
};

/// Below this many nodes there are too few edges for the moves; use exact_tour().
inline constexpr NodeId kMinMoveNodes = 5;

/// The most edges that one step of a move exchanges.
inline constexpr int kMaxStepEdges = 6;
/// Two ends of each of them.
inline constexpr std::size_t kMaxStepNodes = 2UL * kMaxStepEdges;

struct KOptParams {
  /// Edges that one step may exchange: 2 is 2-opt, 3 is 3-opt.
  int step_edges = 5;
  /// How many continuations are tried from a partial step with 1, 2, 3, ... edges removed.
  std::array<int, kMaxStepEdges - 1> breadth = {5, 3, 2, 1, 1};
  /// How many further steps follow one that does not yet pay off; this is what makes it Lin-Kernighan.
  int further_steps = 10;
};

/// Improves a tour of nodes 0 .. n - 1 by moves t1 t2 t3 ... t2k: remove the tour edges (t1 t2), (t3 t4), ...; add
/// (t2 t3), (t4 t5), ... and (t2k t1); t3, t5, ... are candidates of t2, t4, ..., and every partial sum of removed
/// minus added costs is positive. A step tries all combinations of a few edges without touching the tour. If none
/// makes the tour shorter, the best one that still gives a tour is made tentatively and the move goes on from its end
/// (Lin and Kernighan 1973; steps of several edges: Helsgaun 2000). Nodes wait in a queue until nothing starting from
/// them improves.
template <typename CostFunction>
class KOptSearch {
 public:
  using Cost = Problem::Cost;
  using Length = Problem::Length;

  KOptSearch(CostFunction cost, std::span<const NodeId> order)
      : cost_(std::move(cost)), tour_(order), is_queued_(order.size(), 0), num_kept_edges_(order.size(), 0) {}

  /// Rows of equal length, one for each node, each sorted by cost, with costs as cost() gives them.
  void set_candidates(std::vector<Candidate> rows) {
    candidates_ = std::move(rows);
    per_node_ = candidates_.size() / is_queued_.size();
  }

  /// A tour edge that no move may remove. Each node can have one.
  void fix_edge(NodeId a, NodeId b) {
    if (fixed_mate_.empty()) fixed_mate_.assign(is_queued_.size(), kNone);
    fixed_mate_[index(a)] = b;
    fixed_mate_[index(b)] = a;
    ++num_kept_edges_[index(a)];
    ++num_kept_edges_[index(b)];
  }
  /// All fixed edges of a problem (see Problem::fixed_mates) whose nodes are those of the search.
  void fix_edges(std::span<const NodeId> mates) {
    for (std::size_t i = 0; i < mates.size(); ++i) {
      if (static_cast<NodeId>(i) < mates[i]) fix_edge(static_cast<NodeId>(i), mates[i]);
    }
  }
  [[nodiscard]] bool is_fixed(NodeId a, NodeId b) const { return !fixed_mate_.empty() && fixed_mate_[index(a)] == b; }

  [[nodiscard]] const ArrayTour& tour() const { return tour_; }
  [[nodiscard]] ArrayTour& tour() { return tour_; }
  [[nodiscard]] Cost cost(NodeId i, NodeId j) const { return cost_(i, j); }

  void push(NodeId node) {
    if (is_queued_[index(node)] != 0) return;
    is_queued_[index(node)] = 1;
    queue_.push_back(node);
  }

  /// Improves until the queue is empty; returns by how much the tour became shorter. With `enough`, also ends when the
  /// gain is exactly that: after a kick that lost as much, it has been undone, and nothing more is to be found.
  Length descend(const KOptParams& params, std::optional<Length> enough = {}) {
    return descend(params, enough, [] { return false; });
  }

  /// The same, but forgets the rest of the queue when stop(), asked now and then, becomes true.
  template <typename Stop>
  Length descend(const KOptParams& params, std::optional<Length> enough, Stop stop) {
    static_assert(kMaxStepEdges == 6, "make_full_step() lists the sizes");
    assert(2 <= params.step_edges && params.step_edges <= kMaxStepEdges);
    params_ = params;
    Length total = 0;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const NodeId t1 = queue_[head];
      is_queued_[index(t1)] = 0;
      while (const Length gain = improve_from(t1)) {
        total += gain;
        if (total == enough) break;
      }
      constexpr std::size_t kNodesPerLook = 256;
      if (total == enough || (head % kNodesPerLook == 0 && stop())) {
        for (const NodeId node : queue_) is_queued_[index(node)] = 0;
        break;
      }
    }
    queue_.clear();
    return total;
  }

 private:
  /// A removed edge, from the position `edge` in the array to the next one.
  struct Removed {
    NodeId edge;
    bool
        enters_right;  // t3 (t5, ...) is the end at `edge + 1`, and t4 the one at `edge`; for t1 t2: t2 is on the right
  };

  /// Removed edges (t1 t2), (t3 t4), ...
  struct Step {
    Length gain = 0;  // removed minus added costs, the closing edge not yet added
    int num_removed = 0;
    std::array<Removed, kMaxStepEdges> removed;
    std::array<NodeId, kMaxStepNodes> nodes;
  };

  /// A way to go on: add the edge to `near`, a candidate of the last node, and remove the one from there to `far`.
  struct Continuation {
    Length gain;
    NodeId near;
    NodeId far;
    Removed removed;
  };

  static std::size_t index(NodeId node) { return static_cast<std::size_t>(node); }

  Length improve_from(NodeId t1) {
    for (const bool forwards : {true, false}) {
      [[maybe_unused]] const Length length_before = checked_length();
      const std::size_t mark = tour_.mark();
      NodeId t2 = forwards ? tour_.next(t1) : tour_.previous(t1);
      if (is_fixed(t1, t2)) continue;
      Length open_gain = cost_(t1, t2);
      Length gain = 0;
      for (int steps_left = params_.further_steps;; --steps_left) {
        step_.num_removed = 1;
        step_.nodes[0] = t1;
        step_.nodes[1] = t2;
        const bool t2_right = tour_.next(t1) == t2;
        step_.removed[0] = {tour_.position(t2_right ? t1 : t2), t2_right};
        best_open_.gain = 0;
        gain = extend<1>(t2, open_gain);
        if (gain > 0 || steps_left == 0 || best_open_.gain == 0) break;
        step_ = best_open_;
        make_full_step();
        // Added edges stay for the rest of the move, or it might run in circles.
        for (int i = 1; i + 1 < 2 * step_.num_removed; i += 2) {
          added_.push_back({step_.nodes[i], step_.nodes[i + 1]});
          ++num_kept_edges_[index(step_.nodes[i])];
          ++num_kept_edges_[index(step_.nodes[i + 1])];
        }
        t2 = step_.nodes[2 * step_.num_removed - 1];
        open_gain = step_.gain;
      }
      for (const auto& [a, b] : added_) {
        --num_kept_edges_[index(a)];
        --num_kept_edges_[index(b)];
        if (gain > 0) {
          push(a);
          push(b);
        }
      }
      added_.clear();
      if (gain > 0) {
        assert(tour_.size() > kMaxCheckedNodes || length_before - checked_length() == gain);
        for (int i = 0; i < 2 * step_.num_removed; ++i) push(step_.nodes[i]);
        return gain;
      }
      tour_.rollback_to(mark);
    }
    return 0;
  }

  /// Tries to complete the step that has removed `num_removed` edges, ends in `last` and has gained `gain`. Makes the
  /// first improvement found and returns its gain; 0 if there is none, and then best_open_ may have become better.
  /// The depth is known at compile time, which unrolls the small loops.
  template <int num_removed>
  Length extend(NodeId last, Length gain) {
    const bool is_last = num_removed + 1 == params_.step_edges;
    const int breadth = params_.breadth[num_removed - 1];
    const NodeId t1 = step_.nodes[0];
    std::array<Continuation, kMaxBreadth + 1> ways;
    int num_ways = 0;
    const Candidate* const row = candidates_.data() + index(last) * per_node_;
    for (const Candidate* candidate = row; candidate != row + per_node_; ++candidate) {
      const Length open_gain = gain - candidate->cost;
      if (open_gain <= 0) break;
      const NodeId near = candidate->node;
      const NodeId position = tour_.position(near);
      const NodeId left = tour_.at(position - 1);
      const NodeId right = tour_.at(position + 1);
      if (left == last || right == last) continue;
      for (const bool enters_right : {true, false}) {
        const NodeId far = enters_right ? left : right;
        const NodeId edge = !enters_right ? position : position > 0 ? position - 1 : tour_.size() - 1;
        if (is_removed<num_removed>(edge)) continue;
        if (num_kept_edges_[index(near)] != 0 && is_kept(near, far)) continue;
        const Length new_gain = open_gain + cost_(near, far);
        const Length closed_gain = new_gain - cost_(far, t1);
        const bool improves = closed_gain > 0;
        if (improves || (is_last && new_gain > best_open_.gain)) {
          step_.gain = new_gain;
          step_.num_removed = num_removed + 1;
          step_.nodes[2 * num_removed] = near;
          step_.nodes[2 * num_removed + 1] = far;
          step_.removed[num_removed] = {edge, enters_right};
          if (gives_tour<num_removed + 1>()) {
            if (improves) {
              make_step<num_removed + 1>();
              return closed_gain;
            }
            best_open_ = step_;
          }
        }
        if (is_last) continue;
        // Keep the best ways in order.
        int w = num_ways;
        for (; w > 0 && ways[w - 1].gain < new_gain; --w) ways[w] = ways[w - 1];
        ways[w] = {new_gain, near, far, {edge, enters_right}};
        num_ways = std::min(num_ways + 1, breadth);
      }
    }
    if constexpr (num_removed + 1 < kMaxStepEdges) {
      for (int w = 0; w < num_ways; ++w) {
        step_.nodes[2 * num_removed] = ways[w].near;
        step_.nodes[2 * num_removed + 1] = ways[w].far;
        step_.removed[num_removed] = ways[w].removed;
        if (const Length made = extend<num_removed + 1>(ways[w].far, ways[w].gain)) return made;
      }
    }
    return 0;
  }

  template <int num_removed>
  [[nodiscard]] bool is_removed(NodeId edge) const {
    for (int i = 0; i < num_removed; ++i) {
      if (step_.removed[i].edge == edge) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_kept(NodeId a, NodeId b) const {
    return is_fixed(a, b) || std::any_of(added_.begin(), added_.end(), [&](const std::array<NodeId, 2>& edge) {
             return (edge[0] == a && edge[1] == b) || (edge[0] == b && edge[1] == a);
           });
  }

  // The k removed edges leave k segments, counted from the right end of the edge t1 t2 on; segment s begins
  // begins_[s] positions after that end. 2s and 2s + 1 are its left and right end; mate_[e] is the end to which an
  // added edge leads from e.
  template <int k>
  void find_segments() {
    std::array<NodeId, kMaxStepEdges> offset{};
    for (int i = 1; i < k; ++i) {
      offset[i] = step_.removed[i].edge - step_.removed[0].edge;
      if (offset[i] < 0) offset[i] += tour_.size();
    }
    begins_[0] = 0;
    int open_end = step_.removed[0].enters_right ? 0 : 2 * k - 1;  // t2
    const int last_end = 2 * k - 1 - open_end;                     // t1
    for (int i = 1; i < k; ++i) {
      int rank = 1;
      for (int j = 1; j < k; ++j) rank += offset[j] < offset[i] ? 1 : 0;
      begins_[rank] = offset[i];
      const int near = 2 * rank - (step_.removed[i].enters_right ? 0 : 1);
      mate_[open_end] = near;
      mate_[near] = open_end;
      open_end = 4 * rank - 1 - near;
    }
    mate_[open_end] = last_end;
    mate_[last_end] = open_end;
  }

  /// Whether closing up the step gives one cycle.
  template <int k>
  bool gives_tour() {
    if (k == 2) return step_.removed[1].enters_right == step_.removed[0].enters_right;
    find_segments<k>();
    int num_visited = 0;
    int end = 0;
    do {
      end = mate_[end] ^ 1;
      ++num_visited;
    } while (end != 0);
    return num_visited == k;
  }

  template <int k>
  void make_step() {
    find_segments<k>();
    const NodeId n = tour_.size();
    std::array<ArrayTour::Piece, kMaxStepEdges> pieces;
    int end = 0;
    for (int i = 0; i < k; ++i) {
      end = mate_[end];
      const int s = end / 2;
      const NodeId length = (s + 1 < k ? begins_[s + 1] : n) - begins_[s];
      NodeId begin = begins_[s] + step_.removed[0].edge + 1;
      if (begin >= n) begin -= n;
      pieces[i] = {begin, length, (end & 1) != 0};
      end ^= 1;
    }
    tour_.rearrange({pieces.data(), static_cast<std::size_t>(k)});
  }

  void make_full_step() {
    switch (step_.num_removed) {
      case 2:
        return make_step<2>();
      case 3:
        return make_step<3>();
      case 4:
        return make_step<4>();
      case 5:
        return make_step<5>();
      default:
        return make_step<6>();
    }
  }

  // Debug builds compare every gain with the recomputed length where that is cheap; 0 elsewhere.
  [[nodiscard]] Length checked_length() const {
    Length sum = 0;
#ifndef NDEBUG
    for (NodeId p = 0; tour_.size() <= kMaxCheckedNodes && p < tour_.size(); ++p) {
      sum += cost_(tour_.at(p), tour_.at(p + 1));
    }
#endif
    return sum;
  }

  static constexpr NodeId kNone = -1;
  static constexpr NodeId kMaxCheckedNodes = 60;
  static constexpr int kMaxBreadth = 16;

  CostFunction cost_;
  std::vector<Candidate> candidates_;
  std::size_t per_node_ = 0;
  ArrayTour tour_;
  KOptParams params_;
  std::vector<NodeId> queue_;
  std::vector<char> is_queued_;

  Step step_;       // under construction
  Step best_open_;  // the best step of full size that gives a tour, though not a shorter one
  std::array<NodeId, kMaxStepEdges> begins_{};
  std::array<int, kMaxStepNodes> mate_{};
  std::vector<std::array<NodeId, 2>> added_;  // by earlier steps of the move
  std::vector<NodeId> fixed_mate_;            // empty if no edge is fixed
  std::vector<std::int8_t> num_kept_edges_;   // fixed or added ones, at each node
};

}  // namespace puretour
