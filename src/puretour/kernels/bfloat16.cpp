// SPDX-License-Identifier: MIT
#include "puretour/kernels/bfloat16.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/base/vectorize.h"
#include "puretour/kernels/amx.h"
#include "puretour/kernels/matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace puretour::kernels {
namespace {

constexpr std::size_t kTileRows = 6;
// Rows at a time, whole tiles of any kind.
constexpr std::size_t kRowBlock = 96;
// Every block passes over all sums: larger ones do it less often.
constexpr std::size_t kGradientRowBlock = 192;

PURETOUR_INLINE std::uint32_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet_nan = (bits >> 16U) | 0x40U;
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest;
}

PURETOUR_VECTORISED void round_row_plain(const float* row, std::size_t count, std::uint16_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint16_t>(rounded(row[i]));
}

PURETOUR_VECTORISED void round_pair_plain(const float* first, const float* second, std::size_t count,
                                          std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = rounded(first[i]) | (rounded(second[i]) << 16U);
}

#if defined(__x86_64__)
// The same by the instruction for it, which takes numbers below the smallest normal one for zero, as the products do.
__attribute__((target("avx512f,avx512bw,avx512bf16"))) void round_row_native(const float* row, std::size_t count,
                                                                             std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + 2 * kBlock <= count; i += 2 * kBlock) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + i + kBlock), _mm512_loadu_ps(row + i));
    _mm512_storeu_si512(out + i, reinterpret_cast<__m512i>(both));
  }
  for (; i < count; ++i) out[i] = static_cast<std::uint16_t>(rounded(row[i]));
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) void round_pair_native(const float* first, const float* second,
                                                                              std::size_t count, std::uint32_t* out) {
  // Value i of the lower half beside value i of the upper half.
  alignas(64) std::uint16_t order[2 * kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) {
    order[2 * i] = static_cast<std::uint16_t>(i);
    order[2 * i + 1] = static_cast<std::uint16_t>(i + kBlock);
  }
  const __m512i interleave = _mm512_load_si512(order);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(second + i), _mm512_loadu_ps(first + i));
    _mm512_storeu_si512(out + i, _mm512_permutexvar_epi16(interleave, reinterpret_cast<__m512i>(both)));
  }
  for (; i < count; ++i) out[i] = rounded(first[i]) | (rounded(second[i]) << 16U);
}
#endif

// A row of floats.
void round_row(const float* row, std::size_t count, std::uint16_t* out) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_row_native(row, count, out);
#endif
  round_row_plain(row, count, out);
}

// Two rows, value by value.
void round_pair(const float* first, const float* second, std::size_t count, std::uint32_t* out) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_pair_native(first, second, count, out);
#endif
  round_pair_plain(first, second, count, out);
}

PURETOUR_VECTORISED void round_single(const float* first, std::size_t count, std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = rounded(first[i]);
}

