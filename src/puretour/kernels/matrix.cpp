// SPDX-License-Identifier: MIT
#include "puretour/kernels/matrix.h"

#include <algorithm>
#include <cassert>

namespace puretour::kernels {
namespace {

// A tile of rows x panels whose sums stay in registers while k runs: twelve registers of AVX2 for six rows and one
// panel.
constexpr std::size_t kTileRows = 6;

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
  // Whole tiles panel by panel: a panel stays in the first cache while all rows pass.
  const std::size_t tiled_rows = num_rows / kTileRows * kTileRows;
  const std::size_t num_panels = (b.columns + kBlock - 1) / kBlock;
  for (std::size_t p = 0; p < num_panels && tiled_rows > 0; ++p) {
    const float* panel_bias = bias == nullptr ? nullptr : bias + p * kBlock;
    const std::size_t columns = std::min(kBlock, b.columns - p * kBlock);
    for (std::size_t r = 0; r < tiled_rows; r += kTileRows) {
      multiply_tile<kLanes, kTileRows, 1>(a + r * a_stride, a_stride, b.data + p * b.panel_stride, b.panel_stride,
                                          b.depth, panel_bias, out + r * out_stride + p * kBlock, out_stride, columns);
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

}  // namespace

PURETOUR_KERNEL(multiply,
                (const float* a, std::size_t num_rows, std::size_t a_stride, const PanelView& b, const float* bias,
                 float* out, std::size_t out_stride),
                (a, num_rows, a_stride, b, bias, out, out_stride))

PackedMatrix::PackedMatrix(std::size_t depth, std::size_t columns)
    : depth_(depth), columns_(columns), values_(depth * padded(columns)) {}

PackedMatrix PackedMatrix::from_rows(std::span<const float> values, std::size_t depth, std::size_t columns) {
  assert(values.size() >= depth * columns);
  PackedMatrix packed(depth, columns);
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t c = 0; c < columns; ++c) packed.set(k, c, values[k * columns + c]);
  }
  return packed;
}

PackedMatrix PackedMatrix::from_columns(std::span<const float> values, std::size_t depth, std::size_t columns) {
  assert(values.size() >= depth * columns);
  PackedMatrix packed(depth, columns);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t k = 0; k < depth; ++k) packed.set(k, c, values[c * depth + k]);
  }
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

void Linear::apply(const float* x, std::size_t num_rows, float* out) const {
  multiply(x, num_rows, inputs(), view_of(matrix), bias.empty() ? nullptr : bias.data(), out, outputs());
}

Linear make_linear(std::span<const float> weight, std::span<const float> bias, std::size_t outputs,
                   std::size_t inputs) {
  Linear linear{PackedMatrix::from_columns(weight, inputs, outputs), {bias.begin(), bias.end()}};
  if (!bias.empty()) linear.bias.resize(padded(outputs));
  return linear;
}

}  // namespace puretour::kernels
