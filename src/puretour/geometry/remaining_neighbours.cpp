// SPDX-License-Identifier: MIT
#include "puretour/geometry/remaining_neighbours.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "puretour/base/vectorize.h"
#include "puretour/geometry/kd_tree.h"

namespace puretour {
namespace {

typedef std::int32_t Ints __attribute__((vector_size(32)));
constexpr std::size_t kIntLanes = 8;

// ranks[i] = how many keys are smaller than keys[i]. Both arrays are padded to whole vectors; pads hold the largest
// key.
PURETOUR_VECTORISED
void rank_keys(const std::int32_t* keys, std::size_t count, std::int32_t* ranks) {
  for (std::size_t block = 0; block < count; block += kIntLanes) {
    Ints mine;
    std::memcpy(&mine, keys + block, sizeof(mine));
    Ints rank = {};
    for (std::size_t i = 0; i < count; ++i) rank -= (keys[i] < mine);
    std::memcpy(ranks + block, &rank, sizeof(rank));
  }
}

// Squared distances of `count` slots (at most 16), as ordered integers.
PURETOUR_VECTORISED
void distance_keys(const float* xs, const float* ys, std::size_t count, float x, float y, std::int32_t* keys) {
  for (std::size_t s = 0; s < count; ++s) {
    const float dx = xs[s] - x;
    const float dy = ys[s] - y;
    keys[s] = std::bit_cast<std::int32_t>(dx * dx + dy * dy);
  }
}

}  // namespace

RemainingNeighbours::RemainingNeighbours(std::span<const Point> points) {
  const std::size_t n = points.size();
  while (n > (kLeafSize << depth_)) ++depth_;
  point_x_.resize(n);
  point_y_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    point_x_[i] = static_cast<float>(points[i].x);
    point_y_[i] = static_cast<float>(points[i].y);
  }
  // The static tree sorts the nodes by place; its order cut into 2^depth equal runs gives our leaves.
  const KdTree tree(points);
  home_leaf_.resize(n);
  boxes_.assign(2 * num_leaves(), {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()});
  slot_node_.resize(num_leaves() * kLeafSize);
  for (std::size_t leaf = 0; leaf < num_leaves(); ++leaf) {
    const std::size_t begin = leaf * n >> depth_;
    const std::size_t end = (leaf + 1) * n >> depth_;
    FloatBox& box = boxes_[num_leaves() + leaf];
    for (std::size_t p = begin; p < end; ++p) {
      const NodeId node = tree.id_at(p);
      const auto i = static_cast<std::size_t>(node);
      home_leaf_[i] = static_cast<std::uint32_t>(leaf);
      slot_node_[leaf * kLeafSize + p - begin] = node;
      box = {std::min(box.low_x, point_x_[i]), std::min(box.low_y, point_y_[i]), std::max(box.high_x, point_x_[i]),
             std::max(box.high_y, point_y_[i])};
    }
  }
  for (std::size_t v = num_leaves() - 1; v >= 1; --v) {
    const FloatBox& l = boxes_[2 * v];
    const FloatBox& r = boxes_[2 * v + 1];
    boxes_[v] = {std::min(l.low_x, r.low_x), std::min(l.low_y, r.low_y), std::max(l.high_x, r.high_x),
                 std::max(l.high_y, r.high_y)};
  }
  slot_x_.resize(slot_node_.size());
  slot_y_.resize(slot_node_.size());
  slot_of_.resize(n);
  counts_.resize(2 * num_leaves());
  found_keys_.resize(n + 2 * kLeafSize);
  found_nodes_.resize(n + 2 * kLeafSize);
  ranks_.resize(n + 2 * kLeafSize);
  reset();
}

void RemainingNeighbours::reset() {
  const std::size_t n = slot_of_.size();
  num_remaining_ = n;
  for (std::size_t leaf = 0; leaf < num_leaves(); ++leaf) {
    const std::size_t count = ((leaf + 1) * n >> depth_) - (leaf * n >> depth_);
    counts_[num_leaves() + leaf] = static_cast<std::uint32_t>(count);
    // Removals only permute the nodes of a leaf within its own slots, so its members are still here, in some order.
    // Sort them: the walk after a reset must not depend on the walk before it.
    NodeId* nodes = slot_node_.data() + leaf * kLeafSize;
    std::sort(nodes, nodes + count);
    for (std::size_t s = 0; s < count; ++s) {
      const auto i = static_cast<std::size_t>(nodes[s]);
      const std::size_t slot = leaf * kLeafSize + s;
      slot_x_[slot] = point_x_[i];
      slot_y_[slot] = point_y_[i];
      slot_of_[i] = static_cast<std::uint32_t>(slot);
    }
  }
  for (std::size_t v = num_leaves() - 1; v >= 1; --v) counts_[v] = counts_[2 * v] + counts_[2 * v + 1];
}

bool RemainingNeighbours::is_remaining(NodeId node) const {
  return slot_of_[static_cast<std::size_t>(node)] != kRemoved;
}

void RemainingNeighbours::remove(NodeId node) {
  const auto i = static_cast<std::size_t>(node);
  const std::uint32_t slot = slot_of_[i];
  assert(slot != kRemoved);
  const std::size_t leaf = home_leaf_[i];
  const std::size_t last = leaf * kLeafSize + counts_[num_leaves() + leaf] - 1;
  // The last remaining node of the leaf takes the place; the removed one waits behind for a reset.
  const NodeId moved = slot_node_[last];
  slot_node_[slot] = moved;
  slot_x_[slot] = slot_x_[last];
  slot_y_[slot] = slot_y_[last];
  slot_of_[static_cast<std::size_t>(moved)] = slot;
  slot_node_[last] = node;
  slot_of_[i] = kRemoved;
  for (std::size_t v = num_leaves() + leaf; v >= 1; v /= 2) --counts_[v];
  --num_remaining_;
}

