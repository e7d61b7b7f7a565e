// Matrix products of numbers rounded to bfloat16 (the upper half of a float), with sums in float: twice as fast as
// float where the CPU has instructions for it, and exact enough for training.
//
// Two numbers that follow each other in the direction of the sum form a pair in one 32-bit word, the first one below.
// CPUs without such instructions compute the same products in float; sums may differ in the last bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

class PackedMatrix;

/// What a product rounds its factors to.
enum class Precision : std::uint8_t { kFloat, kBfloat16 };

/// "float32" or "bfloat16". Throws InputError.
Precision parse_precision(std::string_view text);

/// The nearest bfloat16, ties to even; NaN stays NaN.
std::uint16_t to_bfloat16(float value);
float from_bfloat16(std::uint16_t value);

/// The right factor of a product, depth x columns, in panels of sixteen columns as PackedMatrix, but with pairs of
/// rows: pair (2 k, 2 k + 1) of column c lies at (c / 16 * ceil(depth / 2) + k) * 16 + c % 16. What is missing is zero.
class Bfloat16Matrix {
 public:
  Bfloat16Matrix() = default;
  explicit Bfloat16Matrix(const PackedMatrix& values);

  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::size_t num_pairs() const { return (depth_ + 1) / 2; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] const std::uint32_t* data() const { return pairs_.data(); }

 private:
  std::size_t depth_ = 0;
  std::size_t columns_ = 0;
  AlignedVector<std::uint32_t> pairs_;
};

/// As multiply(), with both factors rounded. Row r of the sums begins with start + r * start_stride (null: zero); a
/// stride of 0 makes it a bias.
void multiply_bfloat16(const float* a, std::size_t num_rows, std::size_t a_stride, const Bfloat16Matrix& b,
                       const float* start, std::size_t start_stride, float* out, std::size_t out_stride);

/// As add_transposed_product(), with both factors rounded.
void add_transposed_product_bfloat16(const float* a, std::size_t a_stride, std::size_t a_columns, const float* b,
                                     std::size_t b_stride, std::size_t b_columns, std::size_t num_rows, float* out,
                                     std::size_t out_stride);

}  // namespace puretour::kernels
