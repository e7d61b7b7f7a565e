// Attention and feed-forward blocks with rounded factors against the same blocks in float, which the tests of nn hold
// against LibTorch; and scores so large that their powers leave the range of floats.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/kernels/layers/group_attention.h"

namespace puretour::kernels {
namespace {

constexpr float kUntouched = 77;
constexpr std::size_t kBehind = 40;  // values behind the end of every result

std::vector<float> random_values(std::size_t count, std::uint64_t seed, float size = 1) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& v : values) v = size * (2 * rng.uniform_float() - 1);
  return values;
}

// Of so many values, with some behind it that nobody may touch.
struct Result {
  std::vector<float> values;

  Result(std::size_t count, float start) : values(count + kBehind, kUntouched) {
    std::fill_n(values.begin(), count, start);
  }
  float* data() { return values.data(); }
};

void expect_close(const Result& rounded, const Result& expected, const std::string& what) {
  ASSERT_EQ(rounded.values.size(), expected.values.size());
  const std::size_t count = rounded.values.size() - kBehind;
  float largest = 1e-3F;
  float difference = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(std::isfinite(rounded.values[i])) << what << ", value " << i;
    largest = std::max(largest, std::abs(expected.values[i]));
    difference = std::max(difference, std::abs(rounded.values[i] - expected.values[i]));
  }
  EXPECT_LT(difference, 2e-2F * largest) << what;
  for (std::size_t i = count; i < rounded.values.size(); ++i) ASSERT_EQ(rounded.values[i], kUntouched) << what;
}

Linear layer(std::size_t inputs, std::size_t outputs, std::uint64_t seed, Precision precision,
             const std::vector<float>& bias = {}) {
  const auto weight = random_values(outputs * inputs, seed, 1 / std::sqrt(static_cast<float>(inputs)));
  return make_linear(weight, bias, outputs, inputs, precision);
}

Linear transposed_layer(std::size_t inputs, std::size_t outputs, std::uint64_t seed, Precision precision) {
  const auto weight = random_values(outputs * inputs, seed, 1 / std::sqrt(static_cast<float>(inputs)));
  std::vector<float> turned(weight.size());
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) turned[i * outputs + o] = weight[o * inputs + i];
  }
  return make_linear(turned, {}, inputs, outputs, precision);
}

struct FeedForwardResults {
  Result out;
  Result of_x;
  Result first_weight;
  Result first_bias;
  Result second_weight;
  Result second_bias;

  FeedForwardResults(std::size_t rows, std::size_t dim, std::size_t width, Activation activation, bool residual_is_x,
                     Precision precision, float factor = 1)
      : out(rows * dim, 0),
        of_x(rows * dim, 0),
        first_weight(width * dim, 0.5F),  // gradients are added
        first_bias(width, 0.5F),
        second_weight(width * dim, 0.5F),
        second_bias(dim, 0.5F) {
    auto bias = random_values(width, 3);
    // Far from zero, where a rounded value would fall on the other side.
    if (activation == Activation::kRelu) {
      for (float& b : bias) b = std::copysign(8.0F, b);
    }
    const FeedForward layers{layer(dim, width, 1, precision, bias),
                             layer(width, dim, 2, precision, random_values(dim, 4)), activation};
    const TransposedFeedForward transposed{transposed_layer(dim, width, 1, precision),
                                           transposed_layer(width, dim, 2, precision)};
    const auto x = random_values(rows * dim, 5, factor);
    const auto incoming = random_values(rows * dim, 6, factor);
    layers.apply(x.data(), rows, out.data(), 1, residual_is_x ? x.data() : nullptr);
    feed_forward_gradient(layers, transposed, x.data(), rows, incoming.data(), residual_is_x, of_x.data(),
                          {first_weight.data(), first_bias.data(), second_weight.data(), second_bias.data()});
  }
};

