// SPDX-License-Identifier: MIT
#include "puretour/geometry/remaining_neighbours.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include "puretour/base/vectorize.h"
#include "puretour/geometry/kd_tree.h"

namespace puretour {
namespace {

constexpr std::size_t kBucketSize = RemainingNeighbours::kBucketSize;
constexpr std::size_t kGroupSize = RemainingNeighbours::kGroupSize;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The next query should find its k nodes at the first try more often than not, and not many more.
constexpr float kGuessMargin = 1.3F;

// Ranking all against all takes count^2 / 8 steps without branches: the best sort for the usual hundred candidates.
constexpr std::size_t kRankingLimit = 256;

typedef std::int32_t Ints __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
constexpr std::size_t kVectorLanes = 8;

template <typename Vector, typename Scalar>
inline __attribute__((always_inline)) Vector load(const Scalar* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// Plain pointers to everything that the search reads.
struct SearchView {
  const float *group_low_x, *group_low_y, *group_high_x, *group_high_y;
  const float *low_x, *low_y, *high_x, *high_y;
  const float *slot_x, *slot_y;
  const NodeId* slot_node;
  const std::uint32_t* bucket_count;
  std::size_t num_buckets;
};

// One bit for each of 64 boxes whose squared distance from (x, y) is at most `limit`.
inline __attribute__((always_inline)) std::uint64_t boxes_within(const float* low_x, const float* low_y,
                                                                 const float* high_x, const float* high_y, float x,
                                                                 float y, float limit) {
  constexpr Ints kBits = {1, 2, 4, 8, 16, 32, 64, 128};
  std::uint64_t mask = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    Ints hits = {};
    for (std::size_t v = 0; v < 4; ++v) {
      const std::size_t b = 32 * half + kVectorLanes * v;
      const Floats left = load<Floats>(low_x + b) - x;
      const Floats right = x - load<Floats>(high_x + b);
      const Floats below = load<Floats>(low_y + b) - y;
      const Floats above = y - load<Floats>(high_y + b);
      Floats dx = left > right ? left : right;
      Floats dy = below > above ? below : above;
      dx = dx > 0 ? dx : Floats{};
      dy = dy > 0 ? dy : Floats{};
      hits |= (dx * dx + dy * dy <= limit) & (kBits << static_cast<std::int32_t>(kVectorLanes * v));
    }
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < kVectorLanes; ++lane) bits |= static_cast<std::uint32_t>(hits[lane]);
    mask |= static_cast<std::uint64_t>(bits) << (32 * half);
  }
  return mask;
}

// Appends all nodes within the radius to keys and nodes, `own_slot` left out; returns how many.
PURETOUR_VECTORISED
std::size_t gather_nodes(const SearchView& view, float x, float y, float squared_radius, std::uint32_t own_slot,
                         std::int32_t* keys, NodeId* nodes) {
  const auto key_limit = std::bit_cast<std::int32_t>(squared_radius);
  // Boxes are compared with a margin: their distance is rounded, and no node at the radius may be lost.
  // Finite, so that the boxes of the padding, infinitely far away, are never met.
  const float box_limit = std::min(squared_radius * 1.000001F, std::numeric_limits<float>::max());
  const std::size_t num_groups = (view.num_buckets + kGroupSize - 1) / kGroupSize;
  std::size_t found = 0;
  for (std::size_t first_group = 0; first_group < num_groups; first_group += kGroupSize) {
    std::uint64_t groups =
        boxes_within(view.group_low_x + first_group, view.group_low_y + first_group, view.group_high_x + first_group,
                     view.group_high_y + first_group, x, y, box_limit);
    for (; groups != 0; groups &= groups - 1) {
      const std::size_t first = (first_group + static_cast<std::size_t>(std::countr_zero(groups))) * kGroupSize;
      std::uint64_t buckets = boxes_within(view.low_x + first, view.low_y + first, view.high_x + first,
                                           view.high_y + first, x, y, box_limit);
      for (; buckets != 0; buckets &= buckets - 1) {
        const std::size_t bucket = first + static_cast<std::size_t>(std::countr_zero(buckets));
        const std::size_t slot = bucket * kBucketSize;
        std::int32_t distances[kBucketSize];
        for (std::size_t s = 0; s < kBucketSize; ++s) {
          const float dx = view.slot_x[slot + s] - x;
          const float dy = view.slot_y[slot + s] - y;
          distances[s] = std::bit_cast<std::int32_t>(dx * dx + dy * dy);
        }
        const std::size_t count = view.bucket_count[bucket];
        for (std::size_t s = 0; s < count; ++s) {
          // Written always, kept only if near enough: no branch to mispredict.
          keys[found] = distances[s];
          nodes[found] = view.slot_node[slot + s];
          found += static_cast<std::size_t>(distances[s] <= key_limit) & static_cast<std::size_t>(slot + s != own_slot);
        }
      }
    }
  }
  return found;
}

// ranks[i] = how many keys are smaller than keys[i]. Both arrays have room for whole vectors.
PURETOUR_VECTORISED
void rank_keys(const std::int32_t* keys, std::size_t count, std::int32_t* ranks) {
  for (std::size_t block = 0; block < count; block += 3 * kVectorLanes) {
    const Ints a = load<Ints>(keys + block);
    const Ints b = load<Ints>(keys + block + kVectorLanes);
    const Ints c = load<Ints>(keys + block + 2 * kVectorLanes);
    Ints rank_a = {};
    Ints rank_b = {};
    Ints rank_c = {};
    for (std::size_t i = 0; i < count; ++i) {
      rank_a -= (keys[i] < a);  // true is -1
      rank_b -= (keys[i] < b);
      rank_c -= (keys[i] < c);
    }
    std::memcpy(ranks + block, &rank_a, sizeof(Ints));
    std::memcpy(ranks + block + kVectorLanes, &rank_b, sizeof(Ints));
    std::memcpy(ranks + block + 2 * kVectorLanes, &rank_c, sizeof(Ints));
  }
}

}  // namespace

