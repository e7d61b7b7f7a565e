// Self-attention of groups together with its projections, with products of bfloat16: two heads of a group at a time,
// whose queries, keys and values go from the product that makes them to the forms that attention reads, all in the
// L1 caches.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/simd/prefetch_queue.h"

namespace puretour::kernels {

/// Whether the layers are rounded and of a suitable width, and this CPU has an AMX unit. Every group is padded to
/// whole tiles, which costs more than it saves where products are slower.
bool amx_supports(const AttentionBlock& block);

/// As attention_block() and AttentionBlockGradientPass::add(), for a few groups. Between begin() and end() the
/// gradients of the weights are added up in an order of their own.
void tile_attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x,
                          const float* residual, float* out, PrefetchQueue& prefetches);
void begin_tile_attention_block_gradient(const AttentionBlock& block);
void tile_attention_block_gradient(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                                   std::span<const Group> groups, const float* x, const float* out_gradient,
                                   bool residual_is_x, float* x_gradient, PrefetchQueue& prefetches);
void end_tile_attention_block_gradient(const AttentionBlockGradient& sums);

}  // namespace puretour::kernels
