// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode/pointer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/gemm/panels.h"
#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/layers/group_chunks.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// Groups with the same keys whose queries follow each other, or a single one: their products are one.
struct Batch {
  std::span<const PointerGroup> groups;
  bool new_keys = true;

  [[nodiscard]] const PointerGroup& first() const { return groups.front(); }
  [[nodiscard]] std::size_t query_begin() const { return first().rows.query_begin; }
  [[nodiscard]] std::size_t num_queries() const {
    return groups.back().rows.query_begin + groups.back().rows.num_queries - query_begin();
  }
  [[nodiscard]] std::size_t num_keys() const { return first().rows.num_keys; }
};

bool same_keys(const PointerGroup& a, const PointerGroup& b) {
  return a.rows.key_begin == b.rows.key_begin && a.rows.num_keys == b.rows.num_keys && a.coordinates == b.coordinates;
}

template <class Use>
void for_batches(std::span<const PointerGroup> groups, const Use& use) {
  std::size_t begin = 0;
  while (begin < groups.size()) {
    std::size_t end = begin + 1;
    std::size_t next_query = groups[begin].rows.query_begin + groups[begin].rows.num_queries;
    while (end < groups.size() && same_keys(groups[begin], groups[end]) && groups[end].rows.query_begin == next_query &&
           next_query + groups[end].rows.num_queries - groups[begin].rows.query_begin <= kChunkRows) {
      next_query += groups[end++].rows.num_queries;
    }
    use(Batch{groups.subspan(begin, end - begin), begin == 0 || !same_keys(groups[begin - 1], groups[begin])});
    begin = end;
  }
}

// Kept from call to call.
struct Workspace {
  // In float:
  AlignedVector<float> keys_by_channel;  // panels of dim x keys
  AlignedVector<float> keys_by_row;      // panels of keys x dim
  // In bfloat16, in whole tiles:
  AlignedVector<std::uint32_t> key_rows;             // [key][pairs of channels]
  AlignedVector<std::uint32_t> key_panels;           // panels of pairs of channels x keys
  AlignedVector<std::uint32_t> key_row_panels;       // panels of pairs of keys x channels
  AlignedVector<std::uint32_t> query_rows;           // [query][pairs of channels]
  AlignedVector<std::uint32_t> score_gradient_rows;  // [query][pairs of keys]

  AlignedVector<float> offsets;       // keys x padded keys: minus their distances
  AlignedVector<std::int32_t> ranks;  // of padded keys: what is missing is seen by no query
  AlignedVector<float> scores;        // queries x padded keys, clipped; then their gradients
  AlignedVector<float> weights;       // one row: exp(score - largest)
};

// The products of queries with keys and what follows from them on the way back, in float or rounded.
class Products {
 public:
  Products(const PointerShape& shape, Rows queries, Rows keys, Precision precision, Workspace& work)
      : dim_(shape.dim),
        queries_(queries),
        keys_(keys),
        rounded_(precision == Precision::kBfloat16 && active_isa() >= Isa::kAvx512Bf16),
        work_(work) {}

  void take_keys(const Batch& batch, bool backward) {
    const std::size_t count = batch.num_keys();
    const float* rows = keys_.data + batch.first().rows.key_begin * keys_.stride;
    if (!rounded_) {
      pack_rows_as_columns(rows, keys_.stride, count, dim_, ensure_size(work_.keys_by_channel, padded(count) * dim_));
      if (backward) pack_rows(rows, keys_.stride, count, dim_, ensure_size(work_.keys_by_row, count * padded(dim_)));
      return;
    }
    const std::size_t num_pairs = num_row_pairs(dim_);
    ensure_size(work_.key_rows, padded(count) * num_pairs);
    ensure_size(work_.key_panels, padded(count) * num_pairs);
    round_rows(rows, keys_.stride, count, dim_, work_.key_rows.data(), num_pairs, num_pairs);
    std::fill(work_.key_rows.data() + count * num_pairs, work_.key_rows.data() + padded(count) * num_pairs, 0);
    for (std::size_t key = 0; key < count; key += kBlock) {
      for (std::size_t k = 0; k < num_pairs; k += kBlock) {
        transpose_block(work_.key_rows.data() + key * num_pairs + k, num_pairs,
                        work_.key_panels.data() + key * num_pairs + k * kBlock, kBlock);
      }
    }
    if (!backward) return;
    round_row_panels(rows, keys_.stride, count, dim_,
                     ensure_size(work_.key_row_panels, num_row_pairs(count) * padded(dim_)));
  }

