// Attention of two heads of sixteen channels at a time, with products of bfloat16.
//
// Scores are computed with the keys down and the queries across, so that a register holds one key for sixteen queries:
// the softmax of a query runs down a lane, without sums across a register. Every matrix that a product needs is brought
// into the form that the product reads, rows of pairs for left factors and panels of pairs for right ones (pairs.h),
// once for both heads. A few queries at a time: all that is computed of them fits L1.
//
// A sum over the channels of one head takes half a tile. Rows of keys hold both heads; of the queries, the half that
// belongs to the other head is zero.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "puretour/kernels/gemm/tile_blocks.h"
#include "puretour/kernels/gemm/tile_registers.h"
#include "puretour/kernels/layers/group_attention.h"
#include "puretour/kernels/simd/aligned.h"

namespace puretour::kernels {

inline constexpr std::size_t kHeadDim = 16;
/// Queries at a time: two panels, and the sums over them take whole tiles.
inline constexpr std::size_t kQueryBlock = 32;
/// Words of a tile of pairs.
inline constexpr std::size_t kTileWords = kTilePairs * kBlock;
/// Pairs of the channels of a head.
inline constexpr std::size_t kHeadPairs = kHeadDim / 2;

/// Memory for many small matrices side by side, so that they do not compete for the same places of L1. It
/// only grows; what is new in it is zero.
class Arena {
 public:
  /// lay_out(take) calls take(words), which returns memory of so many words, always in the same way.
  template <class LayOut>
  void reserve(const LayOut& lay_out) {
    std::size_t used = 0;
    const auto measure = [&](std::size_t words) {
      used += padded(words);
      return static_cast<std::uint32_t*>(nullptr);
    };
    lay_out(measure);
    memory_.assign(used, 0);
    std::uint32_t* next = memory_.data();
    lay_out([&](std::size_t words) { return std::exchange(next, next + padded(words)); });
  }

 private:
  AlignedVector<std::uint32_t> memory_;
};

/// Rows of two heads (keys or values) as left factors, which begin at any row and may be read in whole tiles.
class HeadRows {
 public:
  template <class Take>
  void lay_out(std::size_t num_rows, const Take& take) {
    pairs_ = take(num_rows * kTilePairs);
  }
  /// Rows first .. first + count - 1 from `rows`.
  PURETOUR_TILE_INLINE void fill(std::size_t first, const float* rows, std::size_t stride, std::size_t count) {
    for (std::size_t r = 0; r < count; ++r) {
      store_row(pairs_ + (first + r) * kTilePairs, _mm512_loadu_ps(rows + r * stride),
                _mm512_loadu_ps(rows + r * stride + kBlock));
    }
  }
  [[nodiscard]] const std::uint32_t* from(std::size_t row) const { return pairs_ + row * kTilePairs; }

 private:
  std::uint32_t* pairs_ = nullptr;  // [row][pairs of channels]
};

/// The same rows turned, as left factors of sums over the rows: tiles of sixteen channels by 32 rows.
class HeadColumns {
 public:
  template <class Take>
  void lay_out(std::size_t num_rows, const Take& take) {
    for (std::uint32_t*& tiles : tiles_) tiles = take(num_rows / kSide * kTileWords);
  }
  /// Up to 32 rows; `first` is a multiple of 32. What is missing of whole tiles is zero.
  PURETOUR_TILE_INLINE void fill(std::size_t first, const float* rows, std::size_t stride, std::size_t count) {
    for (std::size_t head = 0; head < 2; ++head) {
      transpose_row_pairs(rows + head * kHeadDim, stride, count, tiles_[head] + first / kSide * kTileWords, kTilePairs);
    }
  }
  [[nodiscard]] const std::uint32_t* of(std::size_t head) const { return tiles_[head]; }

