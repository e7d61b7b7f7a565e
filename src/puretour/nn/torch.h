// The one place where LibTorch is included, and where differences between its versions (1.13 and 2.x) belong.
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

namespace puretour::nn {

using torch::Tensor;

}  // namespace puretour::nn
