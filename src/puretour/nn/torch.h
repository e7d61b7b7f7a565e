// The one place where LibTorch is included, and where differences between its versions (1.13 and 2.x) belong.
//
// Compiled and tested with 1.13; what is said of 2.x is read from its headers.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <torch/torch.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR < 1 || (TORCH_VERSION_MAJOR == 1 && TORCH_VERSION_MINOR < 13)
#error "PureTour needs LibTorch 1.13 or later"
#endif

// Processes that train together talk by c10d over Gloo. ProcessGroupGloo.hpp is empty in a LibTorch that was built
// without it, and useless where the headers of Gloo do not come with LibTorch. (What we call has stayed the same,
// though its class is a ProcessGroup in 1.13 and a Backend in 2.x.)
#if defined(USE_C10D_GLOO) && __has_include(<gloo/algorithm.h>)
#define PURETOUR_HAS_GLOO 1
#else
#define PURETOUR_HAS_GLOO 0
#endif

namespace puretour::nn {

using torch::Tensor;

// What LibTorch takes for values that may be missing: a type of its own, std::optional since 2.4. The names
// torch::optional and c10::optional are going to vanish.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
template <typename T>
using Optional = std::optional<T>;
#else
template <typename T>
using Optional = c10::optional<T>;
#endif

}  // namespace puretour::nn
