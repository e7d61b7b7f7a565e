// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode/decode_step.h"

#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {
namespace {

constexpr std::size_t kChains = 4;  // heads side by side

// kHeads heads of one panel.
template <int kLanes, std::size_t kHeads>
PURETOUR_INLINE void multiply_some_heads(const float* a, const float* panel, std::size_t head_dim, float* out,
                                         std::size_t out_stride) {
  using B = Block<kLanes>;
  B sums[kHeads];
  for (B& sum : sums) B::fill(sum, 0);
  for (std::size_t k = 0; k < head_dim; ++k) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      B row;
      B::load(row, panel + (h * head_dim + k) * kBlock);
      B::add_scaled(sums[h], a[h * head_dim + k], row);
    }
  }
  for (std::size_t h = 0; h < kHeads; ++h) B::store(sums[h], out + h * out_stride);
}

template <int kLanes>
PURETOUR_INLINE void multiply_heads_impl(const float* a, const PanelView& b, std::size_t num_heads,
                                         std::size_t head_dim, float* out, std::size_t out_stride) {
  for (std::size_t c = 0; c < b.columns; c += kBlock) {
    const float* panel = b.data + c / kBlock * b.panel_stride;
    std::size_t h = 0;
    for (; h + kChains <= num_heads; h += kChains) {
      multiply_some_heads<kLanes, kChains>(a + h * head_dim, panel + h * head_dim * kBlock, head_dim,
                                           out + h * out_stride + c, out_stride);
    }
    for (; h < num_heads; ++h) {
      multiply_some_heads<kLanes, 1>(a + h * head_dim, panel + h * head_dim * kBlock, head_dim,
                                     out + h * out_stride + c, out_stride);
    }
  }
}

}  // namespace

PURETOUR_KERNEL(multiply_heads,
                (const float* a, const PanelView& b, std::size_t num_heads, std::size_t head_dim, float* out,
                 std::size_t out_stride),
                (a, b, num_heads, head_dim, out, out_stride))

void multiply_row(const float* a, const PanelView& b, float* out) {
  for (std::size_t c = 0; c < b.columns; c += kBlock) {
    weighted_sum(a, b.data + c / kBlock * b.panel_stride, b.depth, out + c);
  }
}

}  // namespace puretour::kernels
