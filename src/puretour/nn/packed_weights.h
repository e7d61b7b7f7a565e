// The weights of layers in the form that kernels read, for both ways.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

struct PackedLinear {
  kernels::Linear forward;
  kernels::Linear backward;
};
struct PackedFeedForward {
  kernels::FeedForward forward;
  kernels::TransposedFeedForward backward;
};
struct PackedAttentionBlock {
  kernels::AttentionBlock forward;
  kernels::TransposedAttentionBlock backward;
};

/// Weights (out, in), without gaps; biases may be empty. What `packing` has already is taken from there.
std::shared_ptr<const PackedLinear> packed_linear(const Tensor& weight, const Tensor& bias, const Packing& packing);
std::shared_ptr<const PackedFeedForward> packed_feed_forward(const Tensor& first_weight, const Tensor& first_bias,
                                                             const Tensor& second_weight, const Tensor& second_bias,
                                                             kernels::Activation activation, const Packing& packing);
std::shared_ptr<const PackedAttentionBlock> packed_attention_block(const Tensor& in_weight, const Tensor& out_weight,
                                                                   const Tensor& out_bias,
                                                                   const kernels::AttentionShape& shape,
                                                                   const Packing& packing);

}  // namespace puretour::nn