 private:
  std::uint32_t* tiles_[2] = {};
};

/// Queries (or gradients of what they attended to) as right factors of sums over channels: panels of sixteen queries.
class QueryPanels {
 public:
  template <class Take>
  void lay_out(std::size_t num_rows, const Take& take) {
    pairs_ = take(num_rows / kBlock * kPanelWords);
  }
  /// Up to 32 rows; `first` is a multiple of 32. Rows that are missing become zero.
  PURETOUR_TILE_INLINE void fill(std::size_t first, const float* rows, std::size_t stride, std::size_t count,
                                 float factor) {
    for (std::size_t r = 0; r < kSide; r += kBlock) {
      for (std::size_t head = 0; head < 2; ++head) {
        fill_panel(rows + r * stride + head * kHeadDim, stride, count - std::min(count, r), factor,
                   pairs_ + (first + r) / kBlock * kPanelWords + 2 * head * kHeadPairs * kBlock);
      }
    }
  }
  /// A tile of the panel of query `first` whose other half is zero.
  [[nodiscard]] const std::uint32_t* tile(std::size_t head, std::size_t first) const {
    return pairs_ + first / kBlock * kPanelWords + head * kHeadPairs * kBlock;
  }
  /// The pairs of the head only.
  [[nodiscard]] const std::uint32_t* half_tile(std::size_t head, std::size_t first) const {
    return pairs_ + first / kBlock * kPanelWords + 2 * head * kHeadPairs * kBlock;
  }
  static constexpr std::size_t kPanelWords = 3 * kHeadPairs * kBlock;  // first head, zeros, second head

 private:
  // The exchanges of a transposition for registers of two rows each. These are chosen such that the rows of the result
  // are in their order.
  PURETOUR_TILE_INLINE static void fill_panel(const float* rows, std::size_t stride, std::size_t count, float factor,
                                              std::uint32_t* panel) {
    const __m512 factors = _mm512_set1_ps(factor);
    const auto row = [&](std::size_t r) PURETOUR_TILE_LAMBDA {
      return r < count ? _mm512_mul_ps(_mm512_loadu_ps(rows + r * stride), factors) : _mm512_setzero_ps();
    };
    __m512i columns[2][4];  // [g][c]: pairs c and 4 + c, by turns, of four of the rows 8 g to 8 g + 7
    for (std::size_t g = 0; g < 2; ++g) {
      __m512i both[4];
      for (std::size_t i = 0; i < 4; ++i) {
        both[i] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row(8 * g + 4 + i), row(8 * g + i)));
      }
      transpose_quarters(both, columns[g]);
    }
    for (std::size_t c = 0; c < 4; ++c) {
      _mm512_storeu_si512(panel + c * kBlock, _mm512_maskz_shuffle_i32x4(kAll, columns[0][c], columns[1][c], 0x88));
      _mm512_storeu_si512(panel + (4 + c) * kBlock,
                          _mm512_maskz_shuffle_i32x4(kAll, columns[0][c], columns[1][c], 0xDD));
    }
  }

  std::uint32_t* pairs_ = nullptr;
};

/// The same as right factors of sums over queries: [32 queries][head][pair of queries][channel].
class QueryPairs {
 public:
  template <class Take>
  void lay_out(std::size_t num_rows, const Take& take) {
    pairs_ = take(num_rows * kSide / 2);
  }
  /// Up to 32 rows; `first` is a multiple of 32. Rows that are missing become zero.
  PURETOUR_TILE_INLINE void fill(std::size_t first, const float* rows, std::size_t stride, std::size_t count) {
    const __m512i order = interleaving();
    std::uint32_t* out = pairs_ + first * kSide / 2;
    for (std::size_t r = 0; r < kSide; r += 2, out += kBlock) {
      for (std::size_t head = 0; head < 2; ++head) {
        const float* from = rows + r * stride + head * kHeadDim;
        const __m512 upper = r < count ? _mm512_loadu_ps(from) : _mm512_setzero_ps();
        const __m512 lower = r + 1 < count ? _mm512_loadu_ps(from + stride) : _mm512_setzero_ps();
        store_pair(out + head * kTileWords, upper, lower, order);
      }
    }
  }
  [[nodiscard]] const std::uint32_t* tile(std::size_t head, std::size_t first) const {
    return pairs_ + first * kSide / 2 + head * kTileWords;
  }

 private:
  std::uint32_t* pairs_ = nullptr;
};

/// What products read of the keys, values and queries of two heads of one group.
struct PackedHeads {
  HeadRows key_rows;
  HeadColumns value_columns;
  QueryPanels query_panels;  // times the scale and log2(e)
  // For gradients:
  HeadRows value_rows;
  HeadColumns key_columns;
  QueryPairs query_pairs;
  QueryPanels gradient_panels;
  QueryPairs gradient_pairs;