  // work.scores = query . key.
  void score(const Batch& batch) {
    const std::size_t count = batch.num_queries();
    const std::size_t width = padded(batch.num_keys());
    const float* queries = queries_.data + batch.query_begin() * queries_.stride;
    float* scores = ensure_size(work_.scores, count * width);
    if (!rounded_) {
      return multiply(queries, count, queries_.stride, {work_.keys_by_channel.data(), dim_, dim_ * kBlock, width},
                      nullptr, scores, width);
    }
    const std::size_t num_pairs = num_row_pairs(dim_);
    const std::size_t stride = padded_stride(num_pairs);
    ensure_size(work_.query_rows, padded(count) * stride);
    round_rows(queries, queries_.stride, count, dim_, work_.query_rows.data(), stride, num_pairs);
    gemm_bf16({work_.query_rows.data(), stride, work_.key_panels.data(), kBlock, num_pairs * kBlock, num_pairs, nullptr,
               0, scores, width, count, width});
  }

  // From the gradients of the scores, which work.scores has become.
  void hand_back(const Batch& batch, MutableRows query_gradient, MutableRows key_gradient) {
    const std::size_t count = batch.num_queries();
    const std::size_t num_keys = batch.num_keys();
    const std::size_t width = padded(num_keys);
    const float* queries = queries_.data + batch.query_begin() * queries_.stride;
    float* of_queries = query_gradient.data + batch.query_begin() * query_gradient.stride;
    float* of_keys = key_gradient.data + batch.first().rows.key_begin * key_gradient.stride;
    if (!rounded_) {
      multiply(work_.scores.data(), count, width, {work_.keys_by_row.data(), num_keys, num_keys * kBlock, dim_},
               nullptr, of_queries, query_gradient.stride);
      return add_transposed_product(work_.scores.data(), width, num_keys, queries, queries_.stride, dim_, count,
                                    of_keys, key_gradient.stride);
    }
    const std::size_t num_pairs = num_row_pairs(num_keys);
    const std::size_t stride = padded_stride(num_pairs);
    ensure_size(work_.score_gradient_rows, padded(count) * stride);
    round_rows(work_.scores.data(), width, count, num_keys, work_.score_gradient_rows.data(), stride, num_pairs);
    gemm_bf16({work_.score_gradient_rows.data(), stride, work_.key_row_panels.data(), kBlock, num_pairs * kBlock,
               num_pairs, nullptr, 0, of_queries, query_gradient.stride, count, dim_});
    add_transposed_product_bfloat16(work_.scores.data(), width, num_keys, queries, queries_.stride, dim_, count,
                                    of_keys, key_gradient.stride);
  }

 private:
  std::size_t dim_;
  Rows queries_;
  Rows keys_;
  bool rounded_;
  Workspace& work_;
};

// A row of products, with what makes scores of it. All arrays are padded.
struct ScoreRow {
  float* scores = nullptr;         // products; become clip * tanh(scale * product - distance)
  float* weights = nullptr;        // receives exp(score - largest) of the keys that are seen, 0 of the others
  const float* offsets = nullptr;  // minus the distances; null: none
  const std::int32_t* ranks = nullptr;
  std::int32_t least_rank = 0;  // that is seen
  std::size_t width = 0;
  float scale = 1;
  float clip = 1;
  float largest = 0;  // receives that of the scores that are seen
  float sum = 0;      // receives that of the weights
};

template <int kLanes>
PURETOUR_INLINE void weigh_row_impl(ScoreRow& row) {
  using B = Block<kLanes>;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  B best;
  B::fill(best, kNever);
  for (std::size_t i = 0; i < row.width; i += kBlock) {
    B scores;
    B::load(scores, row.scores + i);
    for (std::size_t r = 0; r < B::kRegisters; ++r) scores.part[r] *= row.scale;
    if (row.offsets != nullptr) {
      B offsets;
      B::load(offsets, row.offsets + i);
      B::add(scores, offsets);
    }
    B::hyperbolic_tangent(scores);
    for (std::size_t r = 0; r < B::kRegisters; ++r) scores.part[r] *= row.clip;
    B::store(scores, row.scores + i);
    for (std::size_t r = 0; r < B::kRegisters; ++r) {
      typename B::Int ranks;
      std::memcpy(&ranks, row.ranks + i + r * kLanes, sizeof ranks);
      scores.part[r] = ranks < row.least_rank ? typename B::Float{} + kNever : scores.part[r];
    }
    B::store(scores, row.weights + i);
    B::maximum(best, scores);
  }
  row.largest = B::largest(best);
  B total;
  B::fill(total, 0);
  for (std::size_t i = 0; i < row.width; i += kBlock) {
    B weights;
    B::load(weights, row.weights + i);
    for (std::size_t r = 0; r < B::kRegisters; ++r) weights.part[r] -= row.largest;
    B::exponential(weights);
    B::store(weights, row.weights + i);
    B::add(total, weights);
  }
  row.sum = B::sum(total);
}

PURETOUR_KERNEL(weigh_row, (ScoreRow & row), (row))

