// SPDX-License-Identifier: MIT
#include "puretour/solve/local_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/rng.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/exact.h"
#include "puretour/solve/k_opt.h"
#include "puretour/solve/landscape.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using Cost = Problem::Cost;
using Length = Problem::Length;

constexpr NodeId kNone = -1;

// A double bridge needs three segments and a rest; below this the dynamic program is as fast.
constexpr NodeId kMinKickNodes = 8;
// Longest segment of a kick. Shorter ones are mostly repaired to the tour they came from, longer ones cost more.
constexpr NodeId kMaxKickSegment = 70;
// Nodes of a cell. A descent from a poor tour runs along the borders of its cell, which is hard to repair later, so
// these are as large as the array tour bears. Kicks start from a good tour and want data that fit the cache.
constexpr NodeId kDescentCellNodes = 150000;
constexpr NodeId kKickCellNodes = 10000;
// How often the clock is read.
constexpr std::int64_t kKicksPerLook = 10;

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

/// Counts kicks, watches the clock and reports.
class Limits {
 public:
  Limits(const LocalSearchOptions& options, NodeId n, Length start_length)
      : options_(options), best_(start_length), reported_(start_length) {
    if (options.max_kicks >= 0) {
      kicks_left_ = options.max_kicks;
    } else if (options.deadline.seconds_left() == std::numeric_limits<double>::infinity()) {
      kicks_left_ = 10 * std::int64_t{n};
    }
  }

  [[nodiscard]] std::int64_t kicks() const { return kicks_; }
  [[nodiscard]] std::int64_t kicks_left() const { return kicks_left_; }
  [[nodiscard]] bool is_timed() const { return options_.deadline.seconds_left() < 1e9; }
  [[nodiscard]] double seconds_left() const { return options_.deadline.seconds_left(); }

  void count_kick() {
    ++kicks_;
    --kicks_left_;
  }
  [[nodiscard]] bool out_of_time() const { return options_.deadline.expired(); }
  /// Looks at the clock and reports.
  [[nodiscard]] bool expired() {
    if (options_.progress && best_ < reported_) {
      reported_ = best_;
      options_.progress({best_, kicks_, std::chrono::duration<double>(Clock::now() - start_).count()});
    }
    return kicks_left_ <= 0 || out_of_time();
  }
  /// Looks at the clock now and then.
  [[nodiscard]] bool expired_at_kick() { return kicks_left_ <= 0 || (kicks_ % kKicksPerLook == 0 && expired()); }
  void see_length(Length length) { best_ = std::min(best_, length); }

 private:
  using Clock = Deadline::Clock;
  const LocalSearchOptions& options_;
  Clock::time_point start_ = Clock::now();
  std::int64_t kicks_ = 0;
  std::int64_t kicks_left_ = std::numeric_limits<std::int64_t>::max();
  Length best_;
  Length reported_;
};

/// A search over some of the nodes: all of them, or those of a cell.
template <typename CostFunction>
class KickSearch {
 public:
  /// `order` is a tour of the local nodes; local node i is node nodes[i] of the landscape, local_name the inverse
  /// (kNone for nodes that do not take part).
  KickSearch(const Landscape& landscape, std::span<const NodeId> nodes, std::span<const NodeId> local_name,
             std::span<const NodeId> order)
      : factor_(landscape.shift.factor),
        search_(make_search<CostFunction>(landscape, nodes, local_name, order)),
        longest_segment_(std::min<NodeId>(kMaxKickSegment, (static_cast<NodeId>(order.size()) - 1) / 3)) {}

  KOptSearch<CostFunction>& search() { return search_; }
  [[nodiscard]] std::span<const NodeId> order() const { return search_.tour().order(); }

  /// Repairs everything that is queued, if time allows; returns the gain in costs of the problem.
  Length descend(Limits& limits) {
    const Length gain = search_.descend(KOptParams{}, std::nullopt, [&] {
      search_.tour().commit();  // or the record for undoing would outgrow the tour
      return limits.out_of_time();
    });
    search_.tour().commit();
    return gain / factor_;
  }

  /// Disturbs the tour at a random place and repairs it; returns the gain in costs of the problem, 0 if there was none.
  Length kick(Rng& rng) {
    const Length loss = disturb(rng);
    const Length change = search_.descend(KOptParams{}, loss) - loss;
    if (change < 0) {
      search_.tour().rollback();
      return 0;
    }
    search_.tour().commit();
    return change / factor_;
  }

  /// Disturbs the tour at many places at once, for good; returns the loss after repair (negative: a gain).
  Length shake(int num_kicks, Rng& rng) {
    Length loss = 0;
    for (int i = 0; i < num_kicks; ++i) loss += disturb(rng);
    loss -= search_.descend(KOptParams{});
    search_.tour().commit();
    return loss / factor_;
  }

