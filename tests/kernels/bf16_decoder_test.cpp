// Steps of a tour with rounded keys and values against the formulas in double precision.
// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode/bf16_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "puretour/base/rng.h"

namespace puretour::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Nodes {
  DecoderShape shape;
  std::size_t count = 0;
  std::vector<float> rows;  // glimpse key, glimpse value, score key, and something behind

  [[nodiscard]] std::size_t dim() const { return shape.dim(); }
  [[nodiscard]] std::size_t stride() const { return 3 * dim() + 5; }
  [[nodiscard]] const float* row(std::size_t node) const { return rows.data() + node * stride(); }
  [[nodiscard]] Bf16Nodes rounded() const { return {shape, rows.data(), stride(), count}; }
};

Nodes random_nodes(const DecoderShape& shape, std::size_t count, std::uint64_t seed) {
  Nodes nodes{shape, count, {}};
  Rng rng(seed);
  nodes.rows.resize(count * nodes.stride());
  for (float& value : nodes.rows) value = static_cast<float>(rng.normal());
  return nodes;
}

// Numbers that share a word, the lower one cut to bfloat16 and the upper one such that its last bits are the other's:
// rounding changes neither.
void make_exact(float& lower, float& upper) {
  const std::uint32_t low = std::bit_cast<std::uint32_t>(lower) >> 16U;
  lower = std::bit_cast<float>(low << 16U);
  upper = std::bit_cast<float>((std::bit_cast<std::uint32_t>(upper) & 0xFFFF0000U) | low);
}

Nodes exact_nodes(const DecoderShape& shape, std::size_t count, std::uint64_t seed) {
  Nodes nodes = random_nodes(shape, count, seed);
  for (std::size_t i = 0; i < count; ++i) {
    float* key = nodes.rows.data() + i * nodes.stride();
    float* value = key + shape.dim();
    float* score_key = value + shape.dim();
    for (std::size_t c = 0; c < shape.dim(); c += 2) {
      make_exact(key[c], key[c + 1]);
      make_exact(score_key[c], score_key[c + 1]);
    }
    for (std::size_t c = 0; c < shape.dim(); ++c) {
      if (c / 16 % 2 == 0) make_exact(value[c], value[c + 16]);
    }
  }
  return nodes;
}

std::vector<float> random_query(const DecoderShape& shape, Rng& rng) {
  std::vector<float> query(shape.dim());
  for (float& value : query) value = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(shape.head_dim)));
  return query;
}

