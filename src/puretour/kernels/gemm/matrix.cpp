// SPDX-License-Identifier: MIT
#include "puretour/kernels/gemm/matrix.h"

#include <algorithm>
#include <cassert>

#include "puretour/kernels/gemm/panels.h"
#include "puretour/kernels/simd/rows.h"

namespace puretour::kernels {
namespace {

// A tile of rows x panels whose sums stay in registers while k runs: twelve registers of AVX2 for six rows and one
// panel. AVX-512 has room for twice as many rows, and needs them to keep its adders busy.
constexpr std::size_t kTileRows = 6;
template <int kLanes>
constexpr std::size_t kLargeTileRows = kLanes == 16 ? 2 * kTileRows : kTileRows;
// Rows at a time, whole tiles.
constexpr std::size_t kRowBlock = 48;

template <int kLanes, std::size_t kRows, std::size_t kPanels>
PURETOUR_INLINE void multiply_tile(const float* a, std::size_t a_stride, const float* panels, std::size_t panel_stride,
                                   std::size_t depth, const float* bias, float* out, std::size_t out_stride,
                                   std::size_t last_columns) {
  using B = Block<kLanes>;
  B sums[kRows][kPanels];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t p = 0; p < kPanels; ++p) {
      if (bias == nullptr) {
        B::fill(sums[r][p], 0);
      } else {
        B::load(sums[r][p], bias + p * kBlock);
      }
    }
  }
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t p = 0; p < kPanels; ++p) {
      B row;
      B::load(row, panels + p * panel_stride + k * kBlock);
      for (std::size_t r = 0; r < kRows; ++r) B::add_scaled(sums[r][p], a[r * a_stride + k], row);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t p = 0; p < kPanels; ++p) {
      float* to = out + r * out_stride + p * kBlock;
      if (p + 1 < kPanels || last_columns == kBlock) {
        B::store(sums[r][p], to);
      } else {
        float lanes[kBlock];
        B::store(sums[r][p], lanes);
        std::memcpy(to, lanes, last_columns * sizeof(float));
      }
    }
  }
}

// All panels for kRows rows, kPanels at a time: the fewer rows, the more panels it takes to keep the adders busy.
template <int kLanes, std::size_t kRows, std::size_t kPanels>
PURETOUR_INLINE void multiply_rows(const float* a, std::size_t a_stride, const PanelView& b, const float* bias,
                                   float* out, std::size_t out_stride) {
  const std::size_t num_panels = (b.columns + kBlock - 1) / kBlock;
  const std::size_t last_columns = b.columns - (num_panels - 1) * kBlock;
  std::size_t p = 0;
  for (; p + kPanels <= num_panels; p += kPanels) {
    multiply_tile<kLanes, kRows, kPanels>(a, a_stride, b.data + p * b.panel_stride, b.panel_stride, b.depth,
                                          bias == nullptr ? nullptr : bias + p * kBlock, out + p * kBlock, out_stride,
                                          p + kPanels == num_panels ? last_columns : kBlock);
  }
  for (; p < num_panels; ++p) {
    multiply_tile<kLanes, kRows, 1>(a, a_stride, b.data + p * b.panel_stride, b.panel_stride, b.depth,
                                    bias == nullptr ? nullptr : bias + p * kBlock, out + p * kBlock, out_stride,
                                    p + 1 == num_panels ? last_columns : kBlock);
  }
}

