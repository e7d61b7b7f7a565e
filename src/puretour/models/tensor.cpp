// SPDX-License-Identifier: MIT
#include "puretour/models/tensor.h"

#include <fmt/format.h>

namespace puretour {

std::size_t num_values(const Shape& shape) {
  std::size_t product = 1;
  for (const std::size_t size : shape) product *= size;
  return product;
}

std::string shape_text(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace puretour