 private:
  /// Double bridge: three neighbouring segments B C D become D C B. Returns the loss; queues the ends.
  Length disturb(Rng& rng) {
    const ArrayTour& tour = search_.tour();
    const NodeId n = tour.size();
    constexpr int kAttempts = 20;  // against places full of fixed edges
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::array<NodeId, 4> begin;  // of B, C, D and the rest
      begin[0] = static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(n)));
      NodeId total = 0;
      std::array<NodeId, 3> length;
      for (std::size_t i = 0; i < 3; ++i) {
        length[i] = 1 + static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(longest_segment_)));
        total += length[i];
        begin[i + 1] = (begin[i] + length[i]) % n;
      }
      std::array<NodeId, 4> left;   // the nodes before ...
      std::array<NodeId, 4> right;  // ... and after each removed edge
      bool is_fixed = false;
      Length loss = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        left[i] = tour.at(begin[i] - 1);
        right[i] = tour.at(begin[i]);
        is_fixed = is_fixed || search_.is_fixed(left[i], right[i]);
        loss -= search_.cost(left[i], right[i]);
      }
      if (is_fixed) continue;
      loss += search_.cost(left[0], right[2]) + search_.cost(left[3], right[1]) + search_.cost(left[2], right[0]) +
              search_.cost(left[1], right[3]);
      std::array<ArrayTour::Piece, 4> pieces = {{{begin[2], length[2], false},
                                                 {begin[1], length[1], false},
                                                 {begin[0], length[0], false},
                                                 {begin[3], n - total, false}}};
      search_.tour().rearrange(pieces);
      for (std::size_t i = 0; i < 4; ++i) {
        search_.push(left[i]);
        search_.push(right[i]);
      }
      return loss;
    }
    return 0;
  }

  Length factor_;
  KOptSearch<CostFunction> search_;
  NodeId longest_segment_;
};

/// Improves the whole tour at once.
template <typename CostFunction>
void search_whole(const Landscape& landscape, std::vector<NodeId>& order, Length& length, Limits& limits, Rng& rng) {
  const auto n = static_cast<NodeId>(order.size());
  const Tour identity = Tour::identity(order.size());
  KickSearch<CostFunction> search(landscape, identity.order(), identity.order(), order);
  for (NodeId node = 0; node < n; ++node) search.search().push(node);
  length -= search.descend(limits);
  limits.see_length(length);
  const auto keep = [&] { order.assign(search.order().begin(), search.order().end()); };
  keep();
  // Without success for long, most kicks in reach have been tried. Shake the tour and try to do better from there.
  const std::int64_t patience = std::int64_t{n} + 100;
  std::int64_t last_gain = 0;
  Length current = length;
  while (!limits.expired_at_kick()) {
    const Length gain = search.kick(rng);
    limits.count_kick();
    current -= gain;
    if (gain > 0) last_gain = limits.kicks();
    if (current < length) limits.see_length(current);
    if (limits.kicks() - last_gain > patience) {
      if (current < length) {
        keep();
        length = current;
      }
      current += search.shake(1 + n / 30, rng);
      last_gain = limits.kicks();
    }
  }
  if (current < length) {
    keep();
    length = current;
  }
}

/// Improves a long tour in cells: sets of near nodes. Outside its cell the tour is made of paths that lead from one
/// node of the cell to another; each is one fixed edge for the search.
template <typename CostFunction>
class CellSearch {
 public:
  CellSearch(const Landscape& landscape, std::vector<NodeId>& order, Length& length, Limits& limits, Rng& rng)
      : landscape_(landscape),
        order_(order),
        length_(length),
        limits_(limits),
        rng_(rng),
        position_(order.size()),
        local_name_(order.size(), kNone),
        cell_of_(order.size(), 0) {
    find_positions();
  }

  void run() {
    // One descent everywhere, then along the borders of the first cells, then kicks.
    for (const bool is_first : {true, false}) {
      const std::vector<std::vector<NodeId>> cells = make_cells(kDescentCellNodes);
      if (!is_first && cells.size() == 1) break;
      for (const std::vector<NodeId>& cell : cells) {
        if (limits_.out_of_time()) return;
        search_cell(cell, 0, is_first);
      }
      for (std::size_t c = 0; c < cells.size(); ++c) {
        for (const NodeId node : cells[c]) cell_of_[at(node)] = static_cast<NodeId>(c);
      }
    }
    while (!limits_.expired()) {
      for (const std::vector<NodeId>& cell : make_cells(kKickCellNodes)) {
        if (limits_.expired()) return;
        search_cell(cell, kicks_for(cell.size()), false);
      }
    }
  }

