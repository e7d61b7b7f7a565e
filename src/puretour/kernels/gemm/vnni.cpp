// SPDX-License-Identifier: MIT
#include "puretour/kernels/gemm/vnni.h"

#include <algorithm>
#include <cstring>

#include "puretour/base/vectorize.h"
#include "puretour/kernels/gemm/tile_registers.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

constexpr std::size_t kTileRows = 6;

// Kept from call to call.
struct LeftApart {
  AlignedVector<float> numbers;
};

PURETOUR_VECTORISED void round_row_plain(const float* row, std::size_t count, std::uint16_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint16_t>(bfloat16_bits(row[i]));
}

PURETOUR_VECTORISED void round_pair_plain(const float* first, const float* second, std::size_t count,
                                          std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = bfloat16_bits(first[i]) | (bfloat16_bits(second[i]) << 16U);
}

#if defined(__x86_64__)
// The same by the instruction for it, which takes numbers below the smallest normal one for zero, as the products do.
PURETOUR_TILE_TARGET void round_row_native(const float* row, std::size_t count, std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + 2 * kBlock <= count; i += 2 * kBlock) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + i + kBlock), _mm512_loadu_ps(row + i));
    _mm512_storeu_si512(out + i, reinterpret_cast<__m512i>(both));
  }
  for (; i < count; ++i) out[i] = static_cast<std::uint16_t>(bfloat16_bits(row[i]));
}

PURETOUR_TILE_TARGET void round_pair_native(const float* first, const float* second, std::size_t count,
                                            std::uint32_t* out) {
  const __m512i order = interleaving();
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    store_pair(out + i, _mm512_loadu_ps(first + i), _mm512_loadu_ps(second + i), order);
  }
  for (; i < count; ++i) out[i] = bfloat16_bits(first[i]) | (bfloat16_bits(second[i]) << 16U);
}
#endif

#if defined(__x86_64__)
PURETOUR_TILE_TARGET void round_row_panels_native(const float* rows, std::size_t stride, std::size_t num_rows,
                                                  std::size_t columns, std::uint32_t* out) {
  const std::size_t num_pairs = num_row_pairs(num_rows);
  const __m512i order = interleaving();
  for (std::size_t k = 0; k < num_pairs; ++k) {
    const float* first = rows + 2 * k * stride;
    for (std::size_t c = 0; c < columns; c += kBlock) {
      const std::size_t width = std::min(kBlock, columns - c);
      const auto mask = static_cast<__mmask16>((1U << width) - 1U);
      const __m512 upper = 2 * k < num_rows ? _mm512_maskz_loadu_ps(mask, first + c) : _mm512_setzero_ps();
      const __m512 lower = 2 * k + 1 < num_rows ? _mm512_maskz_loadu_ps(mask, first + stride + c) : _mm512_setzero_ps();
      store_pair(out + c * num_pairs + k * kBlock, upper, lower, order);
    }
  }
}
#endif

PURETOUR_VECTORISED void round_single_plain(const float* first, std::size_t count, std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = bfloat16_bits(first[i]);
}

#if defined(__x86_64__)
template <class Word>
__attribute__((target("avx512f"))) void transpose_block_avx512(const Word* from, std::size_t from_stride, Word* to,
                                                               std::size_t to_stride) {
  __m512i columns[kBlock];
  load_columns(from, from_stride, columns);
  for (std::size_t c = 0; c < kBlock; ++c) _mm512_storeu_si512(to + c * to_stride, columns[c]);
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

// kRows x 16 sums: out[r][c] = start + sum over k of pairs left[r * left_stride + k] . right[k * 16 + c].
template <int kLanes, std::size_t kRows>
PURETOUR_INLINE void tile(const std::uint32_t* left, std::size_t left_stride, const std::uint32_t* right,
                          std::size_t right_step, std::size_t num_pairs, Block<kLanes> (&sums)[kRows]) {
  for (std::size_t k = 0; k < num_pairs; ++k) {
    FloatPairs<kLanes> row;
    FloatPairs<kLanes>::load(row, right + k * right_step);
    for (std::size_t r = 0; r < kRows; ++r) {
      FloatPairs<kLanes>::add_products(sums[r], left[r * left_stride + k], row);
    }
  }
}

#if defined(__x86_64__)
// The same with the instruction for it.
template <std::size_t kRows>
__attribute__((target("avx512f,avx512bw,avx512bf16"), always_inline)) inline void native_tile(
    const std::uint32_t* left, std::size_t left_stride, const std::uint32_t* right, std::size_t right_step,
    std::size_t num_pairs, __m512 (&sums)[kRows]) {
  for (std::size_t k = 0; k < num_pairs; ++k) {
    const auto row = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right + k * right_step));
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left[r * left_stride + k])));
      sums[r] = _mm512_dpbf16_ps(sums[r], pair, row);
    }
  }
}
#endif