double product(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

struct Expected {
  std::vector<float> glimpse;
  std::vector<double> scores;  // in the order of the nodes that are left
};

Expected expected(const Nodes& nodes, const std::vector<std::int32_t>& left, const std::vector<float>& query) {
  Expected result;
  for (std::size_t head = 0; head < nodes.shape.num_heads; ++head) {
    const std::size_t first = head * nodes.shape.head_dim;
    std::vector<double> weights;
    for (const std::int32_t i : left) {
      weights.push_back(std::exp(
          product(query.data() + first, nodes.row(static_cast<std::size_t>(i)) + first, nodes.shape.head_dim)));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t c = first; c < first + nodes.shape.head_dim; ++c) {
      double value = 0;
      for (std::size_t j = 0; j < left.size(); ++j) {
        value += weights[j] / sum * static_cast<double>(nodes.row(static_cast<std::size_t>(left[j]))[nodes.dim() + c]);
      }
      result.glimpse.push_back(static_cast<float>(value));
    }
  }
  for (const std::int32_t i : left) {
    const float* key = nodes.row(static_cast<std::size_t>(i)) + 2 * nodes.dim();
    result.scores.push_back(static_cast<double>(nodes.shape.clip) *
                            std::tanh(product(result.glimpse.data(), key, nodes.dim())));
  }
  return result;
}

// A whole tour in random order; every step must be right within the tolerance.
void expect_right_tour(const Nodes& nodes, double tolerance, std::uint64_t seed) {
  Rng rng(seed);
  Bf16Decoder decoder;
  decoder.start(random_nodes(nodes.shape, 70, 3).rounded());  // what another tour leaves behind must not matter
  decoder.score(random_query(nodes.shape, rng).data());
  decoder.start(nodes.rounded());
  std::vector<std::int32_t> left(nodes.count);
  std::iota(left.begin(), left.end(), 0);
  while (!left.empty()) {
    const auto query = random_query(nodes.shape, rng);
    decoder.score(query.data());
    const Expected truth = expected(nodes, left, query);
    for (std::size_t c = 0; c < nodes.dim(); ++c) {
      ASSERT_NEAR(decoder.glimpse()[c], truth.glimpse[c], tolerance) << left.size();
    }
    const auto empty = std::count(decoder.scores().begin(), decoder.scores().end(), -kInfinity);
    ASSERT_EQ(decoder.scores().size() - static_cast<std::size_t>(empty), left.size());
    double sum = 0;
    for (const double score : truth.scores) sum += std::exp(score);
    float largest = -kInfinity;
    for (std::size_t j = 0; j < left.size(); ++j) {
      const std::size_t slot = decoder.slot_of(left[j]);
      ASSERT_EQ(decoder.node(slot), left[j]);
      largest = std::max(largest, decoder.scores()[slot]);
      ASSERT_NEAR(decoder.scores()[slot], truth.scores[j], tolerance * nodes.shape.clip) << left.size();
      ASSERT_NEAR(decoder.log_prob(slot), truth.scores[j] - std::log(sum), 2 * tolerance * nodes.shape.clip);
    }
    ASSERT_EQ(decoder.scores()[decoder.best()], largest);
    const std::size_t next = rng.below(left.size());
    decoder.visit(decoder.slot_of(left[next]));
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

const std::vector<DecoderShape> kShapes = {{8, 16, 10}, {2, 16, 8}, {1, 32, 10}, {3, 32, 10}, {6, 16, 1}};

#define SKIP_WITHOUT_INSTRUCTIONS() \
  if (!Bf16Nodes::take({8, 16, 10})) GTEST_SKIP() << "this CPU has no such instructions"

TEST(Bf16Decoder, StepsOfNumbersThatNeedNoRoundingAreRight) {
  SKIP_WITHOUT_INSTRUCTIONS();
  for (const DecoderShape& shape : kShapes) {
    for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 33U, 50U, 64U, 100U}) {
      SCOPED_TRACE(testing::Message() << shape.num_heads << " x " << shape.head_dim << ", " << count);
      expect_right_tour(exact_nodes(shape, count, count), 5e-5, count);
    }
  }
}

// Both numbers of a word are at most half a unit of bfloat16 (2^-8 of their size) from where they were. The errors of
// a sum are random: hundreds of them make a few of these units of its size, which is a few.
TEST(Bf16Decoder, RoundingChangesLittle) {
  SKIP_WITHOUT_INSTRUCTIONS();
  for (const std::size_t count : {5U, 50U, 100U})
    expect_right_tour(random_nodes(kShapes[0], count, count), 0.05, count);
}

TEST(Bf16Decoder, NumbersNearZeroStayThere) {
  SKIP_WITHOUT_INSTRUCTIONS();
  Nodes nodes = random_nodes(kShapes[0], 20, 1);
  Rng rng(2);
  for (float& value : nodes.rows) {
    if (rng.below(2) == 0) value = rng.below(2) == 0 ? 0.0F : -1e-40F;
  }
  expect_right_tour(nodes, 0.05, 4);
}

TEST(Bf16Decoder, TakesNoOddShapes) {
  for (const DecoderShape& shape : {DecoderShape{2, 10, 8}, DecoderShape{1, 16, 8}, DecoderShape{3, 16, 8}}) {
    EXPECT_FALSE(Bf16Nodes::take(shape));
  }
}

// Equidistant numbers in place of random ones: every node gets its share, up to one at each end.
TEST(Bf16Decoder, SamplesFollowTheSoftmaxAtAnyTemperature) {
  SKIP_WITHOUT_INSTRUCTIONS();
  constexpr int kSamples = 20'000;
  const Nodes nodes = random_nodes({8, 16, 3}, 50, 7);
  for (const double temperature : {1.0, 0.5, 2.0}) {
    for (const std::size_t num_visited : {0U, 1U, 20U, 40U, 49U}) {
      Rng rng(num_visited);
      Bf16Decoder decoder;
      decoder.start(nodes.rounded());
      std::vector<std::int32_t> left(nodes.count);
      std::iota(left.begin(), left.end(), 0);
      rng.shuffle(left.data(), left.size());
      for (std::size_t i = 0; i < num_visited; ++i) {
        decoder.visit(decoder.slot_of(left.back()));
        left.pop_back();
      }
      decoder.score(random_query(nodes.shape, rng).data());
      std::vector<double> weights(nodes.count);
      for (const std::int32_t node : left) {
        weights[static_cast<std::size_t>(node)] = std::exp(decoder.log_prob(decoder.slot_of(node)) / temperature);
      }
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      std::vector<int> counts(nodes.count);
      for (int i = 0; i < kSamples; ++i) {
        ++counts[static_cast<std::size_t>(decoder.node(decoder.sample((i + 0.5) / kSamples, temperature)))];
      }
      for (std::size_t i = 0; i < nodes.count; ++i) {
        EXPECT_NEAR(counts[i], kSamples * weights[i] / sum, 1.2) << temperature << ' ' << num_visited << ' ' << i;
      }
      // The largest number below one, too, belongs to a node that is left.
      const std::size_t slot = decoder.sample(1 - 0x1p-53, temperature);
      EXPECT_NE(decoder.scores()[slot], -kInfinity);
    }
  }
}

TEST(Bf16Decoder, TheLowestNodeNumberDecidesTies) {
  SKIP_WITHOUT_INSTRUCTIONS();
  Nodes nodes = random_nodes(kShapes[0], 40, 1);
  for (std::size_t i = 1; i < nodes.count; ++i) {
    std::copy_n(nodes.row(0), nodes.stride(), nodes.rows.data() + i * nodes.stride());
  }
  Bf16Decoder decoder;
  decoder.start(nodes.rounded());
  Rng rng(1);
  // Visited from the middle on, so that nodes move.
  for (std::int32_t node = 10; node < 30; ++node) decoder.visit(decoder.slot_of(node));
  for (std::int32_t next = 0; next < 40; ++next) {
    if (next >= 10 && next < 30) continue;
    decoder.score(random_query(nodes.shape, rng).data());
    ASSERT_EQ(decoder.node(decoder.best()), next);
    decoder.visit(decoder.best());
  }
}

// A network whose training went wrong still gets tours.
TEST(Bf16Decoder, ScoresThatAreNoNumbersGiveATour) {
  SKIP_WITHOUT_INSTRUCTIONS();
  const Nodes nodes = random_nodes(kShapes[0], 40, 1);
  const std::vector<float> query(nodes.dim(), std::numeric_limits<float>::quiet_NaN());
  for (const int mode : {0, 1, 2}) {
    Bf16Decoder decoder;
    decoder.start(nodes.rounded());
    std::vector<bool> seen(nodes.count);
    for (std::size_t step = 0; step < nodes.count; ++step) {
      decoder.score(query.data());
      const std::size_t slot = mode == 0 ? decoder.best() : decoder.sample(0.7, mode);
      const auto node = static_cast<std::size_t>(decoder.node(slot));
      ASSERT_FALSE(seen[node]);
      seen[node] = true;
      decoder.visit(slot);
    }
  }
}

}  // namespace
}  // namespace puretour::kernels
