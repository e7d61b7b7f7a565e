// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode/bf16_decoder.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/kernels/gemm/tile_registers.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

#if defined(__x86_64__)

#define PURETOUR_DECODER_FEATURES target("avx512f,avx512bw")
#define PURETOUR_DECODER_TARGET __attribute__((PURETOUR_DECODER_FEATURES))
#define PURETOUR_DECODER_LAMBDA __attribute__((PURETOUR_DECODER_FEATURES, always_inline))
#define PURETOUR_DECODER_INLINE PURETOUR_DECODER_LAMBDA inline

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kLog2E = 1.44269504F;

// 2^f for 0 <= f <= 1 with the least relative error, 2.6e-6, of all polynomials of its degree: far below the rounding
// of keys and values.
constexpr float kPowers[] = {1.000002593F, 6.930038345e-01F, 2.414427569e-01F, 5.201146062e-02F, 1.353416791e-02F};

// 2^x where `live`, else 0.
PURETOUR_DECODER_INLINE __m512 power_of_two(__mmask16 live, __m512 x) {
  const __m512 n = _mm512_maskz_roundscale_ps(kAll, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(x, n);
  __m512 p = _mm512_set1_ps(kPowers[4]);
  for (int i = 3; i >= 0; --i) p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(kPowers[i]));
  return _mm512_maskz_scalef_ps(live, p, n);
}

// Those of the compiler warn of what they do not initialise.
PURETOUR_DECODER_INLINE float largest_of(__m512 x) {
  Block<16> block;
  block.part[0] = x;
  return Block<16>::largest(block);
}
PURETOUR_DECODER_INLINE float sum_of(__m512 x) {
  Block<16> block;
  block.part[0] = x;
  return Block<16>::sum(block);
}

struct Largest {
  PURETOUR_DECODER_INLINE static __m512 of(__m512 a, __m512 b) { return _mm512_maskz_max_ps(kAll, a, b); }
};
struct Sum {
  PURETOUR_DECODER_INLINE static __m512 of(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
};

// The largest value or the sum of each of four registers, in lanes 0 to 3 and again in every four that follow: much
// cheaper than one by one.
template <class Operation>
PURETOUR_DECODER_INLINE __m512 fold_four(const __m512 (&x)[4]) {
  const __m512 first =
      Operation::of(_mm512_maskz_unpacklo_ps(kAll, x[0], x[1]), _mm512_maskz_unpackhi_ps(kAll, x[0], x[1]));
  const __m512 second =
      Operation::of(_mm512_maskz_unpacklo_ps(kAll, x[2], x[3]), _mm512_maskz_unpackhi_ps(kAll, x[2], x[3]));
  __m512 all = Operation::of(_mm512_maskz_shuffle_ps(kAll, first, second, 0x44),
                             _mm512_maskz_shuffle_ps(kAll, first, second, 0xEE));
  all = Operation::of(all, _mm512_maskz_shuffle_f32x4(kAll, all, all, 0x4E));
  return Operation::of(all, _mm512_maskz_shuffle_f32x4(kAll, all, all, 0xB1));
}

// Adds lower * (lower numbers of the words) and upper * (upper numbers).
PURETOUR_DECODER_INLINE void add_products(const std::uint32_t* words, __m512 lower, __m512 upper, __m512& lower_sum,
                                          __m512& upper_sum) {
  const __m512i pair = _mm512_load_si512(words);
  lower_sum = _mm512_fmadd_ps(lower, _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, pair, 16)), lower_sum);
  upper_sum = _mm512_fmadd_ps(upper, _mm512_castsi512_ps(pair), upper_sum);
}

