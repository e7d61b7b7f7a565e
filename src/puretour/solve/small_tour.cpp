// SPDX-License-Identifier: MIT
#include "puretour/solve/small_tour.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

namespace puretour {
namespace {

// Below this a double bridge has no place.
constexpr std::uint32_t kMinKickNodes = 8;
// Longest segment of a kick, as a share of the nodes: tuned for 50 and 100 uniform points.
constexpr std::uint32_t kNodesPerKickSegment = 4;
constexpr std::uint32_t kNodesPerStart = 11;
// Crossovers of all pairs are repeated as long as one of them helps, which is rarely more than three times.
constexpr int kMaxCrossoverRounds = 10;

}  // namespace

std::span<const std::uint8_t> SmallTourSearch::closed_tour(std::span<const Point> points, Rng& rng,
                                                           const Limits& limits) {
  graph_.set_points(points);
  is_path_ = false;
  solve(rng, limits);
  return {order_.data() + 1, size_};
}

std::span<const std::uint8_t> SmallTourSearch::path(std::span<const Point> points, Rng& rng, const Limits& limits) {
  graph_.set_points(points);
  is_path_ = points.size() > 3;
  const auto last = static_cast<Node>(points.size() - 1);
  if (is_path_) graph_.fix_edge(0, last);
  solve(rng, limits);
  if (!is_path_) return {order_.data() + 1, size_};
  // The cycle, cut at the fixed edge and read from the first node on.
  const std::uint32_t start = position_[0];
  const bool backwards = order_[1 + wrapped(start + 1)] == last;
  assert(backwards || order_[1 + wrapped(start + size_ - 1)] == last);
  for (std::uint32_t i = 0; i < size_; ++i) {
    moved_[i] = order_[1 + wrapped(backwards ? start + size_ - i : start + i)];
  }
  return {moved_.data(), size_};
}

void SmallTourSearch::solve(Rng& rng, const Limits& limits) {
  size_ = graph_.size();
  if (size_ <= 3) {
    std::iota(order_.begin() + 1, order_.begin() + 1 + size_, Node{0});
    return;
  }
  const std::uint32_t starts = limits.starts > 0 ? limits.starts : std::max(1U, size_ / kNodesPerStart);
  const double kicks = limits.kicks_per_node * size_ * std::max(1.0, size_ / 50.0);
  tours_.resize(std::max<std::size_t>(starts, tours_.size()));
  for (std::uint32_t i = 0; i < starts; ++i) {
    start_nearest_neighbour(static_cast<Node>(rng.below(size_)));
    search(rng, std::lround(kicks / starts));
    keep_links(tours_[i]);
  }
  if (starts > 1) take_links(recombine(rng, std::span(tours_).first(starts)));
}

void SmallTourSearch::start_nearest_neighbour(Node first) {
  std::array<Node, kMaxNodes> left;
  std::iota(left.begin(), left.begin() + size_, Node{0});
  std::uint32_t num_left = size_;
  std::uint32_t length = 0;
  const auto append = [&](std::size_t place) {
    order_[1 + length++] = left[place];
    left[place] = left[--num_left];
  };
  append(first);
  while (num_left > 0) {
    const Cost* row = graph_.costs_from(order_[length]);  // of a path's end the other end is nearest: the fixed edge
    std::size_t nearest = 0;
    for (std::size_t k = 1; k < num_left; ++k) {
      if (row[left[k]] < row[left[nearest]]) nearest = k;
    }
    append(nearest);
  }
  for (std::uint32_t p = 0; p < size_; ++p) position_[order_[1 + p]] = static_cast<Node>(p);
  close_order();
}

void SmallTourSearch::close_order() {
  order_[0] = order_[size_];
  order_[size_ + 1] = order_[1];
}

void SmallTourSearch::search(Rng& rng, std::int64_t num_kicks) {
  clear_queue();
  for (std::uint32_t p = 0; p < size_; ++p) push(order_[1 + p]);
  gain_ = 0;
  descend(-1);
  if (size_ < kMinKickNodes) return;
  const auto keep = [&] {
    std::memcpy(best_order_.data(), order_.data(), size_ + 2);
    std::memcpy(best_position_.data(), position_.data(), size_);
  };
  keep();
  for (std::int64_t k = 0; k < num_kicks; ++k) {
    const Cost loss = kick(rng);
    gain_ = 0;
    descend(loss);
    if (gain_ >= loss) {
      keep();
    } else {
      std::memcpy(order_.data(), best_order_.data(), size_ + 2);
      std::memcpy(position_.data(), best_position_.data(), size_);
    }
  }
}

void SmallTourSearch::push(Node node) {
  if (is_queued_[node]) return;
  is_queued_[node] = true;
  queue_[wrapped(queue_head_ + queue_size_)] = node;
  ++queue_size_;
}

void SmallTourSearch::clear_queue() {
  queue_head_ = 0;
  queue_size_ = 0;
  std::fill_n(is_queued_.begin(), size_, false);
}

// Until no move is left, or until the gain is exactly `enough`: then the kick has most likely been undone, and going on
// would find nothing.
void SmallTourSearch::descend(Cost enough) {
  while (queue_size_ > 0) {
    const Node t1 = queue_[queue_head_];
    queue_head_ = wrapped(queue_head_ + 1);
    --queue_size_;
    is_queued_[t1] = false;
    while (improve_from(t1)) {
      if (gain_ == enough) return clear_queue();
    }
  }
}

bool SmallTourSearch::improve_from(Node t1) {
  Move move;
  if (!find_move<false>(t1, move) && !find_move<true>(t1, move)) return false;
  gain_ += move.gain;
  make(move);
  return true;
}

// The first move that gains: removes (t1 t2), adds (t2 t3), removes (t3 t4) and closes by (t4 t1), or adds (t4 t5),
// removes (t5 t6) and closes by (t6 t1).
template <bool mirrored>
bool SmallTourSearch::find_move(Node t1, Move& move) const {
  using enum MoveKind;
  const std::uint32_t n = size_;
  const Node* order = order_.data() + 1;
  const auto next = [&](Node node) { return mirrored ? order[position_[node] - 1] : order[position_[node] + 1]; };
  const auto previous = [&](Node node) { return mirrored ? order[position_[node] + 1] : order[position_[node] - 1]; };
  const Node t2 = next(t1);
  const std::int32_t base = position_[t2];
  // How far behind t2 a node comes.
  const auto offset = [&](Node node) {
    const std::int32_t d = mirrored ? base - position_[node] : position_[node] - base;
    return static_cast<std::uint32_t>(d < 0 ? d + static_cast<std::int32_t>(n) : d);
  };
  const auto found = [&](Cost gain, MoveKind kind, std::uint32_t length_a, std::uint32_t length_b) {
    move = {gain, kind, mirrored, static_cast<std::uint32_t>(base), length_a, length_b};
    return true;
  };
  const Cost removed1 = graph_.cost(t1, t2);
  const Cost* row1 = graph_.costs_from(t1);
  for (const auto [added2, t3] : graph_.candidates(t2)) {
    const Cost gain1 = removed1 - added2;
    if (gain1 <= 0) break;
    const std::uint32_t offset3 = offset(t3);
    if (offset3 == n - 1 || offset3 == 1) continue;  // (t2 t3) is in the tour
    {
      const Node t4 = previous(t3);
      const std::uint32_t offset4 = offset3 - 1;
      const Cost gain2 = gain1 + graph_.cost(t3, t4);
      if (gain2 > row1[t4]) return found(gain2 - row1[t4], kTwoOpt, offset3, 0);
      for (const auto [added4, t5] : graph_.candidates(t4)) {
        const Cost gain3 = gain2 - added4;
        if (gain3 <= 0) break;
        const std::uint32_t offset5 = offset(t5);
        const bool behind = offset5 > offset4;
        const Node t6 = behind ? previous(t5) : next(t5);
        const Cost gain = gain3 + graph_.cost(t5, t6) - row1[t6];
        if (gain <= 0) continue;
        if (behind) return found(gain, kSwapReverseB, offset3, offset5 - offset3);
        return found(gain, kSwapReverseA, offset5 + 1, offset4 - offset5);
      }
    }
    const Node t4 = next(t3);
    const Cost gain2 = gain1 + graph_.cost(t3, t4);
    for (const auto [added4, t5] : graph_.candidates(t4)) {
      const Cost gain3 = gain2 - added4;
      if (gain3 <= 0) break;
      const std::uint32_t offset5 = offset(t5);
      if (offset5 >= offset3) continue;
      const Cost* row5 = graph_.costs_from(t5);
      const Node after = next(t5);
      const Cost gain_after = gain3 + row5[after] - row1[after];
      if (gain_after > 0) return found(gain_after, kSwap, offset5 + 1, offset3 - offset5);
      if (offset5 == 0) continue;
      const Node before = previous(t5);
      const Cost gain_before = gain3 + row5[before] - row1[before];
      if (gain_before > 0) return found(gain_before, kReverseBoth, offset5, offset3 + 1 - offset5);
    }
  }
  return false;
}

void SmallTourSearch::make(const Move& move) {
  using enum MoveKind;
  const std::uint32_t length_c = size_ - move.length_a - move.length_b;
  const bool m = move.mirrored;
  // Read forwards, a mirrored B comes before A, and what came first comes last.
  Segment a{m ? wrapped(move.base + size_ + 1 - move.length_a) : move.base, move.length_a, false};
  Segment b{m ? wrapped(a.begin + size_ - move.length_b) : wrapped(a.begin + a.length), move.length_b, false};
  const Segment c{m ? wrapped(b.begin + size_ - length_c) : wrapped(b.begin + b.length), length_c, false};
  const auto push_ends = [&](const Segment& s) {
    push(order_[1 + s.begin]);
    push(order_[1 + wrapped(s.begin + s.length - 1)]);
  };
  push_ends(a);
  push_ends(c);
  if (move.length_b > 0) push_ends(b);
  a.reversed = move.kind == kTwoOpt || move.kind == kSwapReverseA || move.kind == kReverseBoth;
  b.reversed = move.kind == kSwapReverseB || move.kind == kReverseBoth;
  if (move.kind == kTwoOpt) {
    std::array<Segment, 2> segments = {a, c};
    rearrange(segments);
  } else if ((move.kind == kReverseBoth) != m) {
    std::array<Segment, 3> segments = {a, b, c};
    rearrange(segments);
  } else {
    std::array<Segment, 3> segments = {b, a, c};
    rearrange(segments);
  }
}

// Makes the cycle of these segments; the longest one stays where it is.
void SmallTourSearch::rearrange(std::span<Segment> segments) {
  const std::size_t k = segments.size();
  std::size_t longest = 0;
  for (std::size_t i = 1; i < k; ++i) {
    if (segments[i].length > segments[longest].length) longest = i;
  }
  const bool backwards = segments[longest].reversed;
  std::uint32_t count = 0;
  Node* order = order_.data() + 1;
  std::size_t at = longest;
  for (std::size_t i = 1; i < k; ++i) {
    at = backwards ? (at == 0 ? k - 1 : at - 1) : (at + 1 == k ? 0 : at + 1);
    const Segment& segment = segments[at];
    if (segment.reversed != backwards) {
      std::uint32_t p = wrapped(segment.begin + segment.length - 1);
      for (std::uint32_t j = 0; j < segment.length; ++j) {
        moved_[count++] = order[p];
        p = p == 0 ? size_ - 1 : p - 1;
      }
    } else {
      std::uint32_t p = segment.begin;
      for (std::uint32_t j = 0; j < segment.length; ++j) {
        moved_[count++] = order[p];
        p = p + 1 == size_ ? 0 : p + 1;
      }
    }
  }
  std::uint32_t p = wrapped(segments[longest].begin + segments[longest].length);
  for (std::uint32_t i = 0; i < count; ++i) {
    order[p] = moved_[i];
    position_[moved_[i]] = static_cast<Node>(p);
    p = p + 1 == size_ ? 0 : p + 1;
  }
  close_order();
}

// Double bridge: three neighbouring segments B C D become D C B. Returns the loss and queues the ends.
SmallTourSearch::Cost SmallTourSearch::kick(Rng& rng) {
  const std::uint32_t longest = std::max(1U, size_ / kNodesPerKickSegment);
  while (true) {
    const std::uint64_t bits = rng.bits();
    // Three lengths and a place from one draw; the bias of so few values is far below what matters here.
    const auto draw = [&](unsigned shift, std::uint32_t bound) {
      return static_cast<std::uint32_t>(((bits >> shift & 0xFFFFU) * bound) >> 16U);
    };
    std::array<Segment, 3> segments;  // B, C, D
    std::uint32_t begin = draw(0, size_);
    std::array<Node, 4> left;   // the nodes before ...
    std::array<Node, 4> right;  // ... and after each removed edge
    Cost loss = 0;
    bool cuts_fixed = false;
    for (std::size_t i = 0; i < 4; ++i) {
      left[i] = order_[begin];
      right[i] = order_[begin + 1];
      cuts_fixed = cuts_fixed || graph_.is_fixed(left[i], right[i]);
      loss -= graph_.cost(left[i], right[i]);
      if (i == 3) break;
      segments[i] = {begin, 1 + draw(16 * (static_cast<unsigned>(i) + 1), longest), false};
      begin = wrapped(begin + segments[i].length);
    }
    if (cuts_fixed) continue;
    loss += graph_.cost(left[0], right[2]) + graph_.cost(left[3], right[1]) + graph_.cost(left[2], right[0]) +
            graph_.cost(left[1], right[3]);
    std::array<Segment, 4> cycle = {segments[2], segments[1], segments[0], Segment{begin, 0, false}};
    cycle[3].length = size_ - segments[0].length - segments[1].length - segments[2].length;
    rearrange(cycle);
    for (std::size_t i = 0; i < 4; ++i) {
      push(left[i]);
      push(right[i]);
    }
    return loss;
  }
}

void SmallTourSearch::keep_links(LinkedTour& tour) const {
  tour.length = 0;
  for (std::uint32_t i = 1; i <= size_; ++i) {
    tour.length += graph_.cost(order_[i], order_[i + 1]);
    tour.links[order_[i]] = {order_[i - 1], order_[i + 1]};
  }
}

void SmallTourSearch::take_links(const LinkedTour& tour) {
  Node previous = tour.links[0][0];
  Node node = 0;
  for (std::uint32_t p = 0; p < size_; ++p) {
    order_[1 + p] = node;
    position_[node] = static_cast<Node>(p);
    const Node next = tour.next(previous, node);
    previous = node;
    node = next;
  }
  close_order();
}

const LinkedTour& SmallTourSearch::recombine(Rng& rng, std::span<LinkedTour> tours) const {
  const std::size_t count = tours.size();
  bool improved = true;
  for (int round = 0; improved && round < kMaxCrossoverRounds; ++round) {
    improved = false;
    for (std::size_t distance = 1; distance < count; ++distance) {
      for (std::size_t i = 0; i < count; ++i) {
        if (shorten_by_crossover(graph_, tours[i], tours[(i + distance) % count], rng)) improved = true;
      }
    }
  }
  return *std::min_element(tours.begin(), tours.end(),
                           [](const LinkedTour& a, const LinkedTour& b) { return a.length < b.length; });
}

}  // namespace puretour