 private:
  // Random rectangles, new ones each time, so that no border stays.
  std::vector<std::vector<NodeId>> make_cells(NodeId max_nodes) {
    std::vector<std::vector<NodeId>> cells;
    std::vector<NodeId> all(order_.size());
    std::iota(all.begin(), all.end(), 0);
    split(all, at(max_nodes), cells);
    return cells;
  }

  void split(std::span<NodeId> nodes, std::size_t max_nodes, std::vector<std::vector<NodeId>>& cells) {
    if (nodes.size() <= max_nodes) {
      cells.emplace_back(nodes.begin(), nodes.end());
      std::sort(cells.back().begin(), cells.back().end());  // along the curve again
      return;
    }
    const auto point = [&](NodeId node) { return landscape_.problem->points()[at(landscape_.names[at(node)])]; };
    Box box;
    for (const NodeId node : nodes) box.add(point(node));
    const bool by_x = box.width() >= box.height();
    const auto middle = static_cast<std::size_t>((0.35 + 0.3 * rng_.uniform()) * static_cast<double>(nodes.size()));
    std::nth_element(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(middle), nodes.end(),
                     [&](NodeId a, NodeId b) {
                       const double key_a = by_x ? point(a).x : point(a).y;
                       const double key_b = by_x ? point(b).x : point(b).y;
                       return key_a != key_b ? key_a < key_b : a < b;
                     });
    split(nodes.first(middle), max_nodes, cells);
    split(nodes.subspan(middle), max_nodes, cells);
  }

  // Kicks are spread over at least two rounds of cells, so that borders get their share.
  std::int64_t kicks_for(std::size_t cell_size) {
    auto total = static_cast<double>(limits_.kicks_left());
    if (limits_.is_timed()) {
      // The first guess may be wrong by a few times; it is corrected while we go.
      const double rate = kick_seconds_ > 0 ? static_cast<double>(limits_.kicks()) / kick_seconds_ : 2000;
      total = std::min(total, rate * limits_.seconds_left());
    }
    const double per_node = std::clamp(total / static_cast<double>(order_.size()) / 2, 0.05, 1.0);
    return static_cast<std::int64_t>(std::ceil(per_node * static_cast<double>(cell_size)));
  }

  void search_cell(std::span<const NodeId> cell, std::int64_t num_kicks, bool queue_all) {
    // Nodes could not move if each of their two tour edges leads outside or is fixed: they belong to the paths outside.
    for (const NodeId node : cell) local_name_[at(node)] = 0;
    const auto n = static_cast<NodeId>(order_.size());
    const auto wrapped = [n](NodeId p) { return p < 0 ? p + n : p >= n ? p - n : p; };
    const auto is_free = [&](NodeId p, NodeId mate) {
      const NodeId neighbour = order_[at(wrapped(p))];
      return local_name_[at(neighbour)] != kNone && neighbour != mate;
    };
    std::vector<NodeId> nodes;
    for (const NodeId node : cell) {
      const NodeId p = position_[at(node)];
      const NodeId mate = landscape_.fixed_mate(node);
      if (is_free(p - 1, mate) || is_free(p + 1, mate)) nodes.push_back(node);
    }
    for (const NodeId node : cell) local_name_[at(node)] = kNone;
    if (nodes.size() >= at(kMinKickNodes)) {
      for (std::size_t i = 0; i < nodes.size(); ++i) local_name_[at(nodes[i])] = static_cast<NodeId>(i);
      search_nodes(nodes, num_kicks, queue_all);
      for (const NodeId node : nodes) local_name_[at(node)] = kNone;
    }
  }

