// The decoder of kernels/decode/tour_decoder.h as one LibTorch function with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "puretour/kernels/decode/tour_decoder.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/taught_steps.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

struct DecoderForm {
  kernels::NodeShares shares;
  kernels::PointerShape pointer;
  std::optional<kernels::AttentionShape> glimpse;
  std::int64_t first_step = 0;  // 0: the network chooses the first node
};

struct DecoderWeights {
  Tensor shares;       // (C, d): from embeddings to shares
  Tensor graph;        // (d, d): from the mean of all embeddings
  Tensor first;        // (d, d): from the embedding of the first node
  Tensor placeholder;  // (d): stands for the nodes before the first step; undefined where there are some
  Tensor out;          // (d, d): projects glimpses; undefined: none
  Packing shares_packing;
  Packing graph_packing;
  Packing first_packing;
  Packing out_packing;
};

/// Log-probabilities (B, G, S) of the steps of the tours (B, G, N), from node embeddings (B, N, d). `coordinates` (B,
/// 6, N) give distances, or are undefined. For what kernels_support(), and at least one step.
Tensor kernel_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                             const Tensor& coordinates, const DecoderForm& form);

/// The sum of all log-probabilities times their coefficients (B, G, S), without a gradient of the latter. One pass
/// computes it and its gradients.
Tensor kernel_weighted_tour_log_probs(const Tensor& embeddings, const DecoderWeights& weights, const Tensor& tours,
                                      const Tensor& coordinates, const DecoderForm& form, const Tensor& coefficients);

/// The same for some steps only, with what became of them.
TaughtScore kernel_taught_score(const Tensor& embeddings, const DecoderWeights& weights, const TaughtSteps& steps,
                                const Tensor& coordinates, const DecoderForm& form);

}  // namespace puretour::nn