#if defined(__x86_64__)
// to[c][r] = from[r][c] for sixteen rows and columns: rows of four pairs are exchanged between ever larger blocks.
__attribute__((target("avx512f"))) void transpose_block(const std::uint32_t* from, std::size_t from_stride,
                                                        std::uint32_t* to, std::size_t to_stride) {
  // Masks that choose all: compilers warn of the functions without one.
  constexpr __mmask16 kAll = 0xFFFF;
  constexpr __mmask8 kAllOfEight = 0xFF;
  __m512i x[kBlock];
  __m512i y[kBlock];
  for (std::size_t r = 0; r < kBlock; ++r) x[r] = _mm512_loadu_si512(from + r * from_stride);
  for (std::size_t r = 0; r < kBlock; r += 2) {
    y[r] = _mm512_maskz_unpacklo_epi32(kAll, x[r], x[r + 1]);
    y[r + 1] = _mm512_maskz_unpackhi_epi32(kAll, x[r], x[r + 1]);
  }
  // x[4 g + c]: column c of every group of four, of rows 4 g .. 4 g + 3.
  for (std::size_t r = 0; r < kBlock; r += 4) {
    x[r] = _mm512_maskz_unpacklo_epi64(kAllOfEight, y[r], y[r + 2]);
    x[r + 1] = _mm512_maskz_unpackhi_epi64(kAllOfEight, y[r], y[r + 2]);
    x[r + 2] = _mm512_maskz_unpacklo_epi64(kAllOfEight, y[r + 1], y[r + 3]);
    x[r + 3] = _mm512_maskz_unpackhi_epi64(kAllOfEight, y[r + 1], y[r + 3]);
  }
  for (std::size_t c = 0; c < 4; ++c) {
    const __m512i upper_even = _mm512_maskz_shuffle_i32x4(kAll, x[c], x[4 + c], 0x88);  // groups 0 and 2
    const __m512i upper_odd = _mm512_maskz_shuffle_i32x4(kAll, x[c], x[4 + c], 0xDD);   // groups 1 and 3
    const __m512i lower_even = _mm512_maskz_shuffle_i32x4(kAll, x[8 + c], x[12 + c], 0x88);
    const __m512i lower_odd = _mm512_maskz_shuffle_i32x4(kAll, x[8 + c], x[12 + c], 0xDD);
    _mm512_storeu_si512(to + c * to_stride, _mm512_maskz_shuffle_i32x4(kAll, upper_even, lower_even, 0x88));
    _mm512_storeu_si512(to + (4 + c) * to_stride, _mm512_maskz_shuffle_i32x4(kAll, upper_odd, lower_odd, 0x88));
    _mm512_storeu_si512(to + (8 + c) * to_stride, _mm512_maskz_shuffle_i32x4(kAll, upper_even, lower_even, 0xDD));
    _mm512_storeu_si512(to + (12 + c) * to_stride, _mm512_maskz_shuffle_i32x4(kAll, upper_odd, lower_odd, 0xDD));
  }
}
#else
void transpose_block(const std::uint32_t* from, std::size_t from_stride, std::uint32_t* to, std::size_t to_stride) {
  for (std::size_t r = 0; r < kBlock; ++r) {
    for (std::size_t c = 0; c < kBlock; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
#endif

// sum += first of the pairs * first of `pair` + second * second, for sixteen columns.
template <int kLanes>
struct FloatPairs {
  using B = Block<kLanes>;
  using Int = typename B::Int;
  B low;
  B high;

  PURETOUR_INLINE static void load(FloatPairs& p, const std::uint32_t* from) {
    for (std::size_t r = 0; r < B::kRegisters; ++r) {
      Int bits;
      std::memcpy(&bits, from + r * kLanes, sizeof bits);
      const Int low_bits = bits << 16;
      const Int high_bits = bits & static_cast<std::int32_t>(0xFFFF0000U);
      std::memcpy(&p.low.part[r], &low_bits, sizeof low_bits);
      std::memcpy(&p.high.part[r], &high_bits, sizeof high_bits);
    }
  }
  PURETOUR_INLINE static void add_products(B& sum, std::uint32_t pair, const FloatPairs& p) {
    B::add_scaled(sum, std::bit_cast<float>(pair << 16U), p.low);
    B::add_scaled(sum, std::bit_cast<float>(pair & 0xFFFF0000U), p.high);
  }
};

// kRows x 16 sums: out[r][c] = start + sum over k of pairs left[r * left_stride + k * left_step] . right[k * 16 + c].
// Left factors are rows of pairs (step 1), or columns (stride 1).
template <int kLanes, std::size_t kRows>
PURETOUR_INLINE void tile(const std::uint32_t* left, std::size_t left_stride, std::size_t left_step,
                          const std::uint32_t* right, std::size_t right_step, std::size_t num_pairs,
                          Block<kLanes> (&sums)[kRows]) {
  for (std::size_t k = 0; k < num_pairs; ++k) {
    FloatPairs<kLanes> row;
    FloatPairs<kLanes>::load(row, right + k * right_step);
    for (std::size_t r = 0; r < kRows; ++r) {
      FloatPairs<kLanes>::add_products(sums[r], left[r * left_stride + k * left_step], row);
    }
  }
}

#if defined(__x86_64__)
// The same with the instruction for it.
template <std::size_t kRows>
__attribute__((target("avx512f,avx512bw,avx512bf16"), always_inline)) inline void native_tile(
    const std::uint32_t* left, std::size_t left_stride, std::size_t left_step, const std::uint32_t* right,
    std::size_t right_step, std::size_t num_pairs, __m512 (&sums)[kRows]) {
  for (std::size_t k = 0; k < num_pairs; ++k) {
    const auto row = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right + k * right_step));
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto pair =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left[r * left_stride + k * left_step])));
      sums[r] = _mm512_dpbf16_ps(sums[r], pair, row);
    }
  }
}
#endif