void RemainingNeighbours::Boxes::reset(std::size_t count) {
  const std::size_t padded = (count + kGroupSize - 1) / kGroupSize * kGroupSize;
  low_x.assign(padded, kInfinity);
  low_y.assign(padded, kInfinity);
  high_x.assign(padded, -kInfinity);
  high_y.assign(padded, -kInfinity);
}

void RemainingNeighbours::Boxes::add(std::size_t box, float x, float y) {
  low_x[box] = std::min(low_x[box], x);
  low_y[box] = std::min(low_y[box], y);
  high_x[box] = std::max(high_x[box], x);
  high_y[box] = std::max(high_y[box], y);
}

void RemainingNeighbours::Boxes::add(std::size_t box, const Boxes& others, std::size_t other) {
  add(box, others.low_x[other], others.low_y[other]);
  add(box, others.high_x[other], others.high_y[other]);
}

RemainingNeighbours::RemainingNeighbours(std::span<const Point> points) {
  const std::size_t n = points.size();
  point_x_.resize(n);
  point_y_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    point_x_[i] = static_cast<float>(points[i].x);
    point_y_[i] = static_cast<float>(points[i].y);
  }
  // The tree sorts the nodes by place; runs of its order are our buckets.
  const KdTree tree(points);
  tree_order_.resize(n);
  for (std::size_t p = 0; p < n; ++p) tree_order_[p] = tree.id_at(p);
  slot_of_.resize(n);
  found_keys_.resize(n + 2 * kBucketSize);
  found_nodes_.resize(n + 2 * kBucketSize);
  ranks_.resize(kRankingLimit + 2 * kBucketSize);
  ranked_nodes_.resize(kRankingLimit + 2 * kBucketSize);
  reset();
}

void RemainingNeighbours::reset() {
  lay_out(tree_order_);
  guess_k_ = 0;
}

void RemainingNeighbours::lay_out(std::span<const NodeId> nodes) {
  const std::size_t n = nodes.size();
  num_remaining_ = num_laid_out_ = n;
  const std::size_t num_buckets = (n + kBucketSize - 1) / kBucketSize;
  const std::size_t num_groups = (num_buckets + kGroupSize - 1) / kGroupSize;
  slot_node_.resize(num_buckets * kBucketSize);
  slot_x_.resize(slot_node_.size());
  slot_y_.resize(slot_node_.size());
  bucket_count_.assign(num_buckets, 0);
  bucket_boxes_.reset(num_buckets);
  group_boxes_.reset(num_groups);
  for (std::size_t slot = 0; slot < n; ++slot) {
    const auto i = static_cast<std::size_t>(nodes[slot]);
    slot_of_[i] = static_cast<std::uint32_t>(slot);
    slot_node_[slot] = nodes[slot];
    slot_x_[slot] = point_x_[i];
    slot_y_[slot] = point_y_[i];
    ++bucket_count_[slot / kBucketSize];
    bucket_boxes_.add(slot / kBucketSize, point_x_[i], point_y_[i]);
  }
  for (std::size_t b = 0; b < num_buckets; ++b) group_boxes_.add(b / kGroupSize, bucket_boxes_, b);
}