  template <class Take>
  void lay_out(std::size_t num_queries, std::size_t num_keys, bool backward, const Take& take) {
    key_rows.lay_out(num_keys, take);
    query_panels.lay_out(num_queries, take);
    value_columns.lay_out(num_keys, take);
    if (!backward) return;
    value_rows.lay_out(num_keys, take);
    gradient_panels.lay_out(num_queries, take);
    key_columns.lay_out(num_keys, take);
    query_pairs.lay_out(num_queries, take);
    gradient_pairs.lay_out(num_queries, take);
  }
};

/// What is computed of two heads of one group: of one head and a few queries at a time, so that all of it and the forms
/// of the head fit L1. Kept from call to call. Whole tiles: what lies behind the last key or query is
/// finite.
struct HeadWorkspace {
  PackedHeads forms;
  // Of a head and a panel of queries:
  float* scores = nullptr;                // [key][query]; become weights before the division by their sums
  float* weight_gradients = nullptr;      // [key][query]
  std::uint32_t* weight_pairs = nullptr;  // [pair of keys][query]
  std::uint32_t* score_gradient_pairs = nullptr;
  // Of a head and a block of queries:
  std::uint32_t* weight_rows = nullptr;  // [key][pairs of queries]
  std::uint32_t* score_gradient_rows = nullptr;
  float* turned_queries = nullptr;  // [channel][query]: gradients
  float* turned = nullptr;          // [channel][query]: what was attended to
  float* factors = nullptr;         // 1 / sum of the weights of a query
  // Of two heads and all keys, [key][channel]: gradients
  float* key_sums = nullptr;
  float* value_sums = nullptr;

  /// Room for groups of at most so many queries and keys.
  void reserve(std::size_t num_queries, std::size_t num_keys, bool backward) {
    if (num_queries <= num_queries_ && num_keys <= num_keys_ && (backward_ || !backward)) return;
    num_queries_ = padded_to_side(std::max(num_queries, num_queries_));
    num_keys_ = padded_to_side(std::max(num_keys, num_keys_));
    backward_ = backward_ || backward;
    arena_.reserve([&](const auto& take) {
      const auto take_floats = [&](std::size_t count) { return reinterpret_cast<float*>(take(count)); };
      factors = take_floats(kQueryBlock);
      turned = take_floats(kHeadDim * kQueryBlock);
      scores = take_floats(num_keys_ * kBlock);
      weight_pairs = take(num_keys_ / 2 * kBlock);
      if (backward_) {
        turned_queries = take_floats(kHeadDim * kQueryBlock);
        weight_gradients = take_floats(num_keys_ * kBlock);
        score_gradient_pairs = take(num_keys_ / 2 * kBlock);
        weight_rows = take(num_keys_ * kQueryBlock / 2);
        score_gradient_rows = take(num_keys_ * kQueryBlock / 2);
        key_sums = take_floats(num_keys_ * kSide);
        value_sums = take_floats(num_keys_ * kSide);
      }
      forms.lay_out(num_queries_, num_keys_, backward_, take);
    });
  }

 private:
  std::size_t num_queries_ = 0;
  std::size_t num_keys_ = 0;
  bool backward_ = false;
  Arena arena_;
};

/// Which keys sixteen queries see.
struct AttentionMask {
  const std::int32_t* ranks;  // null: all
  __m512i least;              // rank that a query sees at least

  /// Queries behind the last one see everything, so that they have a softmax, too.
  PURETOUR_TILE_INLINE static AttentionMask of(const Group& group, std::size_t first_query) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 are_there =
        _mm512_cmplt_epi32_mask(lanes, _mm512_set1_epi32(static_cast<std::int32_t>(group.num_queries - first_query)));
    const __m512i first = _mm512_set1_epi32(group.first_rank + static_cast<std::int32_t>(first_query));
    return {group.ranks, _mm512_mask_add_epi32(_mm512_set1_epi32(std::numeric_limits<std::int32_t>::min()), are_there,
                                               first, lanes)};
  }
  [[nodiscard]] PURETOUR_TILE_INLINE __m512 masked(__m512 scores, std::size_t key) const {
    if (ranks == nullptr) return scores;
    const __mmask16 visible = _mm512_cmpge_epi32_mask(_mm512_set1_epi32(ranks[key]), least);
    return _mm512_mask_blend_ps(visible, _mm512_set1_ps(kMasked), scores);
  }
  static constexpr float kMasked = -1e30F;
};