struct Tile {
  const std::uint32_t* left;
  std::size_t left_stride;
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
  tile<kLanes, kRows>(t.left, t.left_stride, t.right, t.right_step, t.num_pairs, sums);
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
  native_tile<kRows>(t.left, t.left_stride, t.right, t.right_step, t.num_pairs, sums);
  for (std::size_t r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(t.out + r * t.out_stride, mask, sums[r]);
}

// Intel's CPUs take two cycles for that instruction, in which they could do four products and sums of floats: there
// pairs are better taken apart. (AMD's take one.)
bool pairs_are_slow() {
  static const bool result = __builtin_cpu_is("intel") != 0;
  return result;
}

// The numbers of rows of pairs, without gaps.
PURETOUR_TILE_TARGET void take_apart(const std::uint32_t* pairs, std::size_t stride, std::size_t num_rows,
                                     std::size_t num_pairs, float* out) {
  constexpr std::size_t kPairs = kBlock / 2;
  for (std::size_t r = 0; r < num_rows; ++r) {
    const std::uint32_t* row = pairs + r * stride;
    std::size_t k = 0;
    for (; k + kPairs <= num_pairs; k += kPairs, out += kBlock) {
      const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + k));
      _mm512_storeu_si512(out, _mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, numbers), 16));
    }
    for (; k < num_pairs; ++k) {
      *out++ = std::bit_cast<float>(row[k] << 16U);
      *out++ = std::bit_cast<float>(row[k] & 0xFFFF0000U);
    }
  }
}

// run_native_tile() of a left factor that was taken apart.
template <std::size_t kRows>
PURETOUR_TILE_INLINE void run_apart_tile(const Tile& t, const float* left) {
  const auto mask = static_cast<__mmask16>((1U << t.columns) - 1U);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  const std::size_t stride = 2 * t.num_pairs;
  __m512 sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    sums[r] = t.start == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, t.start + r * t.start_stride);
  }
  for (std::size_t k = 0; k < t.num_pairs; ++k) {
    const __m512i pairs = _mm512_loadu_si512(t.right + k * t.right_step);
    const __m512 first = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, pairs, 16));
    const __m512 second = _mm512_castsi512_ps(_mm512_and_si512(pairs, upper));
    for (std::size_t r = 0; r < kRows; ++r) {
      sums[r] = _mm512_fmadd_ps(_mm512_set1_ps(left[r * stride + 2 * k]), first, sums[r]);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      sums[r] = _mm512_fmadd_ps(_mm512_set1_ps(left[r * stride + 2 * k + 1]), second, sums[r]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(t.out + r * t.out_stride, mask, sums[r]);
}

// All tiles of rows x one panel.
PURETOUR_TILE_TARGET void run_apart_panel(Tile t, const float* left, std::size_t num_rows) {
  constexpr std::size_t kRows = 12;
  const auto run = [&]<std::size_t kCount>() PURETOUR_TILE_LAMBDA {
    run_apart_tile<kCount>(t, left);
    left += kCount * 2 * t.num_pairs;
    t.out += kCount * t.out_stride;
    if (t.start != nullptr) t.start += kCount * t.start_stride;
    num_rows -= kCount;
  };
  while (num_rows >= kRows) run.template operator()<kRows>();
  while (num_rows >= 4) run.template operator()<4>();
  while (num_rows > 0) run.template operator()<1>();
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

void round_row(const float* row, std::size_t count, std::uint16_t* out) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_row_native(row, count, out);
#endif
  round_row_plain(row, count, out);
}

void round_rows(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns, std::uint32_t* out,
                std::size_t out_stride, std::size_t num_pairs) {
  for (std::size_t r = 0; r < num_rows; ++r) {
    std::uint32_t* pairs = out + r * out_stride;
    std::fill(pairs + columns / 2, pairs + num_pairs, 0);  // the last pair of an odd row has one number only
    round_row(rows + r * stride, columns, reinterpret_cast<std::uint16_t*>(pairs));
  }
}

void round_pair(const float* first, const float* second, std::size_t count, std::uint32_t* out) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_pair_native(first, second, count, out);
#endif
  round_pair_plain(first, second, count, out);
}