void RemainingNeighbours::remove(NodeId node) {
  const auto i = static_cast<std::size_t>(node);
  const std::size_t slot = slot_of_[i];
  assert(slot != kRemoved);
  const std::size_t bucket = slot / kBucketSize;
  const std::size_t last = bucket * kBucketSize + --bucket_count_[bucket];
  // The last remaining node of the bucket takes the place.
  const NodeId moved = slot_node_[last];
  slot_node_[slot] = moved;
  slot_x_[slot] = slot_x_[last];
  slot_y_[slot] = slot_y_[last];
  slot_of_[static_cast<std::size_t>(moved)] = static_cast<std::uint32_t>(slot);
  slot_of_[i] = kRemoved;
  --num_remaining_;
  // Half-empty buckets cost as much as full ones; moving together when a third is gone adds a constant per removal.
  if (num_remaining_ > kBucketSize && 3 * num_remaining_ <= 2 * num_laid_out_) {
    compacted_.clear();
    for (std::size_t b = 0; b < bucket_count_.size(); ++b) {
      const auto first = slot_node_.begin() + static_cast<std::ptrdiff_t>(b * kBucketSize);
      compacted_.insert(compacted_.end(), first, first + bucket_count_[b]);
    }
    lay_out(compacted_);
  }
}

void RemainingNeighbours::gather(float x, float y, float squared_radius, std::uint32_t own_slot) {
  const SearchView view = {group_boxes_.low_x.data(),
                           group_boxes_.low_y.data(),
                           group_boxes_.high_x.data(),
                           group_boxes_.high_y.data(),
                           bucket_boxes_.low_x.data(),
                           bucket_boxes_.low_y.data(),
                           bucket_boxes_.high_x.data(),
                           bucket_boxes_.high_y.data(),
                           slot_x_.data(),
                           slot_y_.data(),
                           slot_node_.data(),
                           bucket_count_.data(),
                           bucket_count_.size()};
  num_found_ = gather_nodes(view, x, y, squared_radius, own_slot, found_keys_.data(), found_nodes_.data());
}

std::size_t RemainingNeighbours::select(std::size_t k, NodeId* out) {
  const std::size_t count = num_found_;
  const std::size_t wanted = std::min(k, count);
  if (count <= kRankingLimit) {
    rank_keys(found_keys_.data(), count, ranks_.data());
    std::size_t rank_sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto rank = static_cast<std::size_t>(ranks_[i]);
      rank_sum += rank;
      ranked_nodes_[rank] = found_nodes_[i];
    }
    // The ranks add up to 0 + 1 + ... + (count - 1) exactly if no two distances are equal.
    if (rank_sum == count * (count - 1) / 2) {
      std::copy_n(ranked_nodes_.begin(), wanted, out);
      return wanted;
    }
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
    gather(x, y, kInfinity, own_slot);
    return select(k, out);
  }
  // Queries follow a walk, so the last one tells the radius that holds a little more than k nodes; the first one takes
  // it from the mean density. Widen it until enough are found.
  if (guess_k_ != k) {
    const float width = *std::max_element(group_boxes_.high_x.begin(), group_boxes_.high_x.end()) -
                        *std::min_element(group_boxes_.low_x.begin(), group_boxes_.low_x.end());
    const float height = *std::max_element(group_boxes_.high_y.begin(), group_boxes_.high_y.end()) -
                         *std::min_element(group_boxes_.low_y.begin(), group_boxes_.low_y.end());
    const float area = std::max(width, 1e-15F) * std::max(height, 1e-15F);
    squared_guess_ = static_cast<float>(k) * area / (3 * static_cast<float>(num_remaining_));
    guess_k_ = k;
  }
  for (float squared_radius = squared_guess_;; squared_radius *= 4 * num_found_ >= k ? 2.0F : 6.0F) {
    gather(x, y, squared_radius, own_slot);
    if (num_found_ >= k || squared_radius == kInfinity) break;
  }
  const std::size_t count = select(k, out);
  const auto last = static_cast<std::size_t>(out[count - 1]);
  const float dx = point_x_[last] - x;
  const float dy = point_y_[last] - y;
  squared_guess_ = std::max(kGuessMargin * (dx * dx + dy * dy), std::numeric_limits<float>::min());
  return count;
}

}  // namespace puretour
