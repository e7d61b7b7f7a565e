// The batch-normalised encoder of kernels/layers/encoder.h as one LibTorch function with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/kernels/layers/encoder.h"
#include "puretour/nn/kernel_functions.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

/// The weights of one block: attention (in_weight is defined) or feed-forward.
struct EncoderBlockWeights {
  Tensor in_weight;   // (3d, d): queries, keys and values
  Tensor out_weight;  // (d, d)
  Tensor first_weight;
  Tensor first_bias;
  Tensor second_weight;
  Tensor second_bias;
  Packing packing;
};

/// Of a batch normalisation; undefined: none.
struct EncoderNormWeights {
  Tensor scale;
  Tensor shift;
};

struct EncoderWeights {
  std::vector<EncoderBlockWeights> blocks;
  std::vector<EncoderNormWeights> norms;  // one before every block and one behind the last
  kernels::Encoder::Residual residual = kernels::Encoder::Residual::kInput;
  kernels::Activation activation = kernels::Activation::kRelu;
  kernels::AttentionShape shape;
  double epsilon = 1e-5;
};

struct EncoderResult {
  Tensor rows;                                      // (R, d)
  std::vector<kernels::NormStatistics> statistics;  // of the whole batch, per normalisation
};

/// The groups of the plan share out the rows (R, d); `add_up` is also used on the way back. For what kernels_support().
EncoderResult kernel_encoder(const Tensor& rows, const EncoderWeights& weights, const AttentionPlanPtr& plan,
                             const kernels::AddUp& add_up);

}  // namespace puretour::nn