TEST(Blocks, RoundedFeedForwardLayersAreCloseToFloat) {
  for (const Activation activation : {Activation::kRelu, Activation::kGelu}) {
    for (const std::size_t rows : {1U, 2U, 15U, 16U, 17U, 31U, 33U, 96U, 97U, 192U, 193U, 400U}) {
      for (const std::size_t dim : {32U, 48U, 64U}) {
        for (const bool residual_is_x : {false, true}) {
          const std::string name = fmt::format("{} rows, width {}, activation {}, residual {}", rows, dim,
                                               static_cast<int>(activation), residual_is_x);
          const FeedForwardResults expected(rows, dim, 96, activation, residual_is_x, Precision::kFloat);
          const FeedForwardResults rounded(rows, dim, 96, activation, residual_is_x, Precision::kBfloat16);
          expect_close(rounded.out, expected.out, name + ": out");
          expect_close(rounded.of_x, expected.of_x, name + ": x");
          expect_close(rounded.first_weight, expected.first_weight, name + ": first weight");
          expect_close(rounded.first_bias, expected.first_bias, name + ": first bias");
          expect_close(rounded.second_weight, expected.second_weight, name + ": second weight");
          expect_close(rounded.second_bias, expected.second_bias, name + ": second bias");
        }
      }
    }
  }
}

std::vector<Group> groups_of(const std::vector<std::size_t>& sizes) {
  std::vector<Group> groups;
  std::size_t begin = 0;
  for (const std::size_t size : sizes) {
    groups.push_back({begin, size, begin, size});
    begin += size;
  }
  return groups;
}

struct AttentionResults {
  Result out;
  Result of_x;
  Result in_weight;
  Result out_weight;
  Result out_bias;

  AttentionResults(const std::vector<std::size_t>& sizes, std::size_t num_heads, bool residual_is_x,
                   Precision precision, float factor = 1)
      : AttentionResults(groups_of(sizes), AttentionShape{num_heads, 16, 0.25F}, residual_is_x, precision, factor) {}

  AttentionResults(const std::vector<Group>& groups, const AttentionShape& shape, bool residual_is_x,
                   Precision precision, float factor)
      : out(rows_of(groups) * shape.dim(), 0),
        of_x(rows_of(groups) * shape.dim(), 0),
        in_weight(3 * shape.dim() * shape.dim(), 0.5F),
        out_weight(shape.dim() * shape.dim(), 0.5F),
        out_bias(shape.dim(), 0.5F) {
    const std::size_t dim = shape.dim();
    const AttentionBlock block{layer(dim, 3 * dim, 1, precision), layer(dim, dim, 2, precision, random_values(dim, 3)),
                               shape};
    const TransposedAttentionBlock transposed{transposed_layer(dim, 3 * dim, 1, precision),
                                              transposed_layer(dim, dim, 2, precision)};
    const auto x = random_values(rows_of(groups) * dim, 5, factor);
    const auto incoming = random_values(rows_of(groups) * dim, 6, factor);
    attention_block(block, groups, x.data(), residual_is_x ? x.data() : nullptr, out.data());
    attention_block_gradient(block, transposed, groups, x.data(), incoming.data(), residual_is_x, of_x.data(),
                             {in_weight.data(), nullptr, out_weight.data(), out_bias.data()});
  }

  static std::size_t rows_of(const std::vector<Group>& groups) {
    return groups.back().query_begin + groups.back().num_queries;
  }
};

TEST(Blocks, RoundedAttentionBlocksAreCloseToFloat) {
  const std::vector<std::vector<std::size_t>> lists = {{1},         {2, 1, 3}, {15, 16, 17},  {31, 32, 33}, {40, 8, 24},
                                                       {37, 50, 5}, {64, 65},  {100, 100, 7}, {16, 16, 16}, {200, 1}};
  for (const auto& sizes : lists) {
    for (const std::size_t num_heads : {2U, 3U, 4U}) {
      for (const bool residual_is_x : {false, true}) {
        const std::string name = fmt::format("{} groups, the first of {} rows, {} heads, residual {}", sizes.size(),
                                             sizes[0], num_heads, residual_is_x);
        const AttentionResults expected(sizes, num_heads, residual_is_x, Precision::kFloat);
        const AttentionResults rounded(sizes, num_heads, residual_is_x, Precision::kBfloat16);
        expect_close(rounded.out, expected.out, name + ": out");
        expect_close(rounded.of_x, expected.of_x, name + ": x");
        expect_close(rounded.in_weight, expected.in_weight, name + ": weight of queries, keys and values");
        expect_close(rounded.out_weight, expected.out_weight, name + ": weight of the result");
        expect_close(rounded.out_bias, expected.out_bias, name + ": bias of the result");
      }
    }
  }
}

