// Where tensors live.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "puretour/nn/torch.h"

namespace puretour::nn {

/// "cpu", "cuda" or "cuda:1". Throws InputError for another name, and if there is no such CUDA device.
torch::Device parse_device(const std::string& name);

}  // namespace puretour::nn