/// By AMX.
struct TileHeads {
  /// The unit falls asleep when nothing is multiplied for 200 to 400 ns, and takes up to 400 ns to wake up. A product
  /// that nobody reads keeps it awake; but while it is, other instructions are slower. It pays in gradients, whose
  /// softmax takes longer, and not in forward passes.
  PURETOUR_INLINE static void keep_warm() { MatrixUnit::add_product<0, 4, 6>(); }
  /// out[key][query] = rows . panel over the channels of a head, for whole tiles of keys and a panel of queries.
  static void score(const HeadRows& rows, const QueryPanels& panels, std::size_t head, std::size_t first_query,
                    std::size_t num_keys, float* out) {
    using Unit = MatrixUnit;
    Unit::load<6>(panels.tile(head, first_query), kRowBytes);
    for (std::size_t k = 0; k < num_keys; k += kBlock) {
      Unit::load<4>(rows.from(k), kRowBytes);
      Unit::zero<0>();
      Unit::add_product<0, 4, 6>();
      Unit::store<0>(out + k * kBlock, kRowBytes);
    }
  }
  /// turned[channel][query] = columns . pairs over the keys, for a panel of queries.
  static void collect(const std::uint32_t* columns, const std::uint32_t* pairs, std::size_t num_keys, float* turned) {
    using Unit = MatrixUnit;
    Unit::zero<1>();
    for (std::size_t k = 0; k < num_keys; k += kSide, columns += kTileWords, pairs += kTileWords) {
      Unit::load<5>(columns, kRowBytes);
      Unit::load<7>(pairs, kRowBytes);
      Unit::add_product<1, 5, 7>();
    }
    Unit::store<1>(turned, kQueryBytes);
  }
  /// sums[key][channel] (a stride of 32) = rows . pairs over the queries, added unless they are the first.
  static void sum_over_queries(const std::uint32_t* rows, const std::uint32_t* pairs, std::size_t num_keys, bool first,
                               float* sums) {
    using Unit = MatrixUnit;
    Unit::load<6>(pairs, kRowBytes);
    for (std::size_t k = 0; k < num_keys; k += kBlock) {
      Unit::load<4>(rows + k * kTilePairs, kRowBytes);
      if (first) {
        Unit::zero<0>();
      } else {
        Unit::load<0>(sums + k * kSide, kSumBytes);
      }
      Unit::add_product<0, 4, 6>();
      Unit::store<0>(sums + k * kSide, kSumBytes);
    }
  }

 private:
  static constexpr std::size_t kRowBytes = kBlock * sizeof(std::uint32_t);
  static constexpr std::size_t kQueryBytes = kQueryBlock * sizeof(float);
  static constexpr std::size_t kSumBytes = kSide * sizeof(float);
};

/// Without an AMX unit.
struct RegisterHeads {
  PURETOUR_INLINE static void keep_warm() {}
  static void score(const HeadRows& rows, const QueryPanels& panels, std::size_t head, std::size_t first_query,
                    std::size_t num_keys, float* out) {
    gemm_bf16({rows.from(0) + head * kHeadPairs, kTilePairs, panels.half_tile(head, first_query), kBlock, 0, kHeadPairs,
               nullptr, 0, out, kBlock, num_keys, kBlock});
  }
  static void collect(const std::uint32_t* columns, const std::uint32_t* pairs, std::size_t num_keys, float* turned) {
    for (std::size_t k = 0; k < num_keys; k += kSide, columns += kTileWords, pairs += kTileWords) {
      gemm_bf16({columns, kTilePairs, pairs, kBlock, 0, kTilePairs, k == 0 ? nullptr : turned, kQueryBlock, turned,
                 kQueryBlock, kHeadDim, kBlock});
    }
  }
  static void sum_over_queries(const std::uint32_t* rows, const std::uint32_t* pairs, std::size_t num_keys, bool first,
                               float* sums) {
    gemm_bf16({rows, kTilePairs, pairs, kBlock, 0, kTilePairs, first ? nullptr : sums, kSide, sums, kSide, num_keys,
               kHeadDim});
  }
};

// While AMX is awake, products, maxima and roundings of whole registers run at half their speed, one in a
// cycle, and decide how long a softmax takes. Hence a short polynomial and, if it can be done without, no shift by the
// largest score.

