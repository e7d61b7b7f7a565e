// Scores are computed with the keys down and the queries across, so that a register holds one key for sixteen queries:
// the softmax of a query runs down a lane, without sums across a register. Every matrix that a product needs is brought
// into the form that the product reads: rows of pairs for left factors, panels of pairs for right ones (pairs.h).
//
// A few queries of one head at a time: all that is computed of them fits the first cache.
// SPDX-License-Identifier: MIT
#include "puretour/kernels/tile_attention.h"

#include <algorithm>
#include <cstring>

#include "puretour/base/error.h"
#include "puretour/kernels/aligned.h"
#include "puretour/kernels/pairs.h"
#include "puretour/kernels/scratch.h"
#include "puretour/kernels/tile_registers.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kDim = 16;  // channels of a head
// Queries at a time: what is computed of them stays in the first cache, and two panels fill the matrix unit.
constexpr std::size_t kQueryBlock = 32;
constexpr float kMasked = -1e30F;

// Pairs of the channels of a head; the matrix unit wants whole tiles, half of them zero.
std::size_t head_pairs() {
  return active_isa() >= Isa::kAmx ? kTilePairs : kDim / 2;
}

// Rows of channels as [row][pairs of channels] in a stride of kTilePairs. The upper half stays zero.
struct ChannelPairs {
  AlignedVector<std::uint32_t> pairs;

  void reserve(std::size_t rows) { room(pairs, padded(rows) * kTilePairs); }
  PURETOUR_TILE_TARGET void fill(const float* rows, std::size_t stride, std::size_t count) {
    for (std::size_t r = 0; r < count; ++r) {
      store_row(pairs.data() + r * kTilePairs, _mm512_loadu_ps(rows + r * stride), _mm512_setzero_ps());
    }
  }
};

// Rows of channels as panels of sixteen rows: [panel][pairs of channels][row]. The upper half of a panel stays zero.
struct ChannelPanels {
  AlignedVector<std::uint32_t> pairs;

  void reserve(std::size_t rows) { room(pairs, padded(rows) * kTilePairs); }
  // Rows that are missing in the last panel become zero.
  PURETOUR_TILE_TARGET void fill(const float* rows, std::size_t stride, std::size_t count, float factor) {
    for (std::size_t r = 0; r < count; r += kBlock) {
      fill_panel(rows + r * stride, stride, std::min(kBlock, count - r), factor, pairs.data() + r * kTilePairs);
    }
  }

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
};

// The keys of one head of one group.
struct Head {
  const Group& group;
  std::size_t first_channel;

  [[nodiscard]] std::size_t num_keys() const { return group.num_keys; }
  [[nodiscard]] std::size_t key_pairs() const { return num_row_pairs(group.num_keys); }
  // Of products with a row for each key. The matrix unit writes whole tiles faster; nobody reads what lies behind the
  // last key.
  [[nodiscard]] std::size_t rows_to_write() const {
    return active_isa() >= Isa::kAmx ? padded(group.num_keys) : group.num_keys;
  }
  // Among the rows of a matrix.
  template <class SomeRows>
  [[nodiscard]] auto keys(SomeRows rows) const {
    return rows.data + group.key_begin * rows.stride + first_channel;
  }
};

// Some of the queries that look at them, a block at most.
struct Queries {
  const Head& head;
  std::size_t begin;  // within the group
  std::size_t count;

  [[nodiscard]] std::size_t num_panels() const { return padded(count) / kBlock; }
  [[nodiscard]] bool are_first() const { return begin == 0; }
  // Among the rows of a matrix.
  template <class SomeRows>
  [[nodiscard]] auto of(SomeRows rows) const {
    return rows.data + (head.group.query_begin + begin) * rows.stride + head.first_channel;
  }
};

// For every head of every group begin(head), attend(queries) for all of its queries, end(head).
template <class Steps>
void for_heads(std::span<const Group> groups, std::size_t num_heads, Steps& steps) {
  for (const Group& group : groups) {
    if (group.num_queries == 0) continue;  // no sums begin
    for (std::size_t h = 0; h < num_heads; ++h) {
      const Head head{group, h * kDim};
      steps.begin(head);
      for (std::size_t begin = 0; begin < group.num_queries; begin += kQueryBlock) {
        steps.attend({head, begin, std::min(kQueryBlock, group.num_queries - begin)});
      }
      steps.end(head);
    }
  }
}

