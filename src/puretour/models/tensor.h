// Arrays with a shape: the weights of a network, by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace puretour {

using Shape = std::vector<std::size_t>;

/// The number of values that a shape holds; 1 for a scalar.
std::size_t num_values(const Shape& shape);

/// "8x128x16"; "scalar" without dimensions.
std::string shape_text(const Shape& shape);

/// Row-major: the last index runs fastest.
struct Tensor {
  Shape shape;
  std::vector<float> values;
  bool operator==(const Tensor&) const = default;
};

/// In bytewise order of the names.
using TensorMap = std::map<std::string, Tensor>;

}  // namespace puretour