void RemainingNeighbours::gather_leaf(std::size_t leaf, float x, float y, float squared_radius,
                                      std::uint32_t own_slot) {
  const std::size_t count = counts_[num_leaves() + leaf];
  const std::size_t first = leaf * kLeafSize;
  std::int32_t keys[kLeafSize];
  distance_keys(slot_x_.data() + first, slot_y_.data() + first, kLeafSize, x, y, keys);
  const auto limit = std::bit_cast<std::int32_t>(squared_radius);
  for (std::size_t s = 0; s < count; ++s) {
    // Written always, kept only if near enough: no branch to mispredict.
    found_keys_[num_found_] = keys[s];
    found_nodes_[num_found_] = slot_node_[first + s];
    num_found_ += static_cast<std::size_t>(keys[s] <= limit) & static_cast<std::size_t>(first + s != own_slot);
  }
}

void RemainingNeighbours::gather_within(float x, float y, float squared_radius, std::uint32_t own_slot) {
  num_found_ = 0;
  constexpr std::size_t kMaxStack = 64;
  std::size_t stack[kMaxStack];
  std::size_t stack_size = 0;
  stack[stack_size++] = 1;
  // Boxes are compared with a margin: their distance is rounded, and no node at the radius may be lost.
  const float limit = squared_radius * 1.000001F;
  while (stack_size > 0) {
    const std::size_t v = stack[--stack_size];
    if (counts_[v] == 0) continue;
    const FloatBox& box = boxes_[v];
    const float dx = std::max(std::max(box.low_x - x, x - box.high_x), 0.0F);
    const float dy = std::max(std::max(box.low_y - y, y - box.high_y), 0.0F);
    if (dx * dx + dy * dy > limit) continue;
    if (v >= num_leaves()) {
      gather_leaf(v - num_leaves(), x, y, squared_radius, own_slot);
    } else {
      stack[stack_size++] = 2 * v + 1;
      stack[stack_size++] = 2 * v;
    }
  }
}

void RemainingNeighbours::gather_all(float x, float y, std::uint32_t own_slot) {
  gather_within(x, y, std::numeric_limits<float>::infinity(), own_slot);
}

std::size_t RemainingNeighbours::select(std::size_t k, NodeId* out) {
  const std::size_t count = num_found_;
  const std::size_t wanted = std::min(k, count);
  // Ranking all against all costs count^2 / 8 steps without branches: best for the usual hundred candidates.
  constexpr std::size_t kRankingLimit = 256;
  if (count <= kRankingLimit) {
    for (std::size_t pad = 0; pad < kIntLanes; ++pad)
      found_keys_[count + pad] = std::numeric_limits<std::int32_t>::max();
    rank_keys(found_keys_.data(), count, ranks_.data());
    std::size_t rank_sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto rank = static_cast<std::size_t>(ranks_[i]);
      rank_sum += rank;
      if (rank < wanted) out[rank] = found_nodes_[i];
    }
    // All ranks differ exactly if no two distances are equal.
    if (rank_sum == count * (count - 1) / 2) return wanted;
  }
  std::vector<std::pair<std::int32_t, NodeId>> sorted(count);
  for (std::size_t i = 0; i < count; ++i) sorted[i] = {found_keys_[i], found_nodes_[i]};
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted), sorted.end());
  for (std::size_t r = 0; r < wanted; ++r) out[r] = sorted[r].second;
  return wanted;
}

std::size_t RemainingNeighbours::nearest(NodeId node, std::size_t k, NodeId* out) {
  const auto i = static_cast<std::size_t>(node);
  const float x = point_x_[i];
  const float y = point_y_[i];
  const std::uint32_t own_slot = slot_of_[i];
  const std::size_t available = num_remaining_ - (own_slot != kRemoved ? 1 : 0);
  if (k == 0 || available == 0) return 0;
  if (available <= 2 * k) {
    gather_all(x, y, own_slot);
    return select(k, out);
  }
  // Guess the radius that holds a little more than k nodes from the smallest part of the tree around the node that has
  // that many, and widen it until enough are found.
  std::size_t v = num_leaves() + home_leaf_[i];
  while (v > 1 && counts_[v] < 2 * k) v /= 2;
  const FloatBox& box = boxes_[v];
  const float area = std::max(box.high_x - box.low_x, 1e-30F) * std::max(box.high_y - box.low_y, 1e-30F);
  constexpr float kPi = 3.14159265F;
  float squared_radius = 1.5F * static_cast<float>(k + 4) * area / (kPi * static_cast<float>(counts_[v]));
  for (;;) {
    gather_within(x, y, squared_radius, own_slot);
    if (num_found_ >= k) return select(k, out);
    // Widen by what is missing, at least by half; a flat or empty guess grows to the whole set in the end.
    if (!(squared_radius < std::numeric_limits<float>::max() / 8)) {
      gather_all(x, y, own_slot);
      return select(k, out);
    }
    squared_radius *= num_found_ * 4 >= k ? 1.8F : 4.0F;
  }
}

}  // namespace puretour