// What products read of keys and values.
struct KeyOperands {
  ChannelPairs key_rows;
  ChannelPairs value_rows;
  AlignedVector<std::uint32_t> key_columns;    // [channel][pairs of keys]
  AlignedVector<std::uint32_t> value_columns;  // [channel][pairs of keys]
};

// What products read of queries and of the gradients of their results.
struct QueryOperands {
  ChannelPanels query_panels;
  ChannelPanels gradient_panels;
  AlignedVector<std::uint32_t> query_pairs;  // [pairs of queries][channels]
  AlignedVector<std::uint32_t> gradient_pairs;
};

// Kept from call to call. Whole tiles: what lies behind the last key or query is finite.
struct Workspace {
  KeyOperands of_keys;
  QueryOperands of_queries;
  AlignedVector<std::uint32_t> row_pairs;
  AlignedVector<float> scores;                 // [key][queries of the block]
  AlignedVector<float> weight_gradients;       // [key][queries of the block]
  AlignedVector<std::uint32_t> weight_panels;  // [panel][pairs of keys][queries]
  AlignedVector<std::uint32_t> score_gradient_panels;
  AlignedVector<std::uint32_t> weight_rows;  // [key][pairs of queries]
  AlignedVector<std::uint32_t> score_gradient_rows;
  AlignedVector<float> key_sums;                // [key][channel]: gradients
  AlignedVector<float> value_sums;              // [key][channel]
  AlignedVector<float> turned_queries;          // [channel][queries of the block]: gradients
  AlignedVector<float> turned;                  // [channel][queries of the block]
  alignas(64) float factors[kQueryBlock] = {};  // 1 / sum of the weights of a query

  void reserve(std::span<const Group> groups, bool backward) {
    std::size_t num_keys = 0;
    for (const Group& group : groups) num_keys = std::max(num_keys, group.num_keys);
    const std::size_t keys = padded(num_keys);
    const std::size_t key_pairs = num_row_pairs(num_keys);
    room(row_pairs, key_pairs * kDim);
    room(scores, keys * kQueryBlock);
    room(weight_panels, key_pairs * kQueryBlock);
    room(turned, kDim * kQueryBlock);
    of_keys.key_rows.reserve(keys);
    room(of_keys.value_columns, kDim * key_pairs);
    of_queries.query_panels.reserve(kQueryBlock);
    if (!backward) return;
    room(of_keys.key_columns, kDim * key_pairs);
    of_keys.value_rows.reserve(keys);
    of_queries.gradient_panels.reserve(kQueryBlock);
    room(of_queries.query_pairs, kQueryBlock / 2 * kDim);
    room(of_queries.gradient_pairs, kQueryBlock / 2 * kDim);
    room(turned_queries, kDim * kQueryBlock);
    room(score_gradient_panels, key_pairs * kQueryBlock);
    room(weight_gradients, keys * kQueryBlock);
    room(key_sums, keys * kDim);
    room(value_sums, keys * kDim);
    room(weight_rows, keys * kQueryBlock / 2);
    room(score_gradient_rows, keys * kQueryBlock / 2);
  }
};

// Which keys sixteen queries see.
struct Sight {
  const std::int32_t* ranks;  // null: all
  __m512i least;              // rank that a query sees at least

  PURETOUR_TILE_INLINE static Sight of(const Group& group, std::size_t first_query) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return {group.ranks,
            _mm512_add_epi32(_mm512_set1_epi32(group.first_rank + static_cast<std::int32_t>(first_query)), lanes)};
  }
  [[nodiscard]] PURETOUR_TILE_INLINE __m512 masked(__m512 scores, std::size_t key) const {
    if (ranks == nullptr) return scores;
    const __mmask16 visible = _mm512_cmpge_epi32_mask(_mm512_set1_epi32(ranks[key]), least);
    return _mm512_mask_blend_ps(visible, _mm512_set1_ps(kMasked), scores);
  }
};

// 2^f for 0 <= f <= 1 with the least relative error, 2.6e-6, of all polynomials of its degree.
constexpr float kPowers[] = {1.000002593F, 6.930038345e-01F, 2.414427569e-01F, 5.201146062e-02F, 1.353416791e-02F};

// 2^x for x <= 0, much closer than the rounding of the results.
PURETOUR_TILE_INLINE __m512 power_of_two(__m512 x) {
  const __m512 f = _mm512_maskz_reduce_ps(kAll, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);  // 0 <= f < 1
  __m512 p = _mm512_set1_ps(kPowers[4]);
  for (int i = 3; i >= 0; --i) p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPowers[i]));
  return _mm512_maskz_scalef_ps(kAll, p, x);  // by 2^floor(x)
}