// products[p][slot] = row . column `slot` of panel p, for kPanels panels of num_pairs rows. kChains pairs of sums for
// each run side by side where there are too few panels to keep the CPU busy: a sum waits for the one before.
template <std::size_t kPanels, std::size_t kChains>
PURETOUR_DECODER_INLINE void multiply_panels(const float* row, const std::uint32_t* panels, std::size_t num_pairs,
                                             __m512 (&products)[kPanels]) {
  __m512 sums[kChains][kPanels][2];
  for (auto& chain : sums) {
    for (auto& panel : chain) panel[0] = panel[1] = _mm512_setzero_ps();
  }
  for (std::size_t k = 0; k < num_pairs; k += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) {
      const __m512 lower = _mm512_set1_ps(row[2 * (k + c)]);
      const __m512 upper = _mm512_set1_ps(row[2 * (k + c) + 1]);
      for (std::size_t p = 0; p < kPanels; ++p) {
        add_products(panels + (p * num_pairs + k + c) * kBlock, lower, upper, sums[c][p][0], sums[c][p][1]);
      }
    }
  }
  for (std::size_t p = 0; p < kPanels; ++p) {
    for (auto& chain : sums) chain[p][0] = _mm512_add_ps(chain[p][0], chain[p][1]);
    for (std::size_t step = kChains / 2; step >= 1; step /= 2) {
      for (std::size_t c = 0; c < step; ++c) sums[c][p][0] = _mm512_add_ps(sums[c][p][0], sums[c + step][p][0]);
    }
    products[p] = sums[0][p][0];
  }
}

// use(p, products of panel p) for all panels, with about kWidth pairs of sums side by side. num_pairs is a multiple
// of 8.
template <std::size_t kWidth, class Use>
PURETOUR_DECODER_INLINE void for_each_product(const float* row, const std::uint32_t* panels, std::size_t num_panels,
                                              std::size_t num_pairs, const Use& use) {
  const auto some = [&]<std::size_t kPanels>(std::size_t first) PURETOUR_DECODER_LAMBDA {
    constexpr std::size_t kChains = std::bit_floor(std::max<std::size_t>(kWidth / kPanels, 1));
    __m512 products[kPanels];
    multiply_panels<kPanels, kChains>(row, panels + first * num_pairs * kBlock, num_pairs, products);
    for (std::size_t p = 0; p < kPanels; ++p) use(first + p, products[p]);
  };
  std::size_t p = 0;
  for (; p + 4 <= num_panels; p += 4) some.template operator()<4>(p);
  switch (num_panels - p) {
    case 3:
      return some.template operator()<3>(p);
    case 2:
      return some.template operator()<2>(p);
    case 1:
      return some.template operator()<1>(p);
    default:
      return;
  }
}

// Sums of lanes 0 .. i in lane i.
PURETOUR_DECODER_INLINE __m512 running_sums(__m512 x) {
  const __m512i zero = _mm512_setzero_si512();
  const auto moved = [&]<int kLanes>(__m512 from) PURETOUR_DECODER_LAMBDA {
    return _mm512_castsi512_ps(_mm512_maskz_alignr_epi32(kAll, _mm512_castps_si512(from), zero, 16 - kLanes));
  };
  x = _mm512_add_ps(x, moved.template operator()<1>(x));
  x = _mm512_add_ps(x, moved.template operator()<2>(x));
  x = _mm512_add_ps(x, moved.template operator()<4>(x));
  return _mm512_add_ps(x, moved.template operator()<8>(x));
}

// Two rows of numbers, given by their bits, as words.
PURETOUR_DECODER_INLINE void store_words(std::uint32_t* to, __m512i lower, __m512i upper) {
  const __m512i half = _mm512_set1_epi32(0x8000);
  // Nearest bfloat16; ties go up.
  const __m512i low = _mm512_maskz_srli_epi32(kAll, _mm512_add_epi32(lower, half), 16);
  // Zero and what is near it becomes 2^-60: there is nothing below zero that the other number could be subtracted from,
  // and products of numbers much smaller than that would be slow.
  const __m512i sign = _mm512_and_si512(upper, _mm512_set1_epi32(static_cast<int>(0x80000000U)));
  const __m512i size = _mm512_maskz_max_epu32(kAll, _mm512_xor_si512(upper, sign), _mm512_set1_epi32(0x21800000));
  const __m512i high = _mm512_maskz_srli_epi32(kAll, _mm512_add_epi32(_mm512_sub_epi32(size, low), half), 16);
  _mm512_store_si512(to, _mm512_or_si512(_mm512_or_si512(_mm512_maskz_slli_epi32(kAll, high, 16), low), sign));
}

// Sixteen columns of sixteen rows: words of neighbouring columns, one for every row.
PURETOUR_DECODER_TARGET void pack_keys(const float* rows, std::size_t stride, std::uint32_t* words) {
  __m512i columns[kBlock];
  load_columns(rows, stride, columns);
  for (std::size_t k = 0; k < kBlock; k += 2) store_words(words + k / 2 * kBlock, columns[k], columns[k + 1]);
}

