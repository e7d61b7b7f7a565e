// SPDX-License-Identifier: MIT
#include "puretour/kernels/gemm/bfloat16.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// Rows at a time, whole tiles of any kind.
constexpr std::size_t kRowBlock = 96;
// Every block passes over all sums: larger ones do it less often.
constexpr std::size_t kGradientRowBlock = 192;

// Kept from call to call.
struct RoundedRows {
  AlignedVector<std::uint32_t> pairs;
};
struct RoundedForGradient {
  AlignedVector<std::uint32_t> a_pairs;
  AlignedVector<std::uint32_t> a_columns;  // of pairs
  AlignedVector<std::uint32_t> b_panels;
};

}  // namespace

Precision parse_precision(std::string_view text) {
  if (text == "float32") return Precision::kFloat;
  if (text == "bfloat16") return Precision::kBfloat16;
  throw InputError(fmt::format("precision {}: choose float32 or bfloat16", quote_input(text)));
}

std::uint16_t to_bfloat16(float value) {
  return static_cast<std::uint16_t>(bfloat16_bits(value));
}

float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

Bfloat16Matrix::Bfloat16Matrix(const PackedMatrix& values) : depth_(values.depth()), columns_(values.columns()) {
  pairs_.resize(num_pairs() * padded(columns_));
  for (std::size_t panel = 0; panel < padded(columns_) / kBlock; ++panel) {
    const float* rows = values.data() + panel * depth_ * kBlock;
    std::uint32_t* to = pairs_.data() + panel * num_pairs() * kBlock;
    for (std::size_t k = 0; k < num_pairs(); ++k) {
      const float* first = rows + 2 * k * kBlock;
      if (2 * k + 1 < depth_) {
        round_pair(first, first + kBlock, kBlock, to + k * kBlock);
      } else {
        round_single(first, kBlock, to + k * kBlock);
      }
    }
  }
}

void multiply_bfloat16(const float* a, std::size_t num_rows, std::size_t a_stride, const Bfloat16Matrix& b,
                       const float* start, std::size_t start_stride, float* out, std::size_t out_stride) {
  const MatrixUnitInUse in_use;
  const std::size_t num_pairs = b.num_pairs();
  const std::size_t stride = padded_stride(num_pairs);
  std::uint32_t* rows = ensure_size(scratch<RoundedRows>().pairs, kRowBlock * stride);
  for (std::size_t begin = 0; begin < num_rows; begin += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, num_rows - begin);
    round_rows(a + begin * a_stride, a_stride, count, b.depth(), rows, stride, num_pairs);
    gemm_bf16({rows, stride, b.data(), kBlock, num_pairs * kBlock, num_pairs,
               start == nullptr ? nullptr : start + begin * start_stride, start_stride, out + begin * out_stride,
               out_stride, count, b.columns()});
  }
}

void add_transposed_product_bfloat16(const float* a, std::size_t a_stride, std::size_t a_columns, const float* b,
                                     std::size_t b_stride, std::size_t b_columns, std::size_t num_rows, float* out,
                                     std::size_t out_stride) {
  const MatrixUnitInUse in_use;
  const std::size_t a_width = padded(a_columns);
  auto& work = scratch<RoundedForGradient>();
  std::uint32_t* a_pairs = ensure_size(work.a_pairs, kGradientRowBlock / 2 * a_width);
  std::uint32_t* a_columns_of_pairs = ensure_size(work.a_columns, kGradientRowBlock / 2 * a_width);
  std::uint32_t* b_panels = ensure_size(work.b_panels, kGradientRowBlock / 2 * padded(b_columns));
  for (std::size_t begin = 0; begin < num_rows; begin += kGradientRowBlock) {
    const std::size_t count = std::min(kGradientRowBlock, num_rows - begin);
    const std::size_t num_pairs = num_row_pairs(count);
    round_row_pairs(a + begin * a_stride, a_stride, count, a_columns, a_pairs, a_width);
    round_row_panels(b + begin * b_stride, b_stride, count, b_columns, b_panels);
    transpose_pairs(a_pairs, num_pairs, a_width, a_columns_of_pairs);
    gemm_bf16({a_columns_of_pairs, num_pairs, b_panels, kBlock, num_pairs * kBlock, num_pairs, out, out_stride, out,
               out_stride, a_columns, b_columns});
  }
}

}  // namespace puretour::kernels