// In four parts that do not wait for each other.
PURETOUR_TILE_INLINE __m512 largest_of(const Sight& sight, const float* scores, std::size_t num_keys) {
  constexpr std::size_t kParts = 4;
  __m512 largest[kParts];
  for (__m512& part : largest) part = _mm512_set1_ps(kMasked);
  const auto take = [&](__m512& part, std::size_t k) PURETOUR_TILE_LAMBDA {
    part = _mm512_maskz_max_ps(kAll, part, sight.masked(_mm512_loadu_ps(scores + k * kQueryBlock), k));
  };
  std::size_t k = 0;
  for (; k + kParts <= num_keys; k += kParts) {
    for (std::size_t i = 0; i < kParts; ++i) take(largest[i], k + i);
  }
  for (; k < num_keys; ++k) take(largest[0], k);
  return _mm512_maskz_max_ps(kAll, _mm512_maskz_max_ps(kAll, largest[0], largest[1]),
                             _mm512_maskz_max_ps(kAll, largest[2], largest[3]));
}

// row(k) of all rows as pairs of rows, in their order; what is missing of whole tiles is zero.
template <class Row>
PURETOUR_TILE_INLINE void store_row_pairs(std::uint32_t* pairs, std::size_t num_rows, std::size_t num_pairs,
                                          const Row& row) {
  const __m512i order = interleaving();
  std::size_t k = 0;
  for (; k + 2 <= num_rows; k += 2) {
    const __m512 first = row(k);
    const __m512 second = row(k + 1);
    store_pair(pairs + k / 2 * kBlock, first, second, order);
  }
  if (k < num_rows) {
    store_pair(pairs + k / 2 * kBlock, row(k), _mm512_setzero_ps(), order);
    k += 2;
  }
  for (; k / 2 < num_pairs; k += 2) _mm512_storeu_si512(pairs + k / 2 * kBlock, _mm512_setzero_si512());
}

// The channels of a head as pairs of rows.
PURETOUR_TILE_TARGET void pair_rows(const float* rows, std::size_t stride, std::size_t count, std::uint32_t* pairs) {
  store_row_pairs(pairs, count, num_row_pairs(count),
                  [&](std::size_t r) PURETOUR_TILE_LAMBDA { return _mm512_loadu_ps(rows + r * stride); });
}

PURETOUR_TILE_INLINE void store_half_row(std::uint32_t* to, __m512 values) {
  const __m256bh rounded = _mm512_cvtneps_pbh(values);
  std::memcpy(to, &rounded, sizeof rounded);
}

// Scores (of base 2) of one panel -> weights before the division by their sums, as pairs of keys; returns 1 / sums.
PURETOUR_TILE_TARGET __m512 softmax_panel(const Sight& sight, const float* scores, std::size_t num_keys,
                                          std::size_t key_pairs, std::uint32_t* pairs) {
  const __m512 largest = largest_of(sight, scores, num_keys);
  __m512 sum = _mm512_setzero_ps();
  const auto weight = [&](std::size_t k) PURETOUR_TILE_LAMBDA {
    const __m512 score = sight.masked(_mm512_loadu_ps(scores + k * kQueryBlock), k);
    const __m512 result = power_of_two(_mm512_sub_ps(score, largest));
    sum = _mm512_add_ps(sum, result);
    return result;
  };
  store_row_pairs(pairs, num_keys, key_pairs, weight);
  return _mm512_div_ps(_mm512_set1_ps(1), sum);
}

