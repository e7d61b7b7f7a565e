// One item of a data set: an instance with or without a tour.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

struct Sample {
  Instance instance;
  std::optional<Tour> tour;  // has as many nodes as the instance
};

/// No file format holds more nodes per instance; a larger number in a header is a damaged file.
inline constexpr std::size_t kMaxNodes = 100'000'000;

/// The same for a weight matrix, which needs 8 n^2 bytes: 3.2 GB at this size.
inline constexpr std::size_t kMaxMatrixNodes = 20'000;

}  // namespace puretour