/// 2^x with a relative error below 7.5e-5, a twentieth of what rounding the result to bfloat16 adds.
PURETOUR_TILE_INLINE __m512 power_of_two(__m512 x) {
  // 2^f for 0 <= f <= 1 with the least relative error of all polynomials of its degree.
  constexpr float kPowers[] = {9.999252186e-01F, 6.958335405e-01F, 2.260671554e-01F, 7.802452269e-02F};
  const __m512 f = _mm512_maskz_reduce_ps(kAll, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);  // 0 <= f < 1
  __m512 p = _mm512_set1_ps(kPowers[3]);
  for (int i = 2; i >= 0; --i) p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPowers[i]));
  return _mm512_maskz_scalef_ps(kAll, p, x);  // by 2^floor(x)
}

/// Whether sums of powers are far from where floats end, so that nothing that matters is lost.
PURETOUR_TILE_INLINE bool are_safe(__m512 sums) {
  const __mmask16 large = _mm512_cmp_ps_mask(sums, _mm512_set1_ps(0x1p-60F), _CMP_GT_OQ);
  const __mmask16 small = _mm512_cmp_ps_mask(sums, _mm512_set1_ps(0x1p60F), _CMP_LT_OQ);
  return (large & small) == kAll;
}

/// The largest scores, in four parts that do not wait for each other.
PURETOUR_TILE_INLINE __m512 largest_of(const AttentionMask& mask, const float* scores, std::size_t num_keys) {
  constexpr std::size_t kParts = 4;
  __m512 largest[kParts];
  for (__m512& part : largest) part = _mm512_set1_ps(AttentionMask::kMasked);
  const auto take = [&](__m512& part, std::size_t k) PURETOUR_TILE_LAMBDA {
    part = _mm512_maskz_max_ps(kAll, part, mask.masked(_mm512_loadu_ps(scores + k * kBlock), k));
  };
  std::size_t k = 0;
  for (; k + kParts <= num_keys; k += kParts) {
    for (std::size_t i = 0; i < kParts; ++i) take(largest[i], k + i);
  }
  for (; k < num_keys; ++k) take(largest[0], k);
  return _mm512_maskz_max_ps(kAll, _mm512_maskz_max_ps(kAll, largest[0], largest[1]),
                             _mm512_maskz_max_ps(kAll, largest[2], largest[3]));
}

/// Subtracts the largest scores, where powers of the scores themselves were not safe.
PURETOUR_TILE_INLINE void shift_scores(const AttentionMask& mask, float* scores, std::size_t num_keys) {
  const __m512 largest = largest_of(mask, scores, num_keys);
  for (std::size_t k = 0; k < num_keys; ++k) {
    float* score = scores + k * kBlock;
    _mm512_storeu_ps(score, _mm512_sub_ps(mask.masked(_mm512_loadu_ps(score), k), largest));
  }
}

/// How often AMX is kept awake while gradients of weights are computed.
inline constexpr std::size_t kKeysPerProduct = 32;

/// The pairs behind the last key up to whole tiles.
inline void clear_pairs_behind(std::size_t num_keys, std::uint32_t* pairs) {
  const std::size_t begin = (num_keys + 1) / 2;
  std::fill_n(pairs + begin * kBlock, (padded_to_side(num_keys) / 2 - begin) * kBlock, 0);
}

/// Scores (of base 2) of one panel -> weights before the division by their sums, as pairs of keys; returns the sums.
PURETOUR_TILE_INLINE __m512 weigh_panel(const AttentionMask& mask, const float* scores, std::size_t num_keys,
                                        std::uint32_t* pairs) {
  const __m512i order = interleaving();
  __m512 sum = _mm512_setzero_ps();
  const auto weight = [&](std::size_t k) PURETOUR_TILE_LAMBDA {
    const __m512 result = power_of_two(mask.masked(_mm512_loadu_ps(scores + k * kBlock), k));
    sum = _mm512_add_ps(sum, result);
    return result;
  };
  std::size_t k = 0;
  for (; k + 2 <= num_keys; k += 2) {
    const __m512 first = weight(k);
    const __m512 second = weight(k + 1);
    store_pair(pairs + k / 2 * kBlock, first, second, order);
  }
  if (k < num_keys) store_pair(pairs + k / 2 * kBlock, weight(k), _mm512_setzero_ps(), order);
  clear_pairs_behind(num_keys, pairs);
  return sum;
}

