// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode_step.h"

#include "puretour/kernels/simd.h"

namespace puretour::kernels {
namespace {

constexpr std::size_t kChains = 4;

template <int kLanes>
PURETOUR_INLINE void multiply_row_impl(const float* a, const PanelView& b, float* out) {
  using B = Block<kLanes>;
  for (std::size_t c = 0; c < b.columns; c += kBlock) {
    const float* panel = b.data + c / kBlock * b.panel_stride;
    B sums[kChains];
    for (B& sum : sums) B::fill(sum, 0);
    std::size_t k = 0;
    for (; k + kChains <= b.depth; k += kChains) {
      for (std::size_t i = 0; i < kChains; ++i) {
        B row;
        B::load(row, panel + (k + i) * kBlock);
        B::add_scaled(sums[i], a[k + i], row);
      }
    }
    for (; k < b.depth; ++k) {
      B row;
      B::load(row, panel + k * kBlock);
      B::add_scaled(sums[0], a[k], row);
    }
    B::add(sums[0], sums[1]);
    B::add(sums[2], sums[3]);
    B::add(sums[0], sums[2]);
    B::store(sums[0], out + c);
  }
}

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

PURETOUR_KERNEL(multiply_row, (const float* a, const PanelView& b, float* out), (a, b, out))
PURETOUR_KERNEL(multiply_heads,
                (const float* a, const PanelView& b, std::size_t num_heads, std::size_t head_dim, float* out,
                 std::size_t out_stride),
                (a, b, num_heads, head_dim, out, out_stride))

}  // namespace puretour::kernels
