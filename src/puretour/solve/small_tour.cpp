// SPDX-License-Identifier: MIT
#include "puretour/solve/small_tour.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

namespace puretour {
namespace {

// The longest cost: sums of a few of them, and of the fixed edge of a path, stay within 32 bits.
constexpr double kLargestCost = 0x1p24;
// A path is a tour with a fixed edge between its ends. With a cost this low, removing it never pays.
constexpr std::int32_t kFixedCost = -0x10000000;
// Below this a double bridge has no place.
constexpr std::uint32_t kMinKickNodes = 8;
// Longest segment of a kick, as a share of the nodes: tuned for 50 and 100 uniform points.
constexpr std::uint32_t kNodesPerKickSegment = 4;

}  // namespace

std::span<const std::uint8_t> SmallTourSearch::closed_tour(std::span<const Point> points, Rng& rng,
                                                           const Limits& limits) {
  set_points(points);
  if (size_ > 3) {
    find_candidates();
    start_nearest_neighbour(0, size_);
    search(rng, std::lround(limits.kicks_per_node * size_));
  } else {
    std::iota(order_.begin(), order_.begin() + size_, Node{0});
  }
  return {order_.data(), size_};
}

std::span<const std::uint8_t> SmallTourSearch::path(std::span<const Point> points, Rng& rng, const Limits& limits) {
  set_points(points);
  if (size_ <= 3) {
    std::iota(order_.begin(), order_.begin() + size_, Node{0});
    return {order_.data(), size_};
  }
  const std::size_t last = size_ - 1;
  find_candidates();
  costs_[last] = kFixedCost;
  costs_[last * stride_] = kFixedCost;
  start_nearest_neighbour(0, last);
  search(rng, std::lround(limits.kicks_per_node * size_));
  // The cycle, cut at the fixed edge and read from the first node on.
  const std::uint32_t start = position_[0];
  const bool backwards = order_[wrapped(start + 1)] == last;
  assert(backwards || order_[wrapped(start + size_ - 1)] == last);
  for (std::uint32_t i = 0; i < size_; ++i) {
    moved_[i] = order_[wrapped(backwards ? start + size_ - i : start + i)];
  }
  return {moved_.data(), size_};
}

void SmallTourSearch::set_points(std::span<const Point> points) {
  assert(points.size() <= kMaxNodes);
  size_ = static_cast<std::uint32_t>(points.size());
  stride_ = size_;
  costs_.resize(stride_ * size_);
  Box box;
  for (const Point p : points) box.add(p);
  const double extent = std::hypot(box.width(), box.height());
  const double scale = extent > 0 ? kLargestCost / extent : 0;
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < size_; ++j) {
      costs_[i * stride_ + j] = static_cast<Cost>(std::sqrt(squared_distance(points[i], points[j])) * scale + 0.5);
    }
  }
}

void SmallTourSearch::find_candidates() {
  per_node_ = std::min<std::size_t>(kCandidates, size_ - 1);
  for (std::size_t i = 0; i < size_; ++i) {
    // Costs fit 24 bits and nodes 8: one word sorts by cost, then by node.
    std::array<std::uint32_t, kCandidates + 1> nearest;
    std::size_t count = 0;
    const Cost* row = costs_.data() + i * stride_;
    for (std::size_t j = 0; j < size_; ++j) {
      if (j == i) continue;
      const std::uint32_t key =
          (static_cast<std::uint32_t>(std::min<Cost>(row[j], 0xFFFFFF)) << 8U) | static_cast<std::uint32_t>(j);
      if (count == per_node_ && key >= nearest[count - 1]) continue;
      std::size_t at = count < per_node_ ? count++ : count - 1;
      for (; at > 0 && nearest[at - 1] > key; --at) nearest[at] = nearest[at - 1];
      nearest[at] = key;
    }
    for (std::size_t r = 0; r < per_node_; ++r)
      candidates_[i * kCandidates + r] = static_cast<Node>(nearest[r] & 0xFFU);
  }
}

// From `first` on; `last`, if it is a node, comes last.
void SmallTourSearch::start_nearest_neighbour(std::size_t first, std::size_t last) {
  std::array<Node, kMaxNodes> left;
  std::size_t num_left = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (i != first && i != last) left[num_left++] = static_cast<Node>(i);
  }
  std::uint32_t length = 0;
  order_[length++] = static_cast<Node>(first);
  while (num_left > 0) {
    const Cost* row = costs_.data() + order_[length - 1] * stride_;
    std::size_t best = 0;
    for (std::size_t k = 1; k < num_left; ++k) {
      if (row[left[k]] < row[left[best]]) best = k;
    }
    order_[length++] = left[best];
    left[best] = left[--num_left];
  }
  if (last < size_) order_[length++] = static_cast<Node>(last);
  for (std::uint32_t p = 0; p < size_; ++p) position_[order_[p]] = static_cast<Node>(p);
}

