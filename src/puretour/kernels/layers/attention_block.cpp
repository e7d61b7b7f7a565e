// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/attention_block.h"

#include <algorithm>

#include "puretour/kernels/gemm/amx.h"
#include "puretour/kernels/layers/group_chunks.h"
#include "puretour/kernels/layers/tile_attention_block.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// Kept from call to call.
struct Workspace {
  AlignedVector<float> qkv;
  AlignedVector<float> attended;
  AlignedVector<float> qkv_gradient;
  AlignedVector<float> attended_gradient;
};

void project_in(const AttentionBlock& block, const GroupChunk& chunk, const float* x, Workspace& work) {
  ensure_size(work.qkv, chunk.num_rows * 3 * block.shape.dim());
  ensure_size(work.attended, chunk.num_rows * block.shape.dim());
  block.project_in.apply(x, chunk.num_rows, work.qkv.data());
}

// Of the chunk behind `chunk`, at most.
std::size_t num_rows_behind(const GroupChunk& chunk, std::span<const Group> groups) {
  const std::size_t end = groups.back().query_begin + groups.back().num_queries;
  return std::min(kChunkRows, end - chunk.first_row - chunk.num_rows);
}

}  // namespace

void attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x, const float* residual,
                     float* out) {
  const std::size_t dim = block.shape.dim();
  for_group_chunks(groups, [&](const GroupChunk& chunk) {
    const std::size_t first = chunk.first_row * dim;
    const std::size_t size = chunk.num_rows * dim;
    PrefetchQueue prefetches;
    prefetches.writes(out + first, size);
    prefetches.reads(x + first + size, num_rows_behind(chunk, groups) * dim);
    attention_block(block, chunk.groups, x + first, residual == nullptr ? nullptr : residual + first, out + first,
                    prefetches);
  });
}

void attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x, const float* residual,
                     float* out, PrefetchQueue& prefetches) {
  if (amx_supports(block)) return tile_attention_block(block, groups, x, residual, out, prefetches);
  const std::size_t dim = block.shape.dim();
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  for_group_chunks(groups, [&](const GroupChunk& chunk) {
    const std::size_t first = chunk.first_row * dim;
    project_in(block, chunk, x + first, work);
    const float* qkv = work.qkv.data();
    const std::size_t stride = 3 * dim;
    group_attention(chunk.groups, block.shape, {qkv, stride}, {qkv + dim, stride}, {qkv + 2 * dim, stride},
                    {work.attended.data(), dim}, block.precision());
    block.project_out.apply(work.attended.data(), chunk.num_rows, out + first,
                            residual == nullptr ? nullptr : residual + first);
  });
}

AttentionBlockGradientPass::AttentionBlockGradientPass(const AttentionBlock& block,
                                                       const TransposedAttentionBlock& transposed, bool residual_is_x,
                                                       const AttentionBlockGradient& sums)
    : block_(block),
      transposed_(transposed),
      residual_is_x_(residual_is_x),
      sums_(sums),
      by_tiles_(amx_supports(block) && sums.in_bias == nullptr) {
  if (by_tiles_) begin_tile_attention_block_gradient(block);
}

void AttentionBlockGradientPass::add(std::span<const Group> groups, const float* x, const float* out_gradient,
                                     float* x_gradient, PrefetchQueue& prefetches) {
  const std::size_t dim = block_.shape.dim();
  for_group_chunks(groups, [&](const GroupChunk& chunk) {
    const std::size_t first = chunk.first_row * dim;
    if (!by_tiles_) return add_chunk(chunk, x + first, out_gradient + first, x_gradient + first);
    tile_attention_block_gradient(block_, transposed_, chunk.groups, x + first, out_gradient + first, residual_is_x_,
                                  x_gradient + first, prefetches);
    if (sums_.out_bias != nullptr) add_column_sums(out_gradient + first, chunk.num_rows, dim, dim, sums_.out_bias);
  });
}

void AttentionBlockGradientPass::add_chunk(const GroupChunk& chunk, const float* x, const float* out_gradient,
                                           float* x_gradient) {
  const std::size_t dim = block_.shape.dim();
  const std::size_t stride = 3 * dim;
  const std::size_t rows = chunk.num_rows;
  const auto add_product =
      block_.precision() == Precision::kFloat ? add_transposed_product : add_transposed_product_bfloat16;
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  project_in(block_, chunk, x, work);
  ensure_size(work.attended_gradient, rows * dim);
  transposed_.project_out.apply(out_gradient, rows, work.attended_gradient.data());
  const float* qkv = work.qkv.data();
  float* qkv_gradient = ensure_size(work.qkv_gradient, rows * stride);
  group_attention_gradient(chunk.groups, block_.shape, {qkv, stride}, {qkv + dim, stride}, {qkv + 2 * dim, stride},
                           {work.attended_gradient.data(), dim}, {qkv_gradient, stride}, {qkv_gradient + dim, stride},
                           {qkv_gradient + 2 * dim, stride}, block_.precision(), {work.attended.data(), dim},
                           KeyGradients::kWrite);
  add_product(out_gradient, dim, dim, work.attended.data(), dim, dim, rows, sums_.out_weight, dim);
  if (sums_.out_bias != nullptr) add_column_sums(out_gradient, rows, dim, dim, sums_.out_bias);
  add_product(qkv_gradient, stride, stride, x, dim, dim, rows, sums_.in_weight, dim);
  if (sums_.in_bias != nullptr) add_column_sums(qkv_gradient, rows, stride, stride, sums_.in_bias);
  transposed_.project_in.apply(qkv_gradient, rows, x_gradient, residual_is_x_ ? out_gradient : nullptr);
}

void AttentionBlockGradientPass::end() {
  if (by_tiles_) end_tile_attention_block_gradient(sums_);
}

void attention_block_gradient(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                              std::span<const Group> groups, const float* x, const float* out_gradient,
                              bool residual_is_x, float* x_gradient, const AttentionBlockGradient& sums) {
  const std::size_t dim = block.shape.dim();
  AttentionBlockGradientPass pass(block, transposed, residual_is_x, sums);
  for_group_chunks(groups, [&](const GroupChunk& chunk) {
    const std::size_t first = chunk.first_row * dim;
    const std::size_t size = chunk.num_rows * dim;
    const std::size_t next_size = num_rows_behind(chunk, groups) * dim;
    PrefetchQueue prefetches;
    prefetches.writes(x_gradient + first, size);
    prefetches.reads(x + first + size, next_size);
    prefetches.reads(out_gradient + first + size, next_size);
    pass.add(chunk.groups, x + first, out_gradient + first, x_gradient + first, prefetches);
  });
  pass.end();
}

}  // namespace puretour::kernels