// One panel of scores (of base 2) and gradients of the weights -> weights and gradients of the scores by rows of keys,
// the latter also by pairs of keys; if asked for, also weights before the division by their sums by pairs of keys.
// Returns 1 / sums.
PURETOUR_TILE_TARGET __m512 softmax_gradient_panel(const Sight& sight, float* scores, const float* gradients,
                                                   std::size_t num_keys, std::size_t key_pairs, float scale,
                                                   const MatrixUnitInUse& unit, std::uint32_t* weight_rows,
                                                   std::uint32_t* gradient_rows, std::uint32_t* weight_pairs,
                                                   std::uint32_t* gradient_pairs) {
  const __m512 largest = largest_of(sight, scores, num_keys);
  __m512 sum = _mm512_setzero_ps();
  __m512 dot = _mm512_setzero_ps();
  const auto raw_weight = [&](std::size_t k) PURETOUR_TILE_LAMBDA {
    const __m512 score = sight.masked(_mm512_loadu_ps(scores + k * kQueryBlock), k);
    const __m512 weight = power_of_two(_mm512_sub_ps(score, largest));
    sum = _mm512_add_ps(sum, weight);
    dot = _mm512_fmadd_ps(weight, _mm512_loadu_ps(gradients + k * kQueryBlock), dot);
    _mm512_storeu_ps(scores + k * kQueryBlock, weight);
    return weight;
  };
  if (weight_pairs != nullptr) {
    store_row_pairs(weight_pairs, num_keys, key_pairs, raw_weight);
  } else {
    for (std::size_t k = 0; k < num_keys; ++k) raw_weight(k);
  }
  const __m512 factor = _mm512_div_ps(_mm512_set1_ps(1), sum);
  const __m512 scales = _mm512_set1_ps(scale);
  const __m512 scaled_mean = _mm512_mul_ps(_mm512_mul_ps(dot, factor), scales);
  unit.keep_awake();
  const auto gradient = [&](std::size_t k) PURETOUR_TILE_LAMBDA {
    const __m512 weight = _mm512_mul_ps(_mm512_loadu_ps(scores + k * kQueryBlock), factor);
    const __m512 difference = _mm512_fmsub_ps(_mm512_loadu_ps(gradients + k * kQueryBlock), scales, scaled_mean);
    const __m512 result = _mm512_mul_ps(weight, difference);
    store_half_row(weight_rows + k * kQueryBlock / 2, weight);
    store_half_row(gradient_rows + k * kQueryBlock / 2, result);
    return result;
  };
  store_row_pairs(gradient_pairs, num_keys, key_pairs, gradient);
  return factor;
}

PURETOUR_TILE_TARGET void softmax_panels(const Queries& queries, const MatrixUnitInUse& unit, Workspace& work) {
  const Head& head = queries.head;
  for (std::size_t p = 0; p < queries.num_panels(); ++p) {
    unit.keep_awake();
    const Sight sight = Sight::of(head.group, queries.begin + p * kBlock);
    const __m512 factors = softmax_panel(sight, work.scores.data() + p * kBlock, head.num_keys(), head.key_pairs(),
                                         work.weight_panels.data() + p * head.key_pairs() * kBlock);
    _mm512_storeu_ps(work.factors + p * kBlock, factors);
  }
}

PURETOUR_TILE_TARGET void softmax_gradient_panels(const Queries& queries, float scale, bool with_weight_panels,
                                                  const MatrixUnitInUse& unit, Workspace& work) {
  const Head& head = queries.head;
  for (std::size_t p = 0; p < queries.num_panels(); ++p) {
    unit.keep_awake();
    const __m512 factors = softmax_gradient_panel(
        Sight::of(head.group, queries.begin + p * kBlock), work.scores.data() + p * kBlock,
        work.weight_gradients.data() + p * kBlock, head.num_keys(), head.key_pairs(), scale, unit,
        work.weight_rows.data() + p * kBlock / 2, work.score_gradient_rows.data() + p * kBlock / 2,
        with_weight_panels ? work.weight_panels.data() + p * head.key_pairs() * kBlock : nullptr,
        work.score_gradient_panels.data() + p * head.key_pairs() * kBlock);
    _mm512_storeu_ps(work.factors + p * kBlock, factors);
  }
}

// Sums over queries run over whole tiles, two panels each: the rows of a panel that is not there.
void clear_panel(std::size_t panel, std::size_t num_keys, Workspace& work) {
  for (std::size_t k = 0; k < num_keys; ++k) {
    const std::size_t first = k * kQueryBlock / 2 + panel * kBlock / 2;
    std::fill_n(work.weight_rows.data() + first, kBlock / 2, 0);
    std::fill_n(work.score_gradient_rows.data() + first, kBlock / 2, 0);
  }
}

// rows[q][channel] = turned[channel][q] * factors[q] for q < count (at most a panel); no factors: 1.
PURETOUR_TILE_TARGET void turn_back(const float* turned, const float* factors, std::size_t count, float* rows,
                                    std::size_t stride) {
  __m512i columns[kDim];
  load_columns(turned, kQueryBlock, columns);
  for (std::size_t q = 0; q < count; ++q) {
    auto row = reinterpret_cast<__m512>(columns[q]);
    if (factors != nullptr) row = _mm512_mul_ps(row, _mm512_set1_ps(factors[q]));
    _mm512_storeu_ps(rows + q * stride, row);
  }
}

