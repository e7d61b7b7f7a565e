// The decoder of kernels/tour_decoder.h as one LibTorch function with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "puretour/kernels/tour_decoder.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

struct DecoderForm {
  kernels::NodeShares shares;
  kernels::PointerShape pointer;
  std::optional<kernels::AttentionShape> glimpse;
  std::int64_t first_step = 0;  // 0: the network chooses the first node
};

/// Log-probabilities (B, G, S) of the steps of the tours (B, G, N). shares: (B, N, C). `placeholder` (d) stands for the
/// nodes before the first step, `out_weight` (d, d) projects glimpses, `coordinates` (B, 6, N) give distances: each is
/// undefined where the form has none. For what kernels_take(), and at least one step.
Tensor kernel_tour_log_probs(const Tensor& shares, const Tensor& placeholder, const Tensor& out_weight,
                             const Tensor& tours, const Tensor& coordinates, const DecoderForm& form,
                             const Packing& packing);

}  // namespace puretour::nn