struct Tile {
  const std::uint32_t* left;
  std::size_t left_stride;
  std::size_t left_step;
  const std::uint32_t* right;
  std::size_t right_step;
  std::size_t num_pairs;
  const float* start;        // first values of the sums; null: zero
  std::size_t start_stride;  // 0: the same for all rows
  float* out;
  std::size_t out_stride;
  std::size_t columns;  // that are written, and read of start: 16 but at the edge
};

template <int kLanes, std::size_t kRows>
PURETOUR_INLINE void run_tile(const Tile& t) {
  using B = Block<kLanes>;
  B sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    float lanes[kBlock] = {};
    if (t.start != nullptr) std::memcpy(lanes, t.start + r * t.start_stride, t.columns * sizeof(float));
    B::load(sums[r], lanes);
  }
  tile<kLanes, kRows>(t.left, t.left_stride, t.left_step, t.right, t.right_step, t.num_pairs, sums);
  for (std::size_t r = 0; r < kRows; ++r) {
    float lanes[kBlock];
    B::store(sums[r], lanes);
    std::memcpy(t.out + r * t.out_stride, lanes, t.columns * sizeof(float));
  }
}

template <int kLanes>
PURETOUR_INLINE void run_float_tile_impl(const Tile& t, std::size_t rows) {
  if (rows == kTileRows) return run_tile<kLanes, kTileRows>(t);
  for (std::size_t r = 0; r < rows; ++r) {
    Tile one = t;
    one.left += r * t.left_stride;
    one.out += r * t.out_stride;
    if (one.start != nullptr) one.start += r * t.start_stride;
    run_tile<kLanes, 1>(one);
  }
}

PURETOUR_KERNEL(run_float_tile, (const Tile& t, std::size_t rows), (t, rows))

#if defined(__x86_64__)
template <std::size_t kRows>
__attribute__((target("avx512f,avx512bw,avx512bf16"), always_inline)) inline void run_native_tile(const Tile& t) {
  const auto mask = static_cast<__mmask16>((1U << t.columns) - 1U);
  __m512 sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    sums[r] = t.start == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, t.start + r * t.start_stride);
  }
  native_tile<kRows>(t.left, t.left_stride, t.left_step, t.right, t.right_step, t.num_pairs, sums);
  for (std::size_t r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(t.out + r * t.out_stride, mask, sums[r]);
}

// All tiles of rows x one panel.
__attribute__((target("avx512f,avx512bw,avx512bf16"))) void run_native_panel(Tile t, std::size_t num_rows) {
  while (num_rows >= kTileRows) {
    run_native_tile<kTileRows>(t);
    t.left += kTileRows * t.left_stride;
    t.out += kTileRows * t.out_stride;
    if (t.start != nullptr) t.start += kTileRows * t.start_stride;
    num_rows -= kTileRows;
  }
  switch (num_rows) {
    case 1:
      return run_native_tile<1>(t);
    case 2:
      return run_native_tile<2>(t);
    case 3:
      return run_native_tile<3>(t);
    case 4:
      return run_native_tile<4>(t);
    case 5:
      return run_native_tile<5>(t);
    default:
      return;
  }
}
#endif

void run_float_panel(Tile t, std::size_t num_rows) {
  for (std::size_t r = 0; r < num_rows; r += kTileRows) {
    const std::size_t count = std::min(kTileRows, num_rows - r);
    run_float_tile(t, count);
    t.left += count * t.left_stride;
    t.out += count * t.out_stride;
    if (t.start != nullptr) t.start += count * t.start_stride;
  }
}

void run_panel(const Tile& t, std::size_t num_rows) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return run_native_panel(t, num_rows);
#endif
  run_float_panel(t, num_rows);
}

}  // namespace

Precision parse_precision(std::string_view text) {
  if (text == "float32") return Precision::kFloat;
  if (text == "bfloat16") return Precision::kBfloat16;
  throw InputError(fmt::format("precision {}: choose float32 or bfloat16", quote_input(text)));
}

