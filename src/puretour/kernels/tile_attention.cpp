// Scores are computed with the keys down and the queries across, so that a register holds one key for sixteen queries:
// the softmax of a query runs down a lane, without sums across a register. Every matrix that a product needs is brought
// into the form that the product reads: rows of pairs for left factors, panels of pairs for right ones (pairs.h).
//
// Tiles are slow to read what has just been written, and the other way round: loads wait until the stores have left the
// processor. So the steps of three heads are mixed, and what one step has written is read by another one two steps
// later (in_mixed_order).
// SPDX-License-Identifier: MIT
#include "puretour/kernels/tile_attention.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "puretour/base/error.h"
#include "puretour/kernels/aligned.h"
#include "puretour/kernels/pairs.h"
#include "puretour/kernels/tile_registers.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kDim = 16;  // channels of a head
// Queries at a time: their scores stay in the first cache, and four panels fill the matrix unit.
constexpr std::size_t kQueryBlock = 64;
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
    constexpr __mmask8 kAllOfEight = 0xFF;
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
      const __m512i upper_left = _mm512_maskz_unpacklo_epi32(kAll, both[0], both[1]);
      const __m512i upper_right = _mm512_maskz_unpackhi_epi32(kAll, both[0], both[1]);
      const __m512i lower_left = _mm512_maskz_unpacklo_epi32(kAll, both[2], both[3]);
      const __m512i lower_right = _mm512_maskz_unpackhi_epi32(kAll, both[2], both[3]);
      columns[g][0] = _mm512_maskz_unpacklo_epi64(kAllOfEight, upper_left, lower_left);
      columns[g][1] = _mm512_maskz_unpackhi_epi64(kAllOfEight, upper_left, lower_left);
      columns[g][2] = _mm512_maskz_unpacklo_epi64(kAllOfEight, upper_right, lower_right);
      columns[g][3] = _mm512_maskz_unpackhi_epi64(kAllOfEight, upper_right, lower_right);
    }
    for (std::size_t c = 0; c < 4; ++c) {
      _mm512_storeu_si512(panel + c * kBlock, _mm512_maskz_shuffle_i32x4(kAll, columns[0][c], columns[1][c], 0x88));
      _mm512_storeu_si512(panel + (4 + c) * kBlock,
                          _mm512_maskz_shuffle_i32x4(kAll, columns[0][c], columns[1][c], 0xDD));
    }
  }
};

// Queries of one head of one group, a block at most.
struct Item {
  const Group* group = nullptr;
  std::size_t first_channel = 0;
  std::size_t begin = 0;  // first query, within the group
  std::size_t count = 0;  // of queries
  std::size_t number = 0;
  std::size_t keys_number = 0;  // items with the same keys follow each other and have the same number

  [[nodiscard]] std::size_t num_panels() const { return padded(count) / kBlock; }
  [[nodiscard]] std::size_t key_pairs() const { return num_row_pairs(group->num_keys); }
  [[nodiscard]] bool is_first_of_keys() const { return begin == 0; }
  // Its queries and keys among the rows of a matrix.
  template <class SomeRows>
  [[nodiscard]] auto queries(SomeRows rows) const {
    return rows.data + (group->query_begin + begin) * rows.stride + first_channel;
  }
  template <class SomeRows>
  [[nodiscard]] auto keys(SomeRows rows) const {
    return rows.data + group->key_begin * rows.stride + first_channel;
  }
};

// All items of the groups, in order.
class Items {
 public:
  Items(std::span<const Group> groups, std::size_t num_heads) : groups_(groups), num_heads_(num_heads) {}

  std::optional<Item> next() {
    while (group_ < groups_.size() && begin_ >= groups_[group_].num_queries) {
      begin_ = 0;
      ++keys_number_;
      if (++head_ < num_heads_) continue;
      head_ = 0;
      ++group_;
    }
    if (group_ == groups_.size()) return {};
    const Group& group = groups_[group_];
    const Item item{&group,    head_ * kDim, begin_, std::min(kQueryBlock, group.num_queries - begin_),
                    number_++, keys_number_};
    begin_ += kQueryBlock;
    return item;
  }