// Two blocks of columns of sixteen rows: words of columns of both, for every row.
PURETOUR_DECODER_TARGET void pack_values(const float* rows, std::size_t stride, std::uint32_t* words) {
  for (std::size_t r = 0; r < kBlock; ++r) {
    store_words(words + r * kBlock, _mm512_loadu_si512(rows + r * stride),
                _mm512_loadu_si512(rows + r * stride + kBlock));
  }
}

}  // namespace

bool Bf16Nodes::take(const DecoderShape& shape) {
  return active_isa() >= Isa::kAvx512 && shape.head_dim % kBlock == 0 && shape.dim() % (2 * kBlock) == 0;
}

Bf16Nodes::Bf16Nodes(const DecoderShape& shape, const float* rows, std::size_t stride, std::size_t num_nodes)
    : num_nodes_(num_nodes) {
  assert(take(shape) && num_nodes > 0);
  const std::size_t dim = shape.dim();
  const std::size_t num_panels = padded(num_nodes) / kBlock;
  const std::size_t words_of_kind = num_panels * dim / 2 * kBlock;
  layout_ = {shape,
             num_panels,
             {0, shape.num_heads, shape.head_dim / 2},
             {words_of_kind, 1, dim / 2},
             {2 * words_of_kind, dim / (2 * kBlock), kBlock}};
  words_.resize(3 * words_of_kind);
  const auto panel = [&](const Panels& panels, std::size_t part, std::size_t index) {
    return words_.data() + layout_.index(panels, part, index);
  };
  AlignedVector<float> last_rows;  // of the last panel, with zeros where there is no node
  for (std::size_t p = 0; p < num_panels; ++p) {
    const float* from = rows + p * kBlock * stride;
    std::size_t from_stride = stride;
    if (num_nodes < (p + 1) * kBlock) {
      last_rows.resize(kBlock * 3 * dim);
      for (std::size_t i = 0; i < num_nodes - p * kBlock; ++i) {
        std::copy_n(from + i * stride, 3 * dim, last_rows.data() + i * 3 * dim);
      }
      from = last_rows.data();
      from_stride = 3 * dim;
    }
    for (std::size_t c = 0; c < dim; c += kBlock) {
      pack_keys(from + c, from_stride,
                panel(layout_.glimpse_keys, c / shape.head_dim, p) + c % shape.head_dim / 2 * kBlock);
      pack_keys(from + 2 * dim + c, from_stride, panel(layout_.score_keys, 0, p) + c / 2 * kBlock);
    }
    for (std::size_t part = 0; part < layout_.values.parts; ++part) {
      pack_values(from + dim + part * 2 * kBlock, from_stride, panel(layout_.values, part, p));
    }
  }
}

void Bf16Decoder::start(const Bf16Nodes& nodes) {
  layout_ = nodes.layout_;
  words_ = nodes.words_;
  const std::size_t num_all = layout_.num_panels * kBlock;
  num_empty_ = num_all - nodes.num_nodes_;
  live_.assign(layout_.num_panels, 0xFFFF);
  live_.back() = static_cast<std::uint16_t>(0xFFFFU >> num_empty_);
  nodes_.resize(num_all);
  slot_of_.resize(nodes.num_nodes_);
  for (std::size_t i = 0; i < nodes.num_nodes_; ++i) {
    nodes_[i] = static_cast<std::int32_t>(i);
    slot_of_[i] = static_cast<std::uint32_t>(i);
  }
  attention_.resize(layout_.shape.num_heads * num_all);
  factors_.resize(layout_.shape.num_heads);
  glimpse_.resize(layout_.shape.dim());
  scores_.resize(num_all);
  weights_.resize(num_all);
}