template <int kLanes>
PURETOUR_INLINE void multiply_impl(const float* a, std::size_t num_rows, std::size_t a_stride, const PanelView& b,
                                   const float* bias, float* out, std::size_t out_stride) {
  if (b.columns == 0) return;
  // Whole tiles, a block of rows and a panel at a time: both stay in the caches while all panels pass.
  const std::size_t tiled_rows = num_rows / kTileRows * kTileRows;
  const std::size_t num_panels = (b.columns + kBlock - 1) / kBlock;
  for (std::size_t begin = 0; begin < tiled_rows; begin += kRowBlock) {
    const std::size_t end = std::min(begin + kRowBlock, tiled_rows);
    for (std::size_t p = 0; p < num_panels; ++p) {
      const float* panel_bias = bias == nullptr ? nullptr : bias + p * kBlock;
      const std::size_t columns = std::min(kBlock, b.columns - p * kBlock);
      const float* panel = b.data + p * b.panel_stride;
      std::size_t r = begin;
      for (; r + kLargeTileRows<kLanes> <= end; r += kLargeTileRows<kLanes>) {
        multiply_tile<kLanes, kLargeTileRows<kLanes>, 1>(a + r * a_stride, a_stride, panel, b.panel_stride, b.depth,
                                                         panel_bias, out + r * out_stride + p * kBlock, out_stride,
                                                         columns);
      }
      if (r < end) {
        multiply_tile<kLanes, kTileRows, 1>(a + r * a_stride, a_stride, panel, b.panel_stride, b.depth, panel_bias,
                                            out + r * out_stride + p * kBlock, out_stride, columns);
      }
    }
  }
  const float* rest = a + tiled_rows * a_stride;
  float* rest_out = out + tiled_rows * out_stride;
  switch (num_rows - tiled_rows) {
    case 1:
      multiply_rows<kLanes, 1, 4>(rest, a_stride, b, bias, rest_out, out_stride);
      break;
    case 2:
      multiply_rows<kLanes, 2, 2>(rest, a_stride, b, bias, rest_out, out_stride);
      break;
    case 3:
      multiply_rows<kLanes, 3, 2>(rest, a_stride, b, bias, rest_out, out_stride);
      break;
    case 4:
      multiply_rows<kLanes, 4, 1>(rest, a_stride, b, bias, rest_out, out_stride);
      break;
    case 5:
      multiply_rows<kLanes, 5, 1>(rest, a_stride, b, bias, rest_out, out_stride);
      break;
    default:
      break;
  }
}

// A tile of kRows columns of a and one block of columns of b.
template <int kLanes, std::size_t kRows>
PURETOUR_INLINE void transposed_tile(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride,
                                     std::size_t num_rows, float* out, std::size_t out_stride) {
  using B = Block<kLanes>;
  B sums[kRows];
  for (std::size_t i = 0; i < kRows; ++i) B::load(sums[i], out + i * out_stride);
  for (std::size_t r = 0; r < num_rows; ++r) {
    B row;
    B::load(row, b + r * b_stride);
    for (std::size_t i = 0; i < kRows; ++i) B::add_scaled(sums[i], a[r * a_stride + i], row);
  }
  for (std::size_t i = 0; i < kRows; ++i) B::store(sums[i], out + i * out_stride);
}

template <int kLanes>
PURETOUR_INLINE void add_transposed_product_impl(const float* a, std::size_t a_stride, std::size_t a_columns,
                                                 const float* b, std::size_t b_stride, std::size_t b_columns,
                                                 std::size_t num_rows, float* out, std::size_t out_stride) {
  // As many sums as there are registers for, beside the row of b and a product.
  constexpr std::size_t kRows = kLanes == 16 ? 8 : kLanes == 8 ? 4 : 2;
  const std::size_t whole = b_columns / kBlock * kBlock;
  for (std::size_t begin = 0; begin < num_rows; begin += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, num_rows - begin);
    const float* a_rows = a + begin * a_stride;
    const float* b_rows = b + begin * b_stride;
    for (std::size_t j = 0; j < whole; j += kBlock) {
      std::size_t i = 0;
      for (; i + kRows <= a_columns; i += kRows) {
        transposed_tile<kLanes, kRows>(a_rows + i, a_stride, b_rows + j, b_stride, count, out + i * out_stride + j,
                                       out_stride);
      }
      for (; i < a_columns; ++i) {
        transposed_tile<kLanes, 1>(a_rows + i, a_stride, b_rows + j, b_stride, count, out + i * out_stride + j,
                                   out_stride);
      }
    }
    for (std::size_t r = 0; r < count && whole < b_columns; ++r) {
      for (std::size_t i = 0; i < a_columns; ++i) {
        const float factor = a_rows[r * a_stride + i];
        for (std::size_t j = whole; j < b_columns; ++j) out[i * out_stride + j] += factor * b_rows[r * b_stride + j];
      }
    }
  }
}

template <int kLanes>
PURETOUR_INLINE void add_column_sums_impl(const float* x, std::size_t num_rows, std::size_t stride, std::size_t columns,
                                          float* out) {
  using B = Block<kLanes>;
  const std::size_t whole = columns / kBlock * kBlock;
  for (std::size_t c = 0; c < whole; c += kBlock) {
    B sum;
    B::load(sum, out + c);
    for (std::size_t r = 0; r < num_rows; ++r) {
      B row;
      B::load(row, x + r * stride + c);
      B::add(sum, row);
    }
    B::store(sum, out + c);
  }
  for (std::size_t c = whole; c < columns; ++c) {
    for (std::size_t r = 0; r < num_rows; ++r) out[c] += x[r * stride + c];
  }
}

}  // namespace