/// The same; returns 1 / sums.
PURETOUR_TILE_INLINE __m512 softmax_panel(const AttentionMask& mask, float* scores, std::size_t num_keys,
                                          std::uint32_t* pairs) {
  __m512 sum = weigh_panel(mask, scores, num_keys, pairs);
  if (!are_safe(sum)) {
    shift_scores(mask, scores, num_keys);
    sum = weigh_panel(mask, scores, num_keys, pairs);
  }
  return _mm512_div_ps(_mm512_set1_ps(1), sum);
}

/// Where weights (or gradients of scores) of a panel belong.
struct PackedWeightTiles {
  std::uint32_t* rows;   // [key][pairs of queries], a stride of kQueryBlock / 2
  std::uint32_t* pairs;  // [pair of keys][queries]
};

/// Two keys.
PURETOUR_TILE_INLINE void store_weights(const PackedWeightTiles& to, std::size_t key, bool has_second, __m512 first,
                                        __m512 second, __m512i order) {
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  _mm512_storeu_si512(to.pairs + key / 2 * kBlock, _mm512_permutexvar_epi16(order, both));
  std::uint32_t* row = to.rows + key * kQueryBlock / 2;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), _mm512_maskz_extracti64x4_epi64(0xFF, both, 0));
  if (!has_second) return;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + kQueryBlock / 2),
                      _mm512_maskz_extracti64x4_epi64(0xFF, both, 1));
}

/// Sums of weights, and of their products with the gradients.
struct WeightTotals {
  __m512 sum;
  __m512 dot;
};

/// Scores of one panel -> weights before the division by their sums.
template <class Heads>
PURETOUR_TILE_INLINE WeightTotals weigh_panel(const AttentionMask& mask, float* scores, const float* gradients,
                                              std::size_t num_keys) {
  WeightTotals totals{_mm512_setzero_ps(), _mm512_setzero_ps()};
  for (std::size_t k = 0; k < num_keys; ++k) {
    if (k % kKeysPerProduct == 0) Heads::keep_warm();
    const __m512 weight = power_of_two(mask.masked(_mm512_loadu_ps(scores + k * kBlock), k));
    totals.sum = _mm512_add_ps(totals.sum, weight);
    totals.dot = _mm512_fmadd_ps(weight, _mm512_loadu_ps(gradients + k * kBlock), totals.dot);
    _mm512_storeu_ps(scores + k * kBlock, weight);
  }
  return totals;
}

/// One panel of scores (of base 2) and gradients of the weights -> weights and gradients of the scores. score_again()
/// computes the scores once more.
template <class Heads, class ScoreAgain>
PURETOUR_TILE_INLINE void softmax_gradient_panel(const AttentionMask& mask, float* scores, const float* gradients,
                                                 std::size_t num_keys, float scale, const PackedWeightTiles& weights,
                                                 const PackedWeightTiles& score_gradients,
                                                 const ScoreAgain& score_again) {
  WeightTotals totals = weigh_panel<Heads>(mask, scores, gradients, num_keys);
  if (!are_safe(totals.sum)) {
    score_again();
    shift_scores(mask, scores, num_keys);
    totals = weigh_panel<Heads>(mask, scores, gradients, num_keys);
  }
  const __m512i order = interleaving();
  const __m512 factor = _mm512_div_ps(_mm512_set1_ps(1), totals.sum);
  const __m512 scales = _mm512_set1_ps(scale);
  const __m512 scaled_mean = _mm512_mul_ps(_mm512_mul_ps(totals.dot, factor), scales);
  for (std::size_t k = 0; k < num_keys; k += 2) {
    if (k % kKeysPerProduct == 0) Heads::keep_warm();
    __m512 weight[2] = {};
    __m512 gradient[2] = {};
    const bool has_second = k + 1 < num_keys;
    for (std::size_t i = 0; i < (has_second ? 2 : 1); ++i) {
      weight[i] = _mm512_mul_ps(_mm512_loadu_ps(scores + (k + i) * kBlock), factor);
      gradient[i] =
          _mm512_mul_ps(weight[i], _mm512_fmsub_ps(_mm512_loadu_ps(gradients + (k + i) * kBlock), scales, scaled_mean));
    }
    store_weights(weights, k, has_second, weight[0], weight[1], order);
    store_weights(score_gradients, k, has_second, gradient[0], gradient[1], order);
  }
  clear_pairs_behind(num_keys, weights.pairs);
  clear_pairs_behind(num_keys, score_gradients.pairs);
}

/// Sixteen numbers of a row of pairs.
PURETOUR_TILE_INLINE void store_half_row(std::uint32_t* to, __m512 values) {
  const __m256bh rounded = _mm512_cvtneps_pbh(values);
  std::memcpy(to, &rounded, sizeof rounded);
}