// Four heads side by side, or fewer.
template <std::size_t kHeads>
PURETOUR_DECODER_TARGET void Bf16Decoder::weigh(std::size_t first_head) {
  const std::uint16_t* live = live_.data();
  const std::size_t num_panels = live_.size();
  float* const products = attention(first_head);
  const std::size_t stride = layout_.num_panels * kBlock;
  __m512 best[4];
  __m512 totals[4];
  for (std::size_t h = 0; h < 4; ++h) {
    best[h] = _mm512_set1_ps(kNever);
    totals[h] = _mm512_setzero_ps();
  }
  for (std::size_t p = 0; p < num_panels; ++p) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      best[h] = _mm512_mask_max_ps(best[h], live[p], best[h], _mm512_load_ps(products + h * stride + p * kBlock));
    }
  }
  const __m512 shifts = _mm512_mul_ps(fold_four<Largest>(best), _mm512_set1_ps(-kLog2E));
  const __m512 shift[4] = {_mm512_maskz_permute_ps(kAll, shifts, 0x00), _mm512_maskz_permute_ps(kAll, shifts, 0x55),
                           _mm512_maskz_permute_ps(kAll, shifts, 0xAA), _mm512_maskz_permute_ps(kAll, shifts, 0xFF)};
  for (std::size_t p = 0; p < num_panels; ++p) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      float* block = products + h * stride + p * kBlock;
      const __m512 power = _mm512_fmadd_ps(_mm512_load_ps(block), _mm512_set1_ps(kLog2E), shift[h]);
      const __m512 weight = power_of_two(live[p], power);
      totals[h] = _mm512_add_ps(totals[h], weight);
      _mm512_store_ps(block, weight);
    }
  }
  const __m512 factors = _mm512_div_ps(_mm512_set1_ps(1), fold_four<Sum>(totals));
  _mm512_mask_storeu_ps(factors_.data() + first_head, (1U << kHeads) - 1, factors);
}

// All heads do the same before any of them goes on, because a step of one head has to wait for the one before.
PURETOUR_DECODER_TARGET void Bf16Decoder::score(const float* query) {
  attend(query);
  std::size_t head = 0;
  for (; head + 4 <= layout_.shape.num_heads; head += 4) weigh<4>(head);
  for (; head < layout_.shape.num_heads; ++head) weigh<1>(head);
  gather_values();
  score_panels();
}

PURETOUR_DECODER_TARGET void Bf16Decoder::attend(const float* query) {
  const auto with_pairs = [&](std::size_t num_pairs) PURETOUR_DECODER_LAMBDA {
    for (std::size_t head = 0; head < layout_.shape.num_heads; ++head) {
      float* products = attention(head);
      const auto store = [&](std::size_t p, __m512 product)
                             PURETOUR_DECODER_LAMBDA { _mm512_store_ps(products + p * kBlock, product); };
      for_each_product<2>(query + head * 2 * num_pairs, panel(layout_.glimpse_keys, head, 0), live_.size(), num_pairs,
                          store);
    }
  };
  // Heads are so small that their loop is best unrolled where the size is known.
  constexpr std::size_t kUsual = 8;
  if (layout_.shape.head_dim == 2 * kUsual) return with_pairs(kUsual);
  with_pairs(layout_.shape.head_dim / 2);
}

PURETOUR_DECODER_TARGET void Bf16Decoder::gather_values() {
  constexpr std::size_t kChains = 4;
  for (std::size_t part = 0; part < layout_.values.parts; ++part) {
    const std::size_t channel = part * 2 * kBlock;
    const std::size_t lower_head = channel / layout_.shape.head_dim;
    const std::size_t upper_head = (channel + kBlock) / layout_.shape.head_dim;
    const float* lower = attention(lower_head);
    const float* upper = attention(upper_head);
    const std::uint32_t* rows = panel(layout_.values, part, 0);
    __m512 sums[kChains][2];
    for (auto& chain : sums) chain[0] = chain[1] = _mm512_setzero_ps();
    for (std::size_t slot = 0; slot < num_slots(); slot += kChains) {
      for (std::size_t c = 0; c < kChains; ++c) {
        add_products(rows + (slot + c) * kBlock, _mm512_set1_ps(lower[slot + c]), _mm512_set1_ps(upper[slot + c]),
                     sums[c][0], sums[c][1]);
      }
    }
    const auto finish = [&](std::size_t half, std::size_t head) PURETOUR_DECODER_LAMBDA {
      const __m512 sum =
          _mm512_add_ps(_mm512_add_ps(sums[0][half], sums[1][half]), _mm512_add_ps(sums[2][half], sums[3][half]));
      _mm512_store_ps(glimpse_.data() + channel + half * kBlock, _mm512_mul_ps(sum, _mm512_set1_ps(factors_[head])));
    };
    finish(0, lower_head);
    finish(1, upper_head);
  }
}