// Kernels work on whole tiles in memory that they keep: what was no number there must not come back.
TEST(Blocks, WhatWasNoNumberBeforeDoesNotMatter) {
  constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t rows : {1U, 17U, 33U, 50U}) {
    const FeedForwardResults broken(200, 64, 96, Activation::kRelu, true, Precision::kBfloat16, kNotANumber);
    EXPECT_TRUE(std::isnan(broken.out.values[0]));
    const FeedForwardResults expected(rows, 64, 96, Activation::kRelu, true, Precision::kFloat);
    const FeedForwardResults rounded(rows, 64, 96, Activation::kRelu, true, Precision::kBfloat16);
    expect_close(rounded.of_x, expected.of_x, "x");
    expect_close(rounded.first_weight, expected.first_weight, "first weight");
    expect_close(rounded.first_bias, expected.first_bias, "first bias");
    expect_close(rounded.second_weight, expected.second_weight, "second weight");
  }
  for (const std::vector<std::size_t>& sizes : std::vector<std::vector<std::size_t>>{{1}, {7, 9}, {33, 5, 41}, {48}}) {
    const AttentionResults broken({64, 64, 64}, 4, true, Precision::kBfloat16, kNotANumber);
    EXPECT_TRUE(std::isnan(broken.out.values[0]));
    const AttentionResults expected(sizes, 4, true, Precision::kFloat);
    const AttentionResults rounded(sizes, 4, true, Precision::kBfloat16);
    expect_close(rounded.out, expected.out, "out");
    expect_close(rounded.of_x, expected.of_x, "x");
    expect_close(rounded.in_weight, expected.in_weight, "weight of queries, keys and values");
    expect_close(rounded.out_weight, expected.out_weight, "weight of the result");
  }
}

// One key is so much better than the others that it gets all the weight, however scores are rounded. Powers of these
// scores are beyond the largest float, or below the smallest.
TEST(Blocks, ScoresMayBeLargerThanFloatsHavePowersFor) {
  const AttentionShape shape{2, 16, 1};
  const std::size_t dim = shape.dim();
  constexpr std::size_t kRows = 37;
  const auto values = random_values(kRows * dim, 7);
  const auto incoming = random_values(kRows * dim, 8);
  const std::vector<Group> groups = {{0, kRows, 0, kRows}};
  for (const float size : {300.0F, -300.0F, 3000.0F, -3000.0F}) {
    for (const Precision precision : {Precision::kFloat, Precision::kBfloat16}) {
      // The score of query q and key k is size for k = q and size - |size| / 2 else: base + bonus of the same number.
      std::vector<float> queries(kRows * dim);
      std::vector<float> keys(kRows * dim);
      std::vector<std::size_t> best(kRows);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t kind = r % 15;
        for (std::size_t head = 0; head < 2; ++head) {
          float* query = queries.data() + r * dim + head * 16;
          float* key = keys.data() + r * dim + head * 16;
          query[0] = size - std::abs(size) / 2;
          query[1 + kind] = std::abs(size) / 2;
          key[0] = 1;
          key[1 + kind] = r < 15 ? 1.0F : 0.0F;  // the first of its kind
        }
        best[r] = kind;
      }
      std::vector<float> out(kRows * dim);
      group_attention(groups, shape, {queries.data(), dim}, {keys.data(), dim}, {values.data(), dim}, {out.data(), dim},
                      precision);
      std::vector<float> of_queries(kRows * dim);
      std::vector<float> of_keys(kRows * dim);
      std::vector<float> of_values(kRows * dim);
      std::vector<float> again(kRows * dim);
      group_attention_gradient(groups, shape, {queries.data(), dim}, {keys.data(), dim}, {values.data(), dim},
                               {incoming.data(), dim}, {of_queries.data(), dim}, {of_keys.data(), dim},
                               {of_values.data(), dim}, precision, {again.data(), dim});
      std::vector<float> expected_of_values(kRows * dim);
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t c = 0; c < dim; ++c) {
          ASSERT_NEAR(out[r * dim + c], values[best[r] * dim + c], 1e-2) << size;
          ASSERT_NEAR(again[r * dim + c], values[best[r] * dim + c], 1e-2) << size;
          ASSERT_LT(std::abs(of_queries[r * dim + c]), 1e-2F) << size;  // nothing changes if scores do a little
          ASSERT_LT(std::abs(of_keys[r * dim + c]), 1e-2F * std::abs(size)) << size;
          expected_of_values[best[r] * dim + c] += incoming[r * dim + c];
        }
      }
      for (std::size_t i = 0; i < of_values.size(); ++i) ASSERT_NEAR(of_values[i], expected_of_values[i], 3e-2) << size;
    }
  }
}

}  // namespace
}  // namespace puretour::kernels