  void search_nodes(std::span<const NodeId> nodes, std::int64_t num_kicks, bool queue_all) {
    const auto n = static_cast<NodeId>(order_.size());
    std::vector<NodeId> visits(nodes.size());  // positions in the tour, in increasing order
    for (std::size_t i = 0; i < nodes.size(); ++i) visits[i] = position_[at(nodes[i])];
    std::sort(visits.begin(), visits.end());
    std::vector<NodeId> local_order;
    local_order.reserve(nodes.size());
    for (const NodeId p : visits) local_order.push_back(local_name_[at(order_[at(p)])]);

    KickSearch<CostFunction> search(landscape_, nodes, local_name_, local_order);
    for (std::size_t v = 0; v < visits.size(); ++v) {
      const std::size_t next = v + 1 < visits.size() ? v + 1 : 0;
      const NodeId gap = visits[next] - visits[v] + (next == 0 ? n : 0);
      if (gap > 1) search.search().fix_edge(local_order[v], local_order[next]);
    }
    const auto per_node = static_cast<std::size_t>(landscape_.per_node);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool is_queued = queue_all;
      for (std::size_t r = 0; r < per_node && !is_queued && num_kicks == 0; ++r) {
        const NodeId other = landscape_.candidates[at(nodes[i]) * per_node + r];
        is_queued = other != kNone && cell_of_[at(other)] != cell_of_[at(nodes[i])];
      }
      if (is_queued) search.search().push(static_cast<NodeId>(i));
    }
    Length gain = search.descend(limits_);
    const auto start = Deadline::Clock::now();
    for (std::int64_t k = 0; k < num_kicks && !limits_.expired_at_kick(); ++k) {
      gain += search.kick(rng_);
      limits_.count_kick();
      limits_.see_length(length_ - gain);
    }
    kick_seconds_ += std::chrono::duration<double>(Deadline::Clock::now() - start).count();
    if (gain == 0) return;
    length_ -= gain;
    limits_.see_length(length_);
    splice(nodes, visits, search.order());
  }

  /// Rebuilds the whole tour from the new local one; the paths outside keep their ends.
  void splice(std::span<const NodeId> nodes, std::span<const NodeId> visits, std::span<const NodeId> local_order) {
    const auto n = static_cast<NodeId>(order_.size());
    const auto num_visits = static_cast<NodeId>(visits.size());
    std::vector<NodeId> visit_of(nodes.size());  // which visit a local node was in the old tour
    for (NodeId v = 0; v < num_visits; ++v) visit_of[at(local_name_[at(order_[at(visits[at(v)])])])] = v;
    new_order_.clear();
    new_order_.reserve(order_.size());
    for (std::size_t i = 0; i < local_order.size(); ++i) {
      const NodeId from = visit_of[at(local_order[i])];
      const NodeId to = visit_of[at(local_order[i + 1 < local_order.size() ? i + 1 : 0])];
      const NodeId begin = visits[at(from)];
      new_order_.push_back(order_[at(begin)]);
      const auto path_length = [&](NodeId first, NodeId second) {
        const NodeId gap = visits[at(second)] - visits[at(first)];
        return (gap > 0 ? gap : gap + n) - 1;
      };
      // A fixed edge joins neighbouring visits with a path between them. With two nodes in between there may be two.
      if ((from + 1) % num_visits == to && path_length(from, to) > 0) {
        for (NodeId p = begin + 1, left = path_length(from, to); left > 0; --left, ++p) {
          new_order_.push_back(order_[at(p >= n ? p - n : p)]);
        }
      } else if ((to + 1) % num_visits == from && path_length(to, from) > 0) {
        for (NodeId p = begin - 1, left = path_length(to, from); left > 0; --left, --p) {
          new_order_.push_back(order_[at(p < 0 ? p + n : p)]);
        }
      }
    }
    order_.swap(new_order_);
    find_positions();
  }

  void find_positions() {
    for (std::size_t p = 0; p < order_.size(); ++p) position_[at(order_[p])] = static_cast<NodeId>(p);
  }

  const Landscape& landscape_;
  std::vector<NodeId>& order_;
  Length& length_;
  Limits& limits_;
  Rng& rng_;
  std::vector<NodeId> position_;
  std::vector<NodeId> new_order_;
  std::vector<NodeId> local_name_;  // kNone but for the nodes of the current cell
  std::vector<NodeId> cell_of_;     // in the first round
  double kick_seconds_ = 0;
};

template <typename CostFunction>
LocalSearchResult search_with(const Problem& problem, std::span<const NodeId> start,
                              const LocalSearchOptions& options) {
  LocalSearchResult result;
  result.length = problem.length(start);
  const Landscape landscape = make_landscape(problem, start, options.deadline, options.plain_candidates);
  std::vector<NodeId> order = landscape.from_problem(start);

  Limits limits(options, problem.size(), result.length);
  Rng rng(options.seed);
  if (problem.size() <= kKickCellNodes + kKickCellNodes / 2 || problem.points().empty()) {
    search_whole<CostFunction>(landscape, order, result.length, limits, rng);
  } else {
    CellSearch<CostFunction>(landscape, order, result.length, limits, rng).run();
  }
  result.kicks = limits.kicks();
  result.order = landscape.to_problem(order);
  return result;
}

}  // namespace

LocalSearchResult iterated_local_search(const Problem& problem, const LocalSearchOptions& options) {
  if (!options.start.empty()) check_permutation(options.start, at(problem.size()));
  if (problem.size() < kMinKickNodes) {
    LocalSearchResult result;
    result.order = exact_tour(problem);
    result.length = problem.length(result.order);
    return result;
  }
  std::vector<NodeId> greedy;
  if (options.start.empty()) greedy = greedy_tour(problem);
  const std::span<const NodeId> start = greedy.empty() ? options.start : greedy;
  check_has_fixed_edges(problem, start);
  if (EuclideanCost::fits(problem)) return search_with<EuclideanCost>(problem, start, options);
  return search_with<ProblemCost>(problem, start, options);
}

}  // namespace puretour