std::uint16_t to_bfloat16(float value) {
  return static_cast<std::uint16_t>(rounded(value));
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
                       const float* bias, float* out, std::size_t out_stride) {
  const std::size_t num_pairs = b.num_pairs();
  const bool by_tiles = active_isa() >= Isa::kAmx && num_pairs % kTilePairs == 0;
  // Kept by every thread: this is called too often to ask for memory each time.
  thread_local std::vector<std::uint32_t> rows;
  if (rows.size() < kRowBlock * num_pairs) rows.resize(kRowBlock * num_pairs);
  for (std::size_t begin = 0; begin < num_rows; begin += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, num_rows - begin);
    for (std::size_t r = 0; r < count; ++r) {
      std::uint32_t* pairs = rows.data() + r * num_pairs;
      pairs[num_pairs - 1] = 0;  // the last pair of an odd row has one number only
      round_row(a + (begin + r) * a_stride, b.depth(), reinterpret_cast<std::uint16_t*>(pairs));
    }
    float* block_out = out + begin * out_stride;
    if (by_tiles) {
      multiply_tiles({rows.data(), num_pairs, b.data(), kBlock, num_pairs * kBlock, num_pairs, bias, 0, block_out,
                      out_stride, count, b.columns()});
      continue;
    }
    for (std::size_t c = 0; c < b.columns(); c += kBlock) {
      run_panel({rows.data(), num_pairs, 1, b.data() + c * num_pairs, kBlock, num_pairs,
                 bias == nullptr ? nullptr : bias + c, 0, block_out + c, out_stride, std::min(kBlock, b.columns() - c)},
                count);
    }
  }
}

void add_transposed_product_bfloat16(const float* a, std::size_t a_stride, std::size_t a_columns, const float* b,
                                     std::size_t b_stride, std::size_t b_columns, std::size_t num_rows, float* out,
                                     std::size_t out_stride) {
  const bool by_tiles = active_isa() >= Isa::kAmx;
  const std::size_t a_width = padded(a_columns);
  const std::size_t b_width = padded(b_columns);
  thread_local std::vector<std::uint32_t> a_pairs;
  thread_local std::vector<std::uint32_t> b_pairs;
  thread_local std::vector<std::uint32_t> a_transposed;
  a_pairs.resize(std::max(a_pairs.size(), kGradientRowBlock / 2 * a_width));
  b_pairs.resize(std::max(b_pairs.size(), kGradientRowBlock / 2 * b_width));
  for (std::size_t begin = 0; begin < num_rows; begin += kGradientRowBlock) {
    const std::size_t count = std::min(kGradientRowBlock, num_rows - begin);
    std::size_t num_pairs = (count + 1) / 2;
    const auto round_rows = [&](const float* rows, std::size_t stride, std::size_t columns, std::uint32_t* pairs,
                                std::size_t pair_stride) {
      for (std::size_t k = 0; k < num_pairs; ++k) {
        const float* first = rows + (begin + 2 * k) * stride;
        if (2 * k + 1 < count) {
          round_pair(first, first + stride, columns, pairs + k * pair_stride);
        } else {
          round_single(first, columns, pairs + k * pair_stride);
        }
      }
    };
    round_rows(a, a_stride, a_columns, a_pairs.data(), a_width);
    round_rows(b, b_stride, b_columns, b_pairs.data(), b_width);
    if (by_tiles) {
      const std::size_t whole_pairs = (num_pairs + kTilePairs - 1) / kTilePairs * kTilePairs;
      std::fill(a_pairs.begin() + static_cast<std::ptrdiff_t>(num_pairs * a_width),
                a_pairs.begin() + static_cast<std::ptrdiff_t>(whole_pairs * a_width), 0);
      std::fill(b_pairs.begin() + static_cast<std::ptrdiff_t>(num_pairs * b_width),
                b_pairs.begin() + static_cast<std::ptrdiff_t>(whole_pairs * b_width), 0);
      num_pairs = whole_pairs;
      a_transposed.resize(std::max(a_transposed.size(), kGradientRowBlock / 2 * a_width));
      for (std::size_t k = 0; k < num_pairs; k += kBlock) {
        for (std::size_t i = 0; i < a_width; i += kBlock) {
          transpose_block(a_pairs.data() + k * a_width + i, a_width, a_transposed.data() + i * num_pairs + k,
                          num_pairs);
        }
      }
      multiply_tiles({a_transposed.data(), num_pairs, b_pairs.data(), b_width, kBlock, num_pairs, out, out_stride, out,
                      out_stride, a_columns, b_columns});
      continue;
    }
    for (std::size_t c = 0; c < b_columns; c += kBlock) {
      run_panel({a_pairs.data(), 1, a_width, b_pairs.data() + c, b_width, num_pairs, out + c, out_stride, out + c,
                 out_stride, std::min(kBlock, b_columns - c)},
                a_columns);
    }
  }
}

}  // namespace puretour::kernels