void round_single(const float* first, std::size_t count, std::uint32_t* out) {
  round_single_plain(first, count, out);
}

namespace {

template <class Word>
void transpose_words(const Word* from, std::size_t from_stride, Word* to, std::size_t to_stride) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512) return transpose_block_avx512(from, from_stride, to, to_stride);
#endif
  for (std::size_t r = 0; r < kBlock; ++r) {
    for (std::size_t c = 0; c < kBlock; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace

void transpose_block(const std::uint32_t* from, std::size_t from_stride, std::uint32_t* to, std::size_t to_stride) {
  transpose_words(from, from_stride, to, to_stride);
}

void transpose_block(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
  transpose_words(from, from_stride, to, to_stride);
}

void round_row_pairs(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns,
                     std::uint32_t* out, std::size_t width) {
  for (std::size_t k = 0; k < num_row_pairs(num_rows); ++k) {
    const float* first = rows + 2 * k * stride;
    if (2 * k + 1 < num_rows) {
      round_pair(first, first + stride, columns, out + k * width);
    } else if (2 * k < num_rows) {
      round_single(first, columns, out + k * width);
    } else {
      std::fill_n(out + k * width, width, 0);
    }
  }
}

void round_row_panels(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns,
                      std::uint32_t* out) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_row_panels_native(rows, stride, num_rows, columns, out);
#endif
  const std::size_t num_pairs = num_row_pairs(num_rows);
  for (std::size_t c = 0; c < columns; c += kBlock) {
    round_row_pairs(rows + c, stride, num_rows, std::min(kBlock, columns - c), out + c * num_pairs, kBlock);
  }
}

#if defined(__x86_64__)
namespace {

PURETOUR_TILE_TARGET void round_columns_native(const float* rows, std::size_t stride, std::size_t num_rows,
                                               std::size_t columns, std::uint32_t* out, std::size_t out_stride) {
  for (std::size_t r = 0; r < num_rows; r += 2 * kBlock) {
    for (std::size_t c = 0; c < columns; c += kBlock) {
      transpose_row_pairs(rows + r * stride + c, stride, std::min(2 * kBlock, num_rows - r),
                          out + c * out_stride + r / 2, out_stride);
    }
  }
}

}  // namespace
#endif

void round_columns(const float* rows, std::size_t stride, std::size_t num_rows, std::size_t columns, std::uint32_t* out,
                   std::size_t out_stride) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16) return round_columns_native(rows, stride, num_rows, columns, out, out_stride);
#endif
  alignas(64) std::uint32_t pairs[kBlock * kBlock];
  for (std::size_t r = 0; r < num_rows; r += 2 * kBlock) {
    for (std::size_t c = 0; c < columns; c += kBlock) {
      round_row_pairs(rows + r * stride + c, stride, std::min(2 * kBlock, num_rows - r), kBlock, pairs, kBlock);
      transpose_block(pairs, kBlock, out + c * out_stride + r / 2, out_stride);
    }
  }
}

void transpose_pairs(const std::uint32_t* pairs, std::size_t num_pairs, std::size_t columns, std::uint32_t* out) {
  for (std::size_t k = 0; k < num_pairs; k += kBlock) {
    for (std::size_t c = 0; c < columns; c += kBlock) {
      transpose_block(pairs + k * columns + c, columns, out + c * num_pairs + k, num_pairs);
    }
  }
}

void gemm_bf16(const Bf16Gemm& p) {
  if (active_isa() >= Isa::kAmx && p.num_pairs % kTilePairs == 0) return multiply_tiles(p);
  const float* apart = nullptr;
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx512Bf16 && pairs_are_slow()) {
    float* memory = ensure_size(scratch<LeftApart>().numbers, 2 * p.num_rows * p.num_pairs);
    take_apart(p.left, p.left_stride, p.num_rows, p.num_pairs, memory);
    apart = memory;
  }
#endif
  for (std::size_t c = 0; c < p.columns; c += kBlock) {
    const Tile tile{p.left,
                    p.left_stride,
                    p.right + c / kBlock * p.panel_stride,
                    p.right_step,
                    p.num_pairs,
                    p.start == nullptr ? nullptr : p.start + c,
                    p.start_stride,
                    p.out + c,
                    p.out_stride,
                    std::min(kBlock, p.columns - c)};
#if defined(__x86_64__)
    if (apart != nullptr) {
      run_apart_panel(tile, apart, p.num_rows);
      continue;
    }
#endif
    run_panel(tile, p.num_rows);
  }
}

}  // namespace puretour::kernels