constexpr float kLog2E = 1.44269504F;

// turned = columns . panels: what the queries get of the rows that `columns` were made of.
void multiply_columns(const AlignedVector<std::uint32_t>& columns, const AlignedVector<std::uint32_t>& panels,
                      const Queries& queries, AlignedVector<float>& turned) {
  const std::size_t key_pairs = queries.head.key_pairs();
  multiply_pairs({columns.data(), key_pairs, panels.data(), kBlock, key_pairs * kBlock, key_pairs, nullptr, 0,
                  turned.data(), kQueryBlock, kDim, queries.num_panels() * kBlock});
}

void turn_panels_back(const Queries& queries, const AlignedVector<float>& turned, const float* factors,
                      MutableRows out) {
  for (std::size_t p = 0; p < queries.num_panels(); ++p) {
    turn_back(turned.data() + p * kBlock, factors == nullptr ? nullptr : factors + p * kBlock,
              std::min(kBlock, queries.count - p * kBlock), queries.of(out) + p * kBlock * out.stride, out.stride);
  }
}

// out[key][query] = rows . panels, over the channels.
void multiply_rows(const ChannelPairs& rows, const ChannelPanels& panels, const Queries& queries,
                   AlignedVector<float>& out) {
  multiply_pairs({rows.pairs.data(), kTilePairs, panels.pairs.data(), kBlock, kTilePairs * kBlock, head_pairs(),
                  nullptr, 0, out.data(), kQueryBlock, queries.head.rows_to_write(), queries.num_panels() * kBlock});
}

// sums[key][channel] += rows of pairs of queries . pairs of rows of the queries.
void sum_over_queries(const AlignedVector<std::uint32_t>& rows, const AlignedVector<std::uint32_t>& pairs,
                      const Queries& queries, AlignedVector<float>& sums) {
  const float* start = queries.are_first() ? nullptr : sums.data();
  multiply_pairs({rows.data(), kQueryBlock / 2, pairs.data(), kDim, 0, num_row_pairs(queries.count), start, kDim,
                  sums.data(), kDim, queries.head.rows_to_write(), kDim});
}

// rows[key] = sums[key], or added to it.
PURETOUR_TILE_TARGET void put_sums(const AlignedVector<float>& sums, std::size_t count, KeyGradients how, float* rows,
                                   std::size_t stride) {
  for (std::size_t r = 0; r < count; ++r) {
    __m512 sum = _mm512_load_ps(sums.data() + r * kDim);
    if (how == KeyGradients::kAdd) sum = _mm512_add_ps(_mm512_loadu_ps(rows + r * stride), sum);
    _mm512_storeu_ps(rows + r * stride, sum);
  }
}

// The rows as [channel][pairs of rows].
void turn_rows(const float* rows, std::size_t stride, std::size_t count, Workspace& work,
               AlignedVector<std::uint32_t>& columns) {
  pair_rows(rows, stride, count, work.row_pairs.data());
  turn_pairs(work.row_pairs.data(), num_row_pairs(count), kDim, columns.data());
}

struct Attention {
  const AttentionShape& shape;
  Rows queries;
  Rows keys;
  Rows values;
  MutableRows out;
  const MatrixUnitInUse& unit;
  Workspace& work;

  void begin(const Head& head) {
    work.of_keys.key_rows.fill(head.keys(keys), keys.stride, head.num_keys());
    turn_rows(head.keys(values), values.stride, head.num_keys(), work, work.of_keys.value_columns);
  }
  void attend(const Queries& some) {
    unit.keep_awake();
    work.of_queries.query_panels.fill(some.of(queries), queries.stride, some.count, shape.scale * kLog2E);
    multiply_rows(work.of_keys.key_rows, work.of_queries.query_panels, some, work.scores);
    softmax_panels(some, unit, work);
    multiply_columns(work.of_keys.value_columns, work.weight_panels, some, work.turned);
    turn_panels_back(some, work.turned, work.factors, out);
  }
  void end(const Head& /*head*/) {}
};