PURETOUR_DECODER_TARGET void Bf16Decoder::score_panels() {
  constexpr std::size_t kWidth = 8;
  const std::size_t num_panels = live_.size();
  const std::uint16_t* live = live_.data();
  float* scores = scores_.data();
  const __m512 one = _mm512_set1_ps(1);
  const __m512 clip = _mm512_set1_ps(layout_.shape.clip);
  const __m512 minus_twice_clip = _mm512_set1_ps(-2 * layout_.shape.clip);
  __m512 best = _mm512_set1_ps(kNever);
  const auto use = [&](std::size_t p, __m512 product) PURETOUR_DECODER_LAMBDA {
    // tanh(x) = 1 - 2 / (1 + exp(2 x))
    const __m512 growth = power_of_two(kAll, _mm512_mul_ps(product, _mm512_set1_ps(2 * kLog2E)));
    const __m512 fraction = _mm512_div_ps(minus_twice_clip, _mm512_add_ps(one, growth));
    const __m512 score = _mm512_mask_add_ps(_mm512_set1_ps(kNever), live[p], clip, fraction);
    best = _mm512_mask_max_ps(best, live[p], best, score);
    _mm512_store_ps(scores + p * kBlock, score);
  };
  for_each_product<kWidth>(glimpse_.data(), panel(layout_.score_keys, 0, 0), num_panels, layout_.shape.dim() / 2, use);
  largest_ = largest_of(best);
  sum_ = weigh_scores(1);
}

// Fills the weights with exp(factor * (score - largest)) and returns their sum.
PURETOUR_DECODER_TARGET float Bf16Decoder::weigh_scores(float factor) {
  const __m512 largest = _mm512_set1_ps(largest_);
  const __m512 scale = _mm512_set1_ps(factor * kLog2E);
  __m512 total = _mm512_setzero_ps();
  for (std::size_t p = 0; p < live_.size(); ++p) {
    const __m512 score = _mm512_load_ps(scores_.data() + p * kBlock);
    const __m512 weight = power_of_two(live_[p], _mm512_mul_ps(_mm512_sub_ps(score, largest), scale));
    total = _mm512_add_ps(total, weight);
    _mm512_store_ps(weights_.data() + p * kBlock, weight);
  }
  return sum_of(total);
}

double Bf16Decoder::log_prob(std::size_t slot) const {
  return static_cast<double>(scores_[slot] - largest_) - std::log(static_cast<double>(sum_));
}

PURETOUR_DECODER_TARGET std::size_t Bf16Decoder::best() const {
  std::size_t slot = num_slots();
  const auto consider = [&](std::size_t p, std::uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const std::size_t other = p * kBlock + static_cast<std::size_t>(std::countr_zero(lanes));
      if (slot == num_slots() || nodes_[other] < nodes_[slot]) slot = other;
    }
  };
  const __m512 largest = _mm512_set1_ps(largest_);
  for (std::size_t p = 0; p < live_.size(); ++p) {
    consider(p, _mm512_mask_cmp_ps_mask(live_[p], _mm512_load_ps(scores_.data() + p * kBlock), largest, _CMP_EQ_OQ));
  }
  // Scores that are no numbers equal nothing: then any node will do, so that there is a tour at least.
  for (std::size_t p = 0; slot == num_slots(); ++p) consider(p, live_[p]);
  return slot;
}

PURETOUR_DECODER_TARGET std::size_t Bf16Decoder::sample(double uniform, double temperature) {
  const float sum = temperature == 1 ? sum_ : weigh_scores(static_cast<float>(1 / temperature));
  double left = uniform * static_cast<double>(sum);
  std::size_t last_possible = 0;
  for (std::size_t p = 0; p < live_.size(); ++p) {
    const __m512 weights = _mm512_load_ps(weights_.data() + p * kBlock);
    const __m512 sums = running_sums(weights);
    const std::uint32_t possible = _mm512_mask_cmp_ps_mask(live_[p], weights, _mm512_setzero_ps(), _CMP_GT_OQ);
    const std::uint32_t beyond = _mm512_cmp_ps_mask(sums, _mm512_set1_ps(static_cast<float>(left)), _CMP_GT_OQ);
    // An impossible slot may seem to be the one, because sums are rounded.
    const std::uint32_t found = possible & beyond;
    if (found != 0) return p * kBlock + static_cast<std::size_t>(std::countr_zero(found));
    if (possible != 0) last_possible = p * kBlock + static_cast<std::size_t>(std::bit_width(possible)) - 1;
    left -= static_cast<double>(sum_of(weights));
  }
  // Rounding may leave a little at the end: it belongs to the last slot that is possible at all. (There is none if the
  // scores are no numbers.)
  return (live_[last_possible / kBlock] >> last_possible % kBlock & 1U) != 0 ? last_possible : best();
}

