// Batch normalisation over the shares of a group, with gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include "puretour/nn/batch_group.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

struct GroupNormalised {
  Tensor values;    // (R, d)
  Tensor mean;      // (d) of the whole batch
  Tensor variance;  // (d), divided by the number of rows
  double num_rows = 0;
};

/// Rows (R, d) of one member of the group, normalised by mean and variance of the rows of all of them, then scaled and
/// shifted. On the CPU or any other device.
GroupNormalised group_batch_norm(const Tensor& rows, const Tensor& scale, const Tensor& shift, double epsilon,
                                 BatchGroup& group, std::size_t member);

}  // namespace puretour::nn