 private:
  std::span<const Group> groups_;
  std::size_t num_heads_;
  std::size_t group_ = 0;
  std::size_t head_ = 0;
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
  std::size_t keys_number_ = 0;
};

// Calls for each item, in this order: prepare (rounds what is read), score (first products), weigh (softmax), collect
// (last products), finish (writes results). Between two of these that depend on each other come others.
template <class Steps>
void in_mixed_order(std::span<const Group> groups, std::size_t num_heads, Steps& steps) {
  Items items(groups, num_heads);
  std::optional<Item> before;
  std::optional<Item> now;
  std::optional<Item> next = items.next();
  if (next) steps.prepare(*next);
  for (;;) {
    before = now;
    now = next;
    if (!before && !now) return;
    if (now) steps.score(*now);
    if (before) steps.collect(*before);
    next = now ? items.next() : std::nullopt;
    if (next) steps.prepare(*next);
    if (before) steps.finish(*before);
    if (now) steps.weigh(*now);
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

// Memory that a thread keeps from call to call. Whole tiles: what lies behind the last key or query is finite.
struct Workspace {
  KeyOperands key_operands[2];      // of keys with even and with odd numbers
  QueryOperands query_operands[2];  // of items with even and with odd numbers
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
    for (KeyOperands& operands : key_operands) {
      operands.key_rows.reserve(keys);
      room(operands.value_columns, kDim * key_pairs);
      if (!backward) continue;
      room(operands.key_columns, kDim * key_pairs);
      operands.value_rows.reserve(keys);
    }
    for (QueryOperands& operands : query_operands) {
      operands.query_panels.reserve(kQueryBlock);
      if (!backward) continue;
      operands.gradient_panels.reserve(kQueryBlock);
      room(operands.query_pairs, kQueryBlock / 2 * kDim);
      room(operands.gradient_pairs, kQueryBlock / 2 * kDim);
    }
    if (!backward) return;
    room(turned_queries, kDim * kQueryBlock);
    room(score_gradient_panels, key_pairs * kQueryBlock);
    room(weight_gradients, keys * kQueryBlock);
    room(key_sums, keys * kDim);
    room(value_sums, keys * kDim);
    room(weight_rows, keys * kQueryBlock / 2);
    room(score_gradient_rows, keys * kQueryBlock / 2);
  }

  KeyOperands& keys_of(const Item& item) { return key_operands[item.keys_number % 2]; }
  QueryOperands& queries_of(const Item& item) { return query_operands[item.number % 2]; }
};

Workspace& workspace() {
  thread_local Workspace work;
  return work;
}

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
                                                   std::uint32_t* weight_rows, std::uint32_t* gradient_rows,
                                                   std::uint32_t* weight_pairs, std::uint32_t* gradient_pairs) {
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

PURETOUR_TILE_TARGET void softmax_panels(const Item& item, Workspace& work) {
  const Group& group = *item.group;
  for (std::size_t p = 0; p < item.num_panels(); ++p) {
    const Sight sight = Sight::of(group, item.begin + p * kBlock);
    const __m512 factors = softmax_panel(sight, work.scores.data() + p * kBlock, group.num_keys, item.key_pairs(),
                                         work.weight_panels.data() + p * item.key_pairs() * kBlock);
    _mm512_storeu_ps(work.factors + p * kBlock, factors);
  }
}

PURETOUR_TILE_TARGET void softmax_gradient_panels(const Item& item, float scale, bool with_weight_panels,
                                                  Workspace& work) {
  const Group& group = *item.group;
  for (std::size_t p = 0; p < item.num_panels(); ++p) {
    const __m512 factors = softmax_gradient_panel(
        Sight::of(group, item.begin + p * kBlock), work.scores.data() + p * kBlock,
        work.weight_gradients.data() + p * kBlock, group.num_keys, item.key_pairs(), scale,
        work.weight_rows.data() + p * kBlock / 2, work.score_gradient_rows.data() + p * kBlock / 2,
        with_weight_panels ? work.weight_panels.data() + p * item.key_pairs() * kBlock : nullptr,
        work.score_gradient_panels.data() + p * item.key_pairs() * kBlock);
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
    __m512 row = reinterpret_cast<__m512>(columns[q]);
    if (factors != nullptr) row = _mm512_mul_ps(row, _mm512_set1_ps(factors[q]));
    _mm512_storeu_ps(rows + q * stride, row);
  }
}

constexpr float kLog2E = 1.44269504F;

// turned = columns . panels: what the queries of a block get of the rows that `columns` were made of.
void multiply_columns(const AlignedVector<std::uint32_t>& columns, const AlignedVector<std::uint32_t>& panels,
                      const Item& item, AlignedVector<float>& turned) {
  const std::size_t key_pairs = item.key_pairs();
  multiply_pairs({columns.data(), key_pairs, panels.data(), kBlock, key_pairs * kBlock, key_pairs, nullptr, 0,
                  turned.data(), kQueryBlock, kDim, item.num_panels() * kBlock});
}

void turn_panels_back(const Item& item, const AlignedVector<float>& turned, const float* factors, MutableRows out) {
  for (std::size_t p = 0; p < item.num_panels(); ++p) {
    turn_back(turned.data() + p * kBlock, factors == nullptr ? nullptr : factors + p * kBlock,
              std::min(kBlock, item.count - p * kBlock), item.queries(out) + p * kBlock * out.stride, out.stride);
  }
}

// Of products with a row for each key. The matrix unit writes whole tiles faster; nobody reads what lies behind the
// last key.
std::size_t rows_to_write(const Item& item) {
  const std::size_t num_keys = item.group->num_keys;
  return active_isa() >= Isa::kAmx ? padded(num_keys) : num_keys;
}

// out[key][query] = rows . panels, over the channels.
void multiply_rows(const ChannelPairs& rows, const Item& item, const ChannelPanels& panels, AlignedVector<float>& out) {
  multiply_pairs({rows.pairs.data(), kTilePairs, panels.pairs.data(), kBlock, kTilePairs * kBlock, head_pairs(),
                  nullptr, 0, out.data(), kQueryBlock, rows_to_write(item), item.num_panels() * kBlock});
}

// sums[key][channel] = rows of pairs of queries . pairs of rows of the queries.
void sum_over_queries(const AlignedVector<std::uint32_t>& rows, const AlignedVector<std::uint32_t>& pairs,
                      const Item& item, AlignedVector<float>& sums) {
  multiply_pairs({rows.data(), kQueryBlock / 2, pairs.data(), kDim, 0, num_row_pairs(item.count), nullptr, 0,
                  sums.data(), kDim, rows_to_write(item), kDim});
}

// `write`: over what is there.
PURETOUR_TILE_TARGET void add_sums(const AlignedVector<float>& sums, std::size_t count, bool write, float* rows,
                                   std::size_t stride) {
  if (write) {
    for (std::size_t r = 0; r < count; ++r) {
      _mm512_storeu_ps(rows + r * stride, _mm512_load_ps(sums.data() + r * kDim));
    }
    return;
  }
  for (std::size_t r = 0; r < count; ++r) {
    const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(rows + r * stride), _mm512_load_ps(sums.data() + r * kDim));
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
  Workspace& work;

  void prepare(const Item& item) {
    if (item.is_first_of_keys()) {
      KeyOperands& operands = work.keys_of(item);
      operands.key_rows.fill(item.keys(keys), keys.stride, item.group->num_keys);
      turn_rows(item.keys(values), values.stride, item.group->num_keys, work, operands.value_columns);
    }
    QueryOperands& operands = work.queries_of(item);
    operands.query_panels.fill(item.queries(queries), queries.stride, item.count, shape.scale * kLog2E);
  }
  void score(const Item& item) {
    multiply_rows(work.keys_of(item).key_rows, item, work.queries_of(item).query_panels, work.scores);
  }
  void weigh(const Item& item) { softmax_panels(item, work); }
  void collect(const Item& item) {
    multiply_columns(work.keys_of(item).value_columns, work.weight_panels, item, work.turned);
  }
  void finish(const Item& item) { turn_panels_back(item, work.turned, work.factors, out); }
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
  Workspace& work;

  void prepare(const Item& item) {
    if (item.is_first_of_keys()) {
      KeyOperands& operands = work.keys_of(item);
      const std::size_t count = item.group->num_keys;
      operands.key_rows.fill(item.keys(keys), keys.stride, count);
      operands.value_rows.fill(item.keys(values), values.stride, count);
      turn_rows(item.keys(keys), keys.stride, count, work, operands.key_columns);
      if (out.data != nullptr) turn_rows(item.keys(values), values.stride, count, work, operands.value_columns);
    }
    QueryOperands& operands = work.queries_of(item);
    operands.query_panels.fill(item.queries(queries), queries.stride, item.count, shape.scale * kLog2E);
    operands.gradient_panels.fill(item.queries(out_gradient), out_gradient.stride, item.count, 1);
    pair_rows(item.queries(queries), queries.stride, item.count, operands.query_pairs.data());
    pair_rows(item.queries(out_gradient), out_gradient.stride, item.count, operands.gradient_pairs.data());
  }
  void score(const Item& item) {
    const KeyOperands& of_keys = work.keys_of(item);
    const QueryOperands& of_queries = work.queries_of(item);
    multiply_rows(of_keys.key_rows, item, of_queries.query_panels, work.scores);
    multiply_rows(of_keys.value_rows, item, of_queries.gradient_panels, work.weight_gradients);
  }
  void weigh(const Item& item) {
    softmax_gradient_panels(item, shape.scale, out.data != nullptr, work);
    if (item.num_panels() % 2 == 1) clear_panel(item.num_panels(), item.group->num_keys, work);
  }
  void collect(const Item& item) {
    const QueryOperands& of_queries = work.queries_of(item);
    sum_over_queries(work.score_gradient_rows, of_queries.query_pairs, item, work.key_sums);
    sum_over_queries(work.weight_rows, of_queries.gradient_pairs, item, work.value_sums);
    multiply_columns(work.keys_of(item).key_columns, work.score_gradient_panels, item, work.turned_queries);
    if (out.data != nullptr) {
      multiply_columns(work.keys_of(item).value_columns, work.weight_panels, item, work.turned);
    }
  }
  void finish(const Item& item) {
    const bool write = key_gradients == KeyGradients::kWrite && item.is_first_of_keys();
    add_sums(work.key_sums, item.group->num_keys, write, item.keys(key_gradient), key_gradient.stride);
    add_sums(work.value_sums, item.group->num_keys, write, item.keys(value_gradient), value_gradient.stride);
    turn_panels_back(item, work.turned_queries, nullptr, query_gradient);
    if (out.data != nullptr) turn_panels_back(item, work.turned, work.factors, out);
  }
};

}  // namespace

bool tiles_take(const AttentionShape& shape) {
  return active_isa() >= Isa::kAvx512Bf16 && shape.head_dim == kDim;
}

void tile_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                    MutableRows out) {
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();
  work.reserve(groups, false);
  Attention steps{shape, queries, keys, values, out, work};
  in_mixed_order(groups, shape.num_heads, steps);
}

void tile_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                             Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                             MutableRows value_gradient, MutableRows out, KeyGradients key_gradients) {
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();
  work.reserve(groups, true);
  AttentionGradient steps{shape,        queries,        keys, values,        out_gradient, query_gradient,
                          key_gradient, value_gradient, out,  key_gradients, work};
  in_mixed_order(groups, shape.num_heads, steps);
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