void SmallTourSearch::search(Rng& rng, std::int64_t num_kicks) {
  queue_head_ = 0;
  queue_size_ = 0;
  std::fill_n(is_queued_.begin(), size_, false);
  for (std::uint32_t p = 0; p < size_; ++p) push(order_[p]);
  descend();
  if (size_ < kMinKickNodes) return;
  const auto keep = [&] {
    std::memcpy(best_order_.data(), order_.data(), size_);
    std::memcpy(best_position_.data(), position_.data(), size_);
  };
  keep();
  for (std::int64_t k = 0; k < num_kicks; ++k) {
    const Cost loss = disturb(rng);
    gain_ = 0;
    descend();
    if (gain_ >= loss) {
      keep();
    } else {
      std::memcpy(order_.data(), best_order_.data(), size_);
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

void SmallTourSearch::descend() {
  while (queue_size_ > 0) {
    const Node t1 = queue_[queue_head_];
    queue_head_ = wrapped(queue_head_ + 1);
    --queue_size_;
    is_queued_[t1] = false;
    while (improve_from(t1)) {
    }
  }
}

bool SmallTourSearch::improve_from(Node t1) {
  return improve_from<false>(t1) || improve_from<true>(t1);
}

// Removes (t1 t2), where t2 follows t1, adds (t2 t3), removes (t3 t4), and either closes up with (t4 t1), or adds (t4
// t5), removes (t5 t6) and closes up with (t6 t1). `mirrored` reads the tour backwards. With segments A, B, C between
// the removed edges, A beginning at t2 and C ending at t1, the tour A B C becomes one of B' A C, B A C, A' B' C, B A'
// C, where ' is a reversal; every other choice of ends leaves more than one cycle.
template <bool mirrored>
bool SmallTourSearch::improve_from(Node t1) {
  const auto n = size_;
  const auto next = [&](Node node) {
    const std::uint32_t p = position_[node];
    return mirrored ? order_[p == 0 ? n - 1 : p - 1] : order_[p + 1 == n ? 0 : p + 1];
  };
  const auto previous = [&](Node node) {
    const std::uint32_t p = position_[node];
    return mirrored ? order_[p + 1 == n ? 0 : p + 1] : order_[p == 0 ? n - 1 : p - 1];
  };
  const Node t2 = next(t1);
  const auto base = static_cast<std::uint32_t>(position_[t2]);
  // How far behind t2 a node comes.
  const auto offset = [&](Node node) {
    const std::uint32_t p = position_[node];
    return mirrored ? (base >= p ? base - p : base + n - p) : (p >= base ? p - base : p + n - base);
  };
  const Cost removed1 = cost(t1, t2);
  const Node* candidates2 = candidates_.data() + t2 * kCandidates;
  for (std::size_t r = 0; r < per_node_; ++r) {
    const Node t3 = candidates2[r];
    const Cost gain1 = removed1 - cost(t2, t3);
    if (gain1 <= 0) break;
    const std::uint32_t offset3 = offset(t3);
    if (t3 == t1 || offset3 == 1) continue;       // (t2 t3) is in the tour
    for (const bool t4_before : {true, false}) {  // t4 comes before t3 in the tour
      const Node t4 = t4_before ? previous(t3) : next(t3);
      const Cost gain2 = gain1 + cost(t3, t4);
      if (t4_before) {
        const Cost gain = gain2 - cost(t4, t1);
        if (gain > 0) {
          gain_ += gain;
          make_two_opt<mirrored>(base, offset3);
          for (const Node t : {t1, t2, t3, t4}) push(t);
          return true;
        }
      }
      // Edge 2 lies between offsets edge2 and edge2 + 1.
      const std::uint32_t edge2 = t4_before ? offset3 - 1 : offset3;
      const Node* candidates4 = candidates_.data() + t4 * kCandidates;
      const std::size_t breadth = std::min(per_node_, kCandidatesOfSecond);
      for (std::size_t s = 0; s < breadth; ++s) {
        const Node t5 = candidates4[s];
        const Cost gain3 = gain2 - cost(t4, t5);
        if (gain3 <= 0) break;
        if (t5 == t3) continue;
        const std::uint32_t offset5 = offset(t5);
        for (const bool t6_before : {true, false}) {
          const bool after2 = offset5 > edge2;
          // Which ends are possible: see above. t5 right of the edge means t6 comes before it.
          bool b_first = true;
          bool reverse_a = false;
          bool reverse_b = false;
          if (after2) {  // edge 2 is the nearer one
            if (!t4_before || !t6_before) continue;
            reverse_b = true;  // B' A
          } else if (!t4_before) {
            if (t6_before) {  // A' B'
              b_first = false;
              reverse_a = true;
              reverse_b = true;
            }  // else B A
          } else {
            if (t6_before) continue;
            reverse_a = true;  // B A'
          }
          if (t6_before ? offset5 == 0 : offset5 == n - 1) continue;  // that is edge 1
          const std::uint32_t edge3 = t6_before ? offset5 - 1 : offset5;
          assert(edge3 != edge2);
          const Node t6 = t6_before ? previous(t5) : next(t5);
          const Cost gain = gain3 + cost(t5, t6) - cost(t6, t1);
          if (gain <= 0) continue;
          const std::uint32_t near = std::min(edge2, edge3);
          const std::uint32_t far = std::max(edge2, edge3);
          gain_ += gain;
          make_three_opt<mirrored>(base, near + 1, far - near, b_first, reverse_a, reverse_b);
          for (const Node t : {t1, t2, t3, t4, t5, t6}) push(t);
          return true;
        }
      }
    }
  }
  return false;
}

// Reverses the part from t2, at position `base`, to the node before t3.
template <bool mirrored>
void SmallTourSearch::make_two_opt(std::uint32_t base, std::uint32_t offset3) {
  const std::uint32_t begin = mirrored ? wrapped(base + size_ - (offset3 - 1)) : base;
  // Reversing the rest gives the same cycle.
  if (2 * offset3 <= size_) {
    reverse(begin, offset3);
  } else {
    reverse(wrapped(begin + offset3), size_ - offset3);
  }
}

// A and B follow each other from t2, at position `base`, on.
template <bool mirrored>
void SmallTourSearch::make_three_opt(std::uint32_t base, std::uint32_t length_a, std::uint32_t length_b, bool b_first,
                                     bool reverse_a, bool reverse_b) {
  // Read forwards, a mirrored B comes before A, and what came first comes last.
  const std::uint32_t begin = mirrored ? wrapped(base + size_ + 1 - length_a - length_b) : base;
  const Segment a{mirrored ? wrapped(begin + length_b) : begin, length_a, reverse_a};
  const Segment b{mirrored ? begin : wrapped(begin + length_a), length_b, reverse_b};
  const Segment order[] = {a, b};
  const Segment swapped[] = {b, a};
  rearrange(begin, b_first != mirrored ? swapped : order);
}

// Puts the segments, in this order, where they lay together from `begin` on.
void SmallTourSearch::rearrange(std::uint32_t begin, std::span<const Segment> segments) {
  std::uint32_t count = 0;
  for (const Segment& segment : segments) {
    std::uint32_t p = segment.reversed ? wrapped(segment.begin + segment.length - 1) : segment.begin;
    for (std::uint32_t i = 0; i < segment.length; ++i) {
      moved_[count++] = order_[p];
      p = segment.reversed ? (p == 0 ? size_ - 1 : p - 1) : (p + 1 == size_ ? 0 : p + 1);
    }
  }
  std::uint32_t p = begin;
  for (std::uint32_t i = 0; i < count; ++i) {
    order_[p] = moved_[i];
    position_[moved_[i]] = static_cast<Node>(p);
    p = p + 1 == size_ ? 0 : p + 1;
  }
}

void SmallTourSearch::reverse(std::uint32_t begin, std::uint32_t length) {
  std::uint32_t left = begin;
  std::uint32_t right = wrapped(begin + length - 1);
  for (std::uint32_t i = 0; i < length / 2; ++i) {
    std::swap(order_[left], order_[right]);
    position_[order_[left]] = static_cast<Node>(left);
    position_[order_[right]] = static_cast<Node>(right);
    left = left + 1 == size_ ? 0 : left + 1;
    right = right == 0 ? size_ - 1 : right - 1;
  }
}

// Double bridge: three neighbouring segments B C D become D C B. Returns the loss and queues the ends.
SmallTourSearch::Cost SmallTourSearch::disturb(Rng& rng) {
  const std::uint32_t longest = std::max<std::uint32_t>(2, size_ / kNodesPerKickSegment);
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
      left[i] = order_[begin == 0 ? size_ - 1 : begin - 1];
      right[i] = order_[begin];
      const Cost removed = cost(left[i], right[i]);
      cuts_fixed = cuts_fixed || removed < 0;
      loss -= removed;
      if (i == 3) break;
      segments[i] = {begin, 1 + draw(16 * (static_cast<unsigned>(i) + 1), longest), false};
      begin = wrapped(begin + segments[i].length);
    }
    if (cuts_fixed) continue;
    loss += cost(left[0], right[2]) + cost(left[3], right[1]) + cost(left[2], right[0]) + cost(left[1], right[3]);
    const std::uint32_t first = segments[0].begin;
    std::swap(segments[0], segments[2]);
    rearrange(first, segments);
    for (std::size_t i = 0; i < 4; ++i) {
      push(left[i]);
      push(right[i]);
    }
    return loss;
  }
}

}  // namespace puretour