struct AttentionGradient {
  const AttentionShape& shape;
  Rows queries;
  Rows keys;
  Rows values;
  Rows out_gradient;
  MutableRows query_gradient;
  MutableRows key_gradient;
  MutableRows value_gradient;
  MutableRows out;  // no data: not wanted
  KeyGradients key_gradients;
  const MatrixUnitInUse& unit;
  Workspace& work;

  void begin(const Head& head) {
    KeyOperands& of_keys = work.of_keys;
    of_keys.key_rows.fill(head.keys(keys), keys.stride, head.num_keys());
    of_keys.value_rows.fill(head.keys(values), values.stride, head.num_keys());
    unit.keep_awake();
    turn_rows(head.keys(keys), keys.stride, head.num_keys(), work, of_keys.key_columns);
    if (out.data == nullptr) return;
    unit.keep_awake();
    turn_rows(head.keys(values), values.stride, head.num_keys(), work, of_keys.value_columns);
  }
  void attend(const Queries& some) {
    prepare(some);
    score(some);
    softmax_gradient_panels(some, shape.scale, out.data != nullptr, unit, work);
    if (some.num_panels() % 2 == 1) clear_panel(some.num_panels(), some.head.num_keys(), work);
    collect(some);
    turn_panels_back(some, work.turned_queries, nullptr, query_gradient);
    if (out.data != nullptr) turn_panels_back(some, work.turned, work.factors, out);
  }
  void end(const Head& head) {
    unit.keep_awake();
    put_sums(work.key_sums, head.num_keys(), key_gradients, head.keys(key_gradient), key_gradient.stride);
    put_sums(work.value_sums, head.num_keys(), key_gradients, head.keys(value_gradient), value_gradient.stride);
  }

 private:
  void prepare(const Queries& some) {
    QueryOperands& of_queries = work.of_queries;
    unit.keep_awake();
    of_queries.query_panels.fill(some.of(queries), queries.stride, some.count, shape.scale * kLog2E);
    of_queries.gradient_panels.fill(some.of(out_gradient), out_gradient.stride, some.count, 1);
    unit.keep_awake();
    pair_rows(some.of(queries), queries.stride, some.count, of_queries.query_pairs.data());
    pair_rows(some.of(out_gradient), out_gradient.stride, some.count, of_queries.gradient_pairs.data());
  }
  void score(const Queries& some) {
    multiply_rows(work.of_keys.key_rows, work.of_queries.query_panels, some, work.scores);
    multiply_rows(work.of_keys.value_rows, work.of_queries.gradient_panels, some, work.weight_gradients);
  }
  void collect(const Queries& some) {
    sum_over_queries(work.score_gradient_rows, work.of_queries.query_pairs, some, work.key_sums);
    sum_over_queries(work.weight_rows, work.of_queries.gradient_pairs, some, work.value_sums);
    multiply_columns(work.of_keys.key_columns, work.score_gradient_panels, some, work.turned_queries);
    if (out.data != nullptr) {
      multiply_columns(work.of_keys.value_columns, work.weight_panels, some, work.turned);
    }
  }
};

}  // namespace

bool tiles_take(const AttentionShape& shape) {
  return active_isa() >= Isa::kAvx512Bf16 && shape.head_dim == kDim;
}

void tile_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                    MutableRows out) {
  const MatrixUnitInUse unit;
  auto& work = scratch<Workspace>();
  work.reserve(groups, false);
  Attention steps{shape, queries, keys, values, out, unit, work};
  for_heads(groups, shape.num_heads, steps);
}

void tile_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                             Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                             MutableRows value_gradient, MutableRows out, KeyGradients key_gradients) {
  const MatrixUnitInUse unit;
  auto& work = scratch<Workspace>();
  work.reserve(groups, true);
  AttentionGradient steps{shape,        queries,        keys, values,        out_gradient, query_gradient,
                          key_gradient, value_gradient, out,  key_gradients, unit,         work};
  for_heads(groups, shape.num_heads, steps);
}

#else

bool tiles_take(const AttentionShape& /*shape*/) {
  return false;
}

void tile_attention(std::span<const Group>, const AttentionShape&, Rows, Rows, Rows, MutableRows) {
  throw InternalError("tile_attention: this CPU has no instructions for it");
}

void tile_attention_gradient(std::span<const Group>, const AttentionShape&, Rows, Rows, Rows, Rows, MutableRows,
                             MutableRows, MutableRows, MutableRows, KeyGradients) {
  throw InternalError("tile_attention_gradient: this CPU has no instructions for it");
}

#endif

}  // namespace puretour::kernels