void take_distances(const PointerGroup& group, Workspace& work) {
  if (group.coordinates == nullptr) return;
  const std::size_t num_keys = group.rows.num_keys;
  const std::size_t width = padded(num_keys);
  float* offsets = ensure_size(work.offsets, num_keys * width);
  std::fill_n(offsets, num_keys * width, 0.0F);
  for (std::size_t i = 0; i < num_keys; ++i) {
    float here[kDistanceDims];
    for (std::size_t k = 0; k < kDistanceDims; ++k) here[k] = group.coordinates[k * num_keys + i];
    subtract_distances(offsets + i * width, group.coordinates, num_keys, here, num_keys);
  }
}

void take_ranks(const Group& rows, Workspace& work) {
  const std::size_t width = padded(rows.num_keys);
  std::int32_t* ranks = ensure_size(work.ranks, width);
  if (rows.ranks != nullptr) {
    std::copy_n(rows.ranks, rows.num_keys, ranks);
  } else {
    std::fill_n(ranks, rows.num_keys, std::numeric_limits<std::int32_t>::max());
  }
  std::fill_n(ranks + rows.num_keys, width - rows.num_keys, std::numeric_limits<std::int32_t>::min());
}

// Calls use(i, chosen, row) for query number i of the matrix, with its scores and weights, or use_none(i, scores) if
// its choice is none of the keys.
template <class Use, class UseNone>
void for_rows(const Batch& batch, const PointerShape& shape, Workspace& work, const Use& use, const UseNone& use_none) {
  const std::size_t width = padded(batch.num_keys());
  ensure_size(work.weights, width);
  for (const PointerGroup& group : batch.groups) {
    take_ranks(group.rows, work);
    for (std::size_t q = 0; q < group.rows.num_queries; ++q) {
      const std::size_t query = group.rows.query_begin + q;
      float* scores = work.scores.data() + (query - batch.query_begin()) * width;
      if (group.chosen[q] < 0) {
        if (group.is_best != nullptr) group.is_best[q] = 0;
        use_none(query, std::span(scores, width));
        continue;
      }
      const float* offsets = group.coordinates == nullptr
                                 ? nullptr
                                 : work.offsets.data() + static_cast<std::size_t>(group.here[q]) * width;
      ScoreRow row{scores,
                   work.weights.data(),
                   offsets,
                   work.ranks.data(),
                   group.rows.first_rank + static_cast<std::int32_t>(q),
                   width,
                   shape.scale,
                   shape.clip};
      weigh_row(row);
      if (group.is_best != nullptr) {
        group.is_best[q] = scores[static_cast<std::size_t>(group.chosen[q])] >= row.largest ? 1 : 0;
      }
      use(query, static_cast<std::size_t>(group.chosen[q]), row);
    }
  }
}

float log_prob_of(std::size_t chosen, const ScoreRow& row, float floor) {
  const float log_prob = row.scores[chosen] - row.largest - std::log(row.sum);
  return floor == 0 ? log_prob : std::log(std::exp(log_prob) + floor);
}

constexpr float kLogOfNothing = -std::numeric_limits<float>::infinity();

}  // namespace

void pointer_log_probs(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                       float* log_probs, Precision precision) {
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  Products products(shape, queries, keys, precision, work);
  for_batches(groups, [&](const Batch& batch) {
    if (batch.new_keys) {
      products.take_keys(batch, false);
      take_distances(batch.first(), work);
    }
    products.score(batch);
    for_rows(
        batch, shape, work,
        [&](std::size_t query, std::size_t chosen, const ScoreRow& row) {
          log_probs[query] = log_prob_of(chosen, row, shape.floor);
        },
        [&](std::size_t query, std::span<float> /*scores*/) { log_probs[query] = kLogOfNothing; });
  });
}

void pointer_gradient(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                      const float* log_prob_gradients, MutableRows query_gradient, MutableRows key_gradient,
                      Precision precision, float* log_probs) {
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  Products products(shape, queries, keys, precision, work);
  for_batches(groups, [&](const Batch& batch) {
    if (batch.new_keys) {
      products.take_keys(batch, true);
      take_distances(batch.first(), work);
    }
    products.score(batch);
    for_rows(
        batch, shape, work,
        [&](std::size_t query, std::size_t chosen, const ScoreRow& row) {
          if (log_probs != nullptr) log_probs[query] = log_prob_of(chosen, row, shape.floor);
          const float probability = row.weights[chosen] / row.sum;
          float incoming = log_prob_gradients[query];
          if (shape.floor != 0) incoming *= probability / (probability + shape.floor);
          // Of scale * tanh, by way of its value.
          const float score = row.scores[chosen];
          const float slope = (shape.clip - score * score / shape.clip) * shape.scale;
          clipped_score_gradient(row.scores, row.weights, row.width, -incoming / row.sum, shape.clip, shape.scale);
          row.scores[chosen] = incoming * (1 - probability) * slope;
        },
        [&](std::size_t query, std::span<float> scores) {
          if (log_probs != nullptr) log_probs[query] = kLogOfNothing;
          std::fill(scores.begin(), scores.end(), 0.0F);
        });
    products.hand_back(batch, query_gradient, key_gradient);
  });
}

}  // namespace puretour::kernels
