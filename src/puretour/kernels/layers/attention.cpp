// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/attention.h"

#include <algorithm>
#include <vector>

#include "puretour/base/parallel.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/tile_attention.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"

namespace puretour::kernels {
namespace {

// Queries that share one pass over the keys: whole tiles of the product, and their scores fit L2.
constexpr std::size_t kQueryBlock = 6;
// Blocks per work item: few enough to balance threads, many enough to pay for handing them out.
constexpr std::size_t kBlocksPerItem = 16;
// By tiles, the keys are brought into form for every so many queries.
constexpr std::size_t kTileQueries = 256;

// Keys and values of one head.
struct Head {
  PackedMatrix keys;    // head_dim x rows
  PackedMatrix values;  // rows x head_dim
};

}  // namespace

void attention(const AttentionRows& queries, const AttentionRows& keys, const AttentionRows& values,
               const AttentionShape& shape, float* out, int threads) {
  const std::size_t dim = shape.dim();
  const std::size_t num_keys = keys.count;
  std::vector<Head> heads(shape.num_heads);
  parallel_for(heads.size(), threads, [&](std::size_t h) {
    heads[h].keys = PackedMatrix(shape.head_dim, num_keys);
    heads[h].values = PackedMatrix(num_keys, shape.head_dim);
    for (std::size_t j = 0; j < num_keys; ++j) {
      const float* key = keys.data + j * keys.stride + h * shape.head_dim;
      const float* value = values.data + j * values.stride + h * shape.head_dim;
      for (std::size_t c = 0; c < shape.head_dim; ++c) {
        heads[h].keys.set(c, j, key[c]);
        heads[h].values.set(j, c, value[c]);
      }
    }
  });
  const std::size_t rows_per_item = kQueryBlock * kBlocksPerItem;
  const std::size_t items_per_head = (queries.count + rows_per_item - 1) / rows_per_item;
  parallel_for(heads.size() * items_per_head, threads, [&](std::size_t item) {
    const std::size_t h = item / items_per_head;
    const std::size_t begin = item % items_per_head * rows_per_item;
    const std::size_t end = std::min(begin + rows_per_item, queries.count);
    const std::size_t score_stride = padded(num_keys);
    AlignedVector<float> scaled(kQueryBlock * shape.head_dim);
    AlignedVector<float> scores(kQueryBlock * score_stride);
    for (std::size_t i = begin; i < end; i += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, end - i);
      for (std::size_t q = 0; q < count; ++q) {
        const float* query = queries.data + (i + q) * queries.stride + h * shape.head_dim;
        for (std::size_t c = 0; c < shape.head_dim; ++c) scaled[q * shape.head_dim + c] = query[c] * shape.scale;
      }
      PanelView all_keys = view_of(heads[h].keys);
      all_keys.columns = score_stride;  // whole blocks are faster; behind the last key they are zero
      multiply(scaled.data(), count, shape.head_dim, all_keys, nullptr, scores.data(), score_stride);
      float sums[kQueryBlock];
      exponentials_of_rows(scores.data(), count, score_stride, num_keys, sums);
      float* result = out + i * dim + h * shape.head_dim;
      multiply(scores.data(), count, score_stride, view_of(heads[h].values), nullptr, result, dim);
      for (std::size_t q = 0; q < count; ++q) {
        for (std::size_t c = 0; c < shape.head_dim; ++c) result[q * dim + c] /= sums[q];
      }
    }
  });
}

void self_attention(const float* qkv, std::size_t num_rows, const AttentionShape& shape, float* out, int threads,
                    Precision precision) {
  const std::size_t dim = shape.dim();
  const std::size_t stride = 3 * dim;
  if (precision == Precision::kBfloat16 && amx_supports(shape)) {
    parallel_for_blocks(num_rows, kTileQueries, threads, [&](std::size_t begin, std::size_t end) {
      const Group group{begin, end - begin, 0, num_rows};
      tile_attention(std::span(&group, 1), shape, {qkv, stride}, {qkv + dim, stride}, {qkv + 2 * dim, stride},
                     {out, dim});
    });
    return;
  }
  attention({qkv, num_rows, stride}, {qkv + dim, num_rows, stride}, {qkv + 2 * dim, num_rows, stride}, shape, out,
            threads);
}

}  // namespace puretour::kernels