/// turned[channel][query] of a panel as rows of channels.
PURETOUR_TILE_INLINE void turn_panel(const float* turned, __m512 (&rows)[kBlock]) {
  __m512i columns[kBlock];
  load_columns(turned, kQueryBlock, columns);
  for (std::size_t q = 0; q < kBlock; ++q) rows[q] = reinterpret_cast<__m512>(columns[q]);
}

/// A block of the queries of a group.
struct QueryRange {
  const Group& group;
  std::size_t begin;  // within the group, a multiple of kQueryBlock
  std::size_t count;

  /// Calls use(begin of the panel within the block, its queries).
  template <class Use>
  PURETOUR_TILE_INLINE void for_panels(const Use& use) const {
    for (std::size_t q = 0; q < count; q += kBlock) use(q, std::min(kBlock, count - q));
  }
};

template <class Use>
PURETOUR_TILE_INLINE void for_query_blocks(const Group& group, const Use& use) {
  for (std::size_t begin = 0; begin < group.num_queries; begin += kQueryBlock) {
    use(QueryRange{group, begin, std::min(kQueryBlock, group.num_queries - begin)});
  }
}

/// What the queries attended to: work.turned, to be multiplied by work.factors.
template <class Heads>
PURETOUR_TILE_INLINE void attend(std::size_t head, const QueryRange& queries, HeadWorkspace& work) {
  const PackedHeads& forms = work.forms;
  const std::size_t num_keys = queries.group.num_keys;
  for (std::size_t q = 0; q < queries.count; q += kBlock) {
    Heads::score(forms.key_rows, forms.query_panels, head, queries.begin + q, num_keys, work.scores);
    const __m512 factors =
        softmax_panel(AttentionMask::of(queries.group, queries.begin + q), work.scores, num_keys, work.weight_pairs);
    _mm512_store_ps(work.factors + q, factors);
    Heads::collect(forms.value_columns.of(head), work.weight_pairs, num_keys, work.turned + q);
  }
}

/// Gradients of the queries, work.turned_queries, and of keys and values, added to work.key_sums and work.value_sums or
/// written there by the first queries. With `with_out` also what the queries attended to, work.turned.
template <class Heads>
PURETOUR_TILE_INLINE void attend_gradient(std::size_t head, const QueryRange& queries, float scale, bool with_out,
                                          HeadWorkspace& work) {
  const PackedHeads& forms = work.forms;
  const std::size_t num_keys = queries.group.num_keys;
  for (std::size_t q = 0; q < queries.count; q += kBlock) {
    const auto score = [&]() PURETOUR_TILE_LAMBDA {
      Heads::score(forms.key_rows, forms.query_panels, head, queries.begin + q, num_keys, work.scores);
    };
    score();
    Heads::score(forms.value_rows, forms.gradient_panels, head, queries.begin + q, num_keys, work.weight_gradients);
    softmax_gradient_panel<Heads>(AttentionMask::of(queries.group, queries.begin + q), work.scores,
                                  work.weight_gradients, num_keys, scale, {work.weight_rows + q / 2, work.weight_pairs},
                                  {work.score_gradient_rows + q / 2, work.score_gradient_pairs}, score);
    Heads::collect(forms.key_columns.of(head), work.score_gradient_pairs, num_keys, work.turned_queries + q);
    if (with_out) Heads::collect(forms.value_columns.of(head), work.weight_pairs, num_keys, work.turned + q);
  }
  if (queries.count <= kBlock) {  // sums over queries run over two panels
    for (std::size_t k = 0; k < num_keys; ++k) {
      std::fill_n(work.weight_rows + k * kQueryBlock / 2 + kBlock / 2, kBlock / 2, 0);
      std::fill_n(work.score_gradient_rows + k * kQueryBlock / 2 + kBlock / 2, kBlock / 2, 0);
    }
  }
  const bool first = queries.begin == 0;
  Heads::sum_over_queries(work.score_gradient_rows, forms.query_pairs.tile(head, queries.begin), num_keys, first,
                          work.key_sums + head * kHeadDim);
  Heads::sum_over_queries(work.weight_rows, forms.gradient_pairs.tile(head, queries.begin), num_keys, first,
                          work.value_sums + head * kHeadDim);
}

}  // namespace puretour::kernels
#endif