void Bf16Decoder::visit(std::size_t slot) {
  live_[slot / kBlock] = static_cast<std::uint16_t>(live_[slot / kBlock] & ~(1U << slot % kBlock));
  ++num_empty_;
  if (num_empty_ >= kBlock && live_.size() > 1) drop_last_panel();
}

// There are sixteen empty slots, and at most as many nodes in the last panel as there are gaps elsewhere.
void Bf16Decoder::drop_last_panel() {
  const std::size_t last = live_.size() - 1;
  std::uint32_t moving = live_[last];
  for (std::size_t p = 0; moving != 0; ++p) {
    std::uint8_t from_lanes[kBlock] = {};
    std::uint32_t filled = 0;
    for (std::uint32_t gaps = ~live_[p] & 0xFFFFU; gaps != 0 && moving != 0; gaps &= gaps - 1, moving &= moving - 1) {
      const auto to = static_cast<std::size_t>(std::countr_zero(gaps));
      const auto from = static_cast<std::size_t>(std::countr_zero(moving));
      from_lanes[to] = static_cast<std::uint8_t>(from);
      filled |= 1U << to;
      const std::int32_t node = nodes_[last * kBlock + from];
      nodes_[p * kBlock + to] = node;
      slot_of_[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(p * kBlock + to);
    }
    if (filled == 0) continue;
    fill_gaps(p, from_lanes, static_cast<std::uint16_t>(filled));
    live_[p] = static_cast<std::uint16_t>(live_[p] | filled);
  }
  live_.pop_back();
  num_empty_ -= kBlock;
}

// Lane i of panel `to` becomes lane from_lanes[i] of the last one, where `gaps` has a bit.
PURETOUR_DECODER_TARGET void Bf16Decoder::fill_gaps(std::size_t to, const std::uint8_t* from_lanes,
                                                    std::uint16_t gaps) {
  const std::size_t last = live_.size() - 1;
  const __m512i lanes = _mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_lanes)));
  for (const Panels& keys : {layout_.glimpse_keys, layout_.score_keys}) {
    for (std::size_t part = 0; part < keys.parts; ++part) {
      const std::uint32_t* source = panel(keys, part, last);
      std::uint32_t* target = panel(keys, part, to);
      for (std::size_t row = 0; row < keys.rows; ++row, source += kBlock, target += kBlock) {
        const __m512i old = _mm512_load_si512(target);
        _mm512_store_si512(target, _mm512_mask_permutexvar_epi32(old, gaps, lanes, _mm512_load_si512(source)));
      }
    }
  }
  for (std::uint32_t rest = gaps; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    for (std::size_t part = 0; part < layout_.values.parts; ++part) {
      const std::uint32_t* source = panel(layout_.values, part, last) + from_lanes[lane] * kBlock;
      _mm512_store_si512(panel(layout_.values, part, to) + lane * kBlock, _mm512_load_si512(source));
    }
  }
}

#else

bool Bf16Nodes::take(const DecoderShape& /*shape*/) {
  return false;
}

Bf16Nodes::Bf16Nodes(const DecoderShape&, const float*, std::size_t, std::size_t) {
  throw InternalError("Bf16Nodes: this CPU has no instructions for it");
}

// There are no nodes.
void Bf16Decoder::start(const Bf16Nodes&) {}
void Bf16Decoder::score(const float*) {}
double Bf16Decoder::log_prob(std::size_t) const {
  return 0;
}
std::size_t Bf16Decoder::best() const {
  return 0;
}
std::size_t Bf16Decoder::sample(double, double) {
  return 0;
}
void Bf16Decoder::visit(std::size_t) {}

#endif

}  // namespace puretour::kernels
