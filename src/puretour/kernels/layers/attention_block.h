// Self-attention of groups of rows together with its projections: queries, keys, values and what was attended to stay
// in the cache, and the backward pass computes them again.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/group_attention.h"
#include "puretour/kernels/layers/group_chunks.h"
#include "puretour/kernels/simd/prefetch_queue.h"

namespace puretour::kernels {

struct AttentionBlock {
  Linear project_in;   // dim -> queries, keys and values side by side
  Linear project_out;  // dim -> dim
  AttentionShape shape;

  [[nodiscard]] Precision precision() const {
    return project_in.bf16.empty() ? Precision::kFloat : Precision::kBfloat16;
  }
};

/// out[r] = residual[r] + project_out(attention of row r within its group). The groups share out all rows in their
/// order; each has the same rows as queries and as keys. `residual` may be null (none) or x.
void attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x, const float* residual,
                     float* out);
/// The same, fetching what is prefetches meanwhile.
void attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x, const float* residual,
                     float* out, PrefetchQueue& prefetches);

/// The weights for the way back.
struct TransposedAttentionBlock {
  Linear project_in;   // queries, keys and values -> dim
  Linear project_out;  // dim -> dim
};

/// Where the gradients are added: weights as [outputs][inputs]; null where there is no bias.
struct AttentionBlockGradient {
  float* in_weight = nullptr;
  float* in_bias = nullptr;
  float* out_weight = nullptr;
  float* out_bias = nullptr;
};

/// From the gradient of `out`: writes that of x, adds those of the weights. With `residual_is_x` the gradient of x
/// includes the share through the residual.
void attention_block_gradient(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                              std::span<const Group> groups, const float* x, const float* out_gradient,
                              bool residual_is_x, float* x_gradient, const AttentionBlockGradient& sums);

/// The same in parts: add() some groups at a time, then end(). Meanwhile the gradients of the weights are in the
/// scratch memory of the thread, which must not begin another pass.
class AttentionBlockGradientPass {
 public:
  AttentionBlockGradientPass(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                             bool residual_is_x, const AttentionBlockGradient& sums);

  void add(std::span<const Group> groups, const float* x, const float* out_gradient, float* x_gradient,
           PrefetchQueue& prefetches);
  void end();

 private:
  void add_chunk(const GroupChunk& chunk, const float* x, const float* out_gradient, float* x_gradient);

  const AttentionBlock& block_;
  const TransposedAttentionBlock& transposed_;
  bool residual_is_x_;
  AttentionBlockGradient sums_;
  bool by_tiles_;
};

}  // namespace puretour::kernels
