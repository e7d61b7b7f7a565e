// Matrix products with one constant factor that is packed beforehand.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

/// The right factor of a product, depth x columns. Sixteen columns form a panel, which holds its rows one after the
/// other: value (k, c) lies at (c / 16 * depth + k) * 16 + c % 16. Missing columns of the last panel are zero.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// Zeros.
  PackedMatrix(std::size_t depth, std::size_t columns);

  /// `values` is [depth][columns], row by row.
  static PackedMatrix from_rows(std::span<const float> values, std::size_t depth, std::size_t columns);
  /// `values` is [columns][depth], as linear layers store their weight (out, in).
  static PackedMatrix from_columns(std::span<const float> values, std::size_t depth, std::size_t columns);
  /// Column c begins at values + c * stride.
  static PackedMatrix from_columns(const float* values, std::size_t stride, std::size_t depth, std::size_t columns);

  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] const float* data() const { return values_.data(); }

  [[nodiscard]] float get(std::size_t k, std::size_t column) const { return values_[index(k, column)]; }
  void set(std::size_t k, std::size_t column, float value) { values_[index(k, column)] = value; }
  /// Column `to` becomes a copy of column `from`.
  void copy_column(std::size_t from, std::size_t to);

 private:
  [[nodiscard]] std::size_t index(std::size_t k, std::size_t column) const {
    return (column / kBlock * depth_ + k) * kBlock + column % kBlock;
  }
  std::size_t depth_ = 0;
  std::size_t columns_ = 0;
  AlignedVector<float> values_;
};

/// Part of a packed matrix: some rows of the first panels.
struct PanelView {
  const float* data = nullptr;   // first row of the first panel
  std::size_t depth = 0;         // rows
  std::size_t panel_stride = 0;  // floats from one panel to the next
  std::size_t columns = 0;
};

PanelView view_of(const PackedMatrix& matrix);
/// Rows first .. first + depth - 1 and columns 0 .. columns - 1.
PanelView view_of(const PackedMatrix& matrix, std::size_t first, std::size_t depth, std::size_t columns);

/// out[r][c] = bias[c] + sum over k of a[r][k] b[k][c] for r < num_rows, each sum in the order of k. bias may be null
/// (zero); it is read up to padded(columns). Nothing behind out[r][columns - 1] is written.
void multiply(const float* a, std::size_t num_rows, std::size_t a_stride, const PanelView& b, const float* bias,
              float* out, std::size_t out_stride);

/// out[i][j] += sum over r < num_rows of a[r][i] b[r][j] for i < a_columns and j < b_columns: the gradient of a weight
/// from those of the outputs and the inputs, or the other way round. Each sum in the order of r.
void add_transposed_product(const float* a, std::size_t a_stride, std::size_t a_columns, const float* b,
                            std::size_t b_stride, std::size_t b_columns, std::size_t num_rows, float* out,
                            std::size_t out_stride);

/// out[c] += sum over the rows of x[r][c] for c < columns.
void add_column_sums(const float* x, std::size_t num_rows, std::size_t stride, std::size_t columns, float* out);

/// A linear layer: y = x W^T + b.
struct Linear {
  PackedMatrix matrix;        // depth: inputs, columns: outputs
  AlignedVector<float> bias;  // padded(outputs) values, or empty: none
  Bfloat16Matrix bf16;        // the same matrix, or empty: products in float

  [[nodiscard]] std::size_t inputs() const { return matrix.depth(); }
  [[nodiscard]] std::size_t outputs() const { return matrix.columns(); }

  void set_precision(Precision precision);

  /// out[r] for every row x[r]; rows lie without gaps. A residual (not null) is added to out.
  void apply(const float* x, std::size_t num_rows, float* out, const float* residual = nullptr) const;
};

/// `weight` is [outputs][inputs]; `bias` has `outputs` values or none.
Linear make_linear(std::span<const float> weight, std::span<const float> bias, std::size_t outputs, std::size_t inputs,
                   Precision precision = Precision::kFloat);

}  // namespace puretour::kernels
