// SPDX-License-Identifier: MIT
#include "puretour/kernels/attention_block.h"

#include "puretour/kernels/aligned.h"
#include "puretour/kernels/amx.h"
#include "puretour/kernels/group_chunks.h"
#include "puretour/kernels/scratch.h"

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
  room(work.qkv, chunk.num_rows * 3 * block.shape.dim());
  room(work.attended, chunk.num_rows * block.shape.dim());
  block.project_in.apply(x, chunk.num_rows, work.qkv.data());
}

}  // namespace

void attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x, const float* residual,
                     float* out) {
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

void attention_block_gradient(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                              std::span<const Group> groups, const float* x, const float* out_gradient,
                              bool residual_is_x, float* x_gradient, const AttentionBlockGradient& sums) {
  const std::size_t dim = block.shape.dim();
  const std::size_t stride = 3 * dim;
  const auto add_product =
      block.precision() == Precision::kFloat ? add_transposed_product : add_transposed_product_bfloat16;
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  for_group_chunks(groups, [&](const GroupChunk& chunk) {
    const std::size_t rows = chunk.num_rows;
    const float* in = x + chunk.first_row * dim;
    const float* incoming = out_gradient + chunk.first_row * dim;
    float* outgoing = x_gradient + chunk.first_row * dim;
    project_in(block, chunk, in, work);
    room(work.attended_gradient, rows * dim);
    transposed.project_out.apply(incoming, rows, work.attended_gradient.data());
    const float* qkv = work.qkv.data();
    float* qkv_gradient = room(work.qkv_gradient, rows * stride);
    group_attention_gradient(chunk.groups, block.shape, {qkv, stride}, {qkv + dim, stride}, {qkv + 2 * dim, stride},
                             {work.attended_gradient.data(), dim}, {qkv_gradient, stride}, {qkv_gradient + dim, stride},
                             {qkv_gradient + 2 * dim, stride}, block.precision(), {work.attended.data(), dim},
                             KeyGradients::kWrite);
    add_product(incoming, dim, dim, work.attended.data(), dim, dim, rows, sums.out_weight, dim);
    if (sums.out_bias != nullptr) add_column_sums(incoming, rows, dim, dim, sums.out_bias);
    add_product(qkv_gradient, stride, stride, in, dim, dim, rows, sums.in_weight, dim);
    if (sums.in_bias != nullptr) add_column_sums(qkv_gradient, rows, stride, stride, sums.in_bias);
    transposed.project_in.apply(qkv_gradient, rows, outgoing, residual_is_x ? incoming : nullptr);
  });
}

}  // namespace puretour::kernels