PURETOUR_KERNEL(add_transposed_product,
                (const float* a, std::size_t a_stride, std::size_t a_columns, const float* b, std::size_t b_stride,
                 std::size_t b_columns, std::size_t num_rows, float* out, std::size_t out_stride),
                (a, a_stride, a_columns, b, b_stride, b_columns, num_rows, out, out_stride))
PURETOUR_KERNEL(add_column_sums,
                (const float* x, std::size_t num_rows, std::size_t stride, std::size_t columns, float* out),
                (x, num_rows, stride, columns, out))
PURETOUR_KERNEL(multiply,
                (const float* a, std::size_t num_rows, std::size_t a_stride, const PanelView& b, const float* bias,
                 float* out, std::size_t out_stride),
                (a, num_rows, a_stride, b, bias, out, out_stride))

PackedMatrix::PackedMatrix(std::size_t depth, std::size_t columns)
    : depth_(depth), columns_(columns), values_(depth * padded(columns)) {}

PackedMatrix PackedMatrix::from_rows(std::span<const float> values, std::size_t depth, std::size_t columns) {
  assert(values.size() >= depth * columns);
  PackedMatrix packed(depth, columns);
  for (std::size_t c = 0; c < columns; c += kBlock) {
    const std::size_t width = std::min(kBlock, columns - c);
    float* panel = packed.values_.data() + c * depth;
    for (std::size_t k = 0; k < depth; ++k) std::copy_n(&values[k * columns + c], width, panel + k * kBlock);
  }
  return packed;
}

PackedMatrix PackedMatrix::from_columns(std::span<const float> values, std::size_t depth, std::size_t columns) {
  assert(values.size() >= depth * columns);
  return from_columns(values.data(), depth, depth, columns);
}

PackedMatrix PackedMatrix::from_columns(const float* values, std::size_t stride, std::size_t depth,
                                        std::size_t columns) {
  PackedMatrix packed(depth, columns);
  pack_rows_as_columns(values, stride, columns, depth, packed.values_.data());
  return packed;
}

void PackedMatrix::copy_column(std::size_t from, std::size_t to) {
  const float* source = values_.data() + index(0, from);
  float* target = values_.data() + index(0, to);
  for (std::size_t k = 0; k < depth_; ++k) target[k * kBlock] = source[k * kBlock];
}

PanelView view_of(const PackedMatrix& matrix) {
  return view_of(matrix, 0, matrix.depth(), matrix.columns());
}

PanelView view_of(const PackedMatrix& matrix, std::size_t first, std::size_t depth, std::size_t columns) {
  assert(first + depth <= matrix.depth() && columns <= matrix.columns());
  return {matrix.data() + first * kBlock, depth, matrix.depth() * kBlock, columns};
}

void Linear::set_precision(Precision precision) {
  bf16 = precision == Precision::kBfloat16 ? Bfloat16Matrix(matrix) : Bfloat16Matrix();
}

void Linear::apply(const float* x, std::size_t num_rows, float* out, const float* residual) const {
  if (!bf16.empty() && bias.empty() && residual != nullptr) {  // which takes no pass of its own
    return multiply_bfloat16(x, num_rows, inputs(), bf16, residual, outputs(), out, outputs());
  }
  const float* start = bias.empty() ? nullptr : bias.data();
  if (!bf16.empty()) {
    multiply_bfloat16(x, num_rows, inputs(), bf16, start, 0, out, outputs());
  } else {
    multiply(x, num_rows, inputs(), view_of(matrix), start, out, outputs());
  }
  if (residual != nullptr) add(out, residual, num_rows * outputs());
}

Linear make_linear(std::span<const float> weight, std::span<const float> bias, std::size_t outputs, std::size_t inputs,
                   Precision precision) {
  Linear linear{PackedMatrix::from_columns(weight, inputs, outputs), {bias.begin(), bias.end()}, {}};
  if (!bias.empty()) linear.bias.resize(padded(outputs));
  linear.set_precision(precision);
  return linear;
}

}  // namespace puretour::kernels
