// The kernels against plain loops in double precision.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/kernels/decode/decode_step.h"
#include "puretour/kernels/gemm/amx.h"
#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/attention.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/kernels/layers/group_attention.h"
#include "puretour/kernels/layers/normalise.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

std::vector<float> random_values(std::size_t count, std::uint64_t seed, float size = 1) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& v : values) v = size * (2 * rng.uniform_float() - 1);
  return values;
}

TEST(Matrix, ProductsOfAllShapesAreRight) {
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 13U, 50U}) {
    for (const std::size_t depth : {1U, 2U, 16U, 37U}) {
      for (const std::size_t columns : {1U, 15U, 16U, 17U, 48U, 70U}) {
        const auto a = random_values(rows * depth, 1);
        const auto weight = random_values(depth * columns, 2);
        const auto bias = random_values(columns, 3);
        const Linear linear = make_linear(weight, bias, columns, depth);
        std::vector<float> out(rows * columns + 1, 77.0F);
        linear.apply(a.data(), rows, out.data());
        EXPECT_EQ(out.back(), 77.0F);  // nothing is written behind the result
        const auto transposed = PackedMatrix::from_columns(weight, depth, columns);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            double sum = bias[c];
            for (std::size_t k = 0; k < depth; ++k) {
              sum += static_cast<double>(a[r * depth + k]) * static_cast<double>(weight[c * depth + k]);
              ASSERT_EQ(transposed.get(k, c), weight[c * depth + k]);
            }
            ASSERT_NEAR(out[r * columns + c], sum, 1e-5) << rows << ' ' << depth << ' ' << columns;
          }
        }
      }
    }
  }
}

TEST(Matrix, ARowDoesNotDependOnItsNeighbours) {
  const std::size_t depth = 33;
  const std::size_t columns = 40;
  const auto a = random_values(20 * depth, 4);
  const Linear linear = make_linear(random_values(depth * columns, 5), {}, columns, depth);
  std::vector<float> all(20 * columns);
  linear.apply(a.data(), 20, all.data());
  for (std::size_t r = 0; r < 20; ++r) {
    std::vector<float> one(columns);
    linear.apply(a.data() + r * depth, 1, one.data());
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(r * columns)));
  }
}

TEST(Matrix, TransposedProductsOfAllShapesAreRight) {
  for (const std::size_t rows : {1U, 2U, 47U, 48U, 101U, 192U, 225U}) {
    for (const std::size_t a_columns : {1U, 7U, 24U, 48U}) {
      for (const std::size_t b_columns : {1U, 16U, 37U, 48U}) {
        const auto a = random_values(rows * a_columns, 6);
        const auto b = random_values(rows * b_columns, 7);
        std::vector<float> sums(a_columns * b_columns + 1, 0.5F);
        std::vector<float> rounded = sums;
        add_transposed_product(a.data(), a_columns, a_columns, b.data(), b_columns, b_columns, rows, sums.data(),
                               b_columns);
        add_transposed_product_bfloat16(a.data(), a_columns, a_columns, b.data(), b_columns, b_columns, rows,
                                        rounded.data(), b_columns);
        EXPECT_EQ(sums.back(), 0.5F);  // nothing is written behind the result
        EXPECT_EQ(rounded.back(), 0.5F);
        for (std::size_t i = 0; i < a_columns; ++i) {
          for (std::size_t j = 0; j < b_columns; ++j) {
            double sum = 0.5;
            double of_rounded = 0.5;
            for (std::size_t r = 0; r < rows; ++r) {
              const float x = a[r * a_columns + i];
              const float y = b[r * b_columns + j];
              sum += static_cast<double>(x) * static_cast<double>(y);
              of_rounded += static_cast<double>(from_bfloat16(to_bfloat16(x))) *
                            static_cast<double>(from_bfloat16(to_bfloat16(y)));
            }
            ASSERT_NEAR(sums[i * b_columns + j], sum, 2e-5);
            ASSERT_NEAR(rounded[i * b_columns + j], of_rounded, 2e-5) << rows << ' ' << a_columns << ' ' << b_columns;
          }
        }
      }
    }
  }
}

TEST(Bfloat16, RoundsToTheNearest) {
  EXPECT_EQ(to_bfloat16(1.0F), 0x3F80);
  EXPECT_EQ(to_bfloat16(-2.0F), 0xC000);
  EXPECT_EQ(to_bfloat16(1.00390625F), 0x3F80);  // half way, 1 is even
  EXPECT_EQ(to_bfloat16(1.01171875F), 0x3F82);  // half way, up to even
  EXPECT_EQ(to_bfloat16(1.004F), 0x3F81);       // above half way
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(from_bfloat16(to_bfloat16(std::numeric_limits<float>::infinity())), std::numeric_limits<float>::infinity());
  for (const float v : random_values(1000, 8, 100)) {
    ASSERT_LE(std::abs(from_bfloat16(to_bfloat16(v)) - v), std::abs(v) / 256);
  }
}

// Products of rounded factors are exact in float; only their sums round.
TEST(Bfloat16, ProductsOfAllShapesAreThoseOfRoundedFactors) {
  for (const std::size_t rows : {1U, 2U, 5U, 6U, 7U, 16U, 53U, 64U, 131U}) {
    for (const std::size_t depth : {1U, 2U, 16U, 32U, 37U, 63U, 128U}) {
      for (const std::size_t columns : {1U, 16U, 17U, 32U, 70U}) {
        const auto a = random_values(rows * depth, 9);
        const auto weight = random_values(depth * columns, 10);
        const auto bias = random_values(columns, 11);
        const Linear linear = make_linear(weight, bias, columns, depth, Precision::kBfloat16);
        std::vector<float> out(rows * columns + 1, 77.0F);
        linear.apply(a.data(), rows, out.data());
        EXPECT_EQ(out.back(), 77.0F);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            double sum = bias[c];
            for (std::size_t k = 0; k < depth; ++k) {
              sum += static_cast<double>(from_bfloat16(to_bfloat16(a[r * depth + k]))) *
                     static_cast<double>(from_bfloat16(to_bfloat16(weight[c * depth + k])));
            }
            ASSERT_NEAR(out[r * columns + c], sum, 1e-5) << rows << ' ' << depth << ' ' << columns;
          }
        }
      }
    }
  }
}

// The walk over tiles, on CPUs without an AMX unit too.
TEST(Bfloat16, TilesCoverProductsOfAllShapes) {
  const auto random_pairs = [](std::size_t count, std::uint64_t seed) {
    const auto values = random_values(2 * count, seed);
    std::vector<std::uint32_t> pairs(count);
    for (std::size_t i = 0; i < count; ++i) {
      pairs[i] = to_bfloat16(values[2 * i]) | (static_cast<std::uint32_t>(to_bfloat16(values[2 * i + 1])) << 16U);
    }
    return pairs;
  };
  const auto first = [](std::uint32_t pair) { return static_cast<double>(from_bfloat16(pair & 0xFFFFU)); };
  const auto second = [](std::uint32_t pair) { return static_cast<double>(from_bfloat16(pair >> 16U)); };
  for (const std::size_t rows : {1U, 16U, 17U, 32U, 40U, 64U}) {
    for (const std::size_t columns : {1U, 16U, 20U, 32U, 48U, 50U}) {
      for (const std::size_t num_pairs : {16U, 48U}) {
        for (const bool bias_only : {false, true}) {
          const std::size_t stride = columns + 3;
          const auto left = random_pairs(padded(rows) * num_pairs, 1);
          const auto right = random_pairs(padded(columns) * num_pairs, 2);
          const auto start = random_values(rows * stride, 3);
          std::vector<float> out(rows * stride, 77.0F);
          multiply_tiles_emulated({left.data(), num_pairs, right.data(), kBlock, num_pairs * kBlock, num_pairs,
                                   start.data(), bias_only ? 0 : stride, out.data(), stride, rows, columns});
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
              double sum = start[(bias_only ? 0 : r * stride) + c];
              for (std::size_t k = 0; k < num_pairs; ++k) {
                const std::uint32_t a = left[r * num_pairs + k];
                const std::uint32_t b = right[(c / kBlock * num_pairs + k) * kBlock + c % kBlock];
                sum += first(a) * first(b) + second(a) * second(b);
              }
              ASSERT_NEAR(out[r * stride + c], sum, 1e-5) << rows << ' ' << columns << ' ' << num_pairs;
            }
            for (std::size_t c = columns; c < stride; ++c) ASSERT_EQ(out[r * stride + c], 77.0F);
          }
        }
      }
    }
  }
}

TEST(GroupAttention, AGroupWithoutQueriesHasNoGradients) {
  const AttentionShape shape{2, 16, 0.25F};
  const std::size_t dim = shape.dim();
  const auto x = random_values(5 * dim, 41);
  for (const Precision precision : {Precision::kFloat, Precision::kBfloat16}) {
    std::vector<float> of_queries(5 * dim, 7);
    std::vector<float> of_keys(5 * dim, 7);
    std::vector<float> of_values(5 * dim, 7);
    const std::vector<Group> groups = {{0, 2, 0, 3}, {2, 0, 3, 2}};
    group_attention_gradient(groups, shape, {x.data(), dim}, {x.data(), dim}, {x.data(), dim}, {x.data(), dim},
                             {of_queries.data(), dim}, {of_keys.data(), dim}, {of_values.data(), dim}, precision);
    for (std::size_t i = 3 * dim; i < 5 * dim; ++i) {
      ASSERT_EQ(of_keys[i], 7) << i;
      ASSERT_EQ(of_values[i], 7) << i;
    }
    EXPECT_NE(of_values[0], 7);
  }
}

TEST(Scratch, BelongsToAThreadUnlessItIsTold) {
  struct Counter {
    int value = 0;
  };
  struct Other {
    int value = 0;
  };
  Scratch shared;
  scratch<Counter>().value = 1;
  EXPECT_EQ(scratch<Other>().value, 0);
  const auto add_one_in_shared = [&] {
    EXPECT_EQ(scratch<Counter>().value, 0) << "another thread's own";
    Scratch::use(&shared);
    ++scratch<Counter>().value;
  };
  std::thread(add_one_in_shared).join();
  std::thread(add_one_in_shared).join();
  EXPECT_EQ(scratch<Counter>().value, 1);
  Scratch::use(&shared);
  EXPECT_EQ(scratch<Counter>().value, 2);
  Scratch::use(nullptr);
  EXPECT_EQ(scratch<Counter>().value, 1);
}

TEST(Rows, ExponentialsAreAccurate) {
  std::vector<float> values;
  for (int i = 0; i <= 9000; ++i) values.push_back(static_cast<float>(-i) * 0.01F);
  std::vector<float> results = values;
  results.resize(padded(values.size()));
  float largest = 1;
  float sum = 0;
  exponentials(results.data(), values.size(), &largest, &sum);
  EXPECT_EQ(largest, 0);
  double expected_sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = std::exp(static_cast<double>(values[i]));
    expected_sum += expected;
    if (values[i] > -87) {
      ASSERT_NEAR(results[i] / expected, 1, 2e-7) << values[i];
    } else if (values[i] < -87.4F) {
      ASSERT_EQ(results[i], 0) << values[i];
    }
  }
  EXPECT_NEAR(sum / expected_sum, 1, 1e-6);
  // Shifted arguments: only differences count, and what lies behind the end counts for nothing.
  std::vector<float> three = {101, 100, 99};
  three.resize(16, 1000);
  exponentials(three.data(), 3, &largest, &sum);
  EXPECT_EQ(largest, 101);
  EXPECT_NEAR(three[2], std::exp(-2.0), 1e-7);
  EXPECT_EQ(three[3], 0);
  EXPECT_NEAR(sum, 1 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
}

TEST(Rows, ExponentialsOfRowsAreThoseOfEachRow) {
  for (const std::size_t count : {1U, 16U, 17U, 50U}) {
    for (const std::size_t num_rows : {1U, 3U, 4U, 9U}) {
      const std::size_t stride = padded(count) + 16;
      auto together = random_values(num_rows * stride, 33);
      auto one_by_one = together;
      std::vector<float> sums(num_rows);
      exponentials_of_rows(together.data(), num_rows, stride, count, sums.data());
      for (std::size_t row = 0; row < num_rows; ++row) {
        float largest = 0;
        float sum = 0;
        exponentials(one_by_one.data() + row * stride, count, &largest, &sum);
        EXPECT_EQ(sums[row], sum);
      }
      EXPECT_EQ(together, one_by_one);
    }
  }
}

// Depths, heads and columns that are no multiples of what is done at a time.
TEST(DecodeStep, ProductsOfOneRowAreRight) {
  for (const std::size_t columns : {1U, 15U, 16U, 17U, 50U}) {
    for (const std::size_t heads : {1U, 3U, 4U, 8U, 9U}) {
      for (const std::size_t head_dim : {1U, 5U, 16U}) {
        const std::size_t depth = heads * head_dim;
        const auto a = random_values(depth, 31);
        const auto b = random_values(depth * columns, 32);
        const PackedMatrix packed = PackedMatrix::from_rows(b, depth, columns);
        const std::size_t width = padded(columns);
        std::vector<float> row(width);
        std::vector<float> by_head(heads * width);
        multiply_row(a.data(), view_of(packed), row.data());
        multiply_heads(a.data(), view_of(packed), heads, head_dim, by_head.data(), width);
        for (std::size_t c = 0; c < columns; ++c) {
          double all = 0;
          for (std::size_t h = 0; h < heads; ++h) {
            double sum = 0;
            for (std::size_t k = h * head_dim; k < (h + 1) * head_dim; ++k) {
              sum += static_cast<double>(a[k]) * static_cast<double>(b[k * columns + c]);
            }
            EXPECT_NEAR(by_head[h * width + c], sum, 1e-5);
            all += sum;
          }
          EXPECT_NEAR(row[c], all, 1e-4);
        }
      }
    }
  }
}

TEST(Normalise, MomentsOfColumnsAreRight) {
  for (const std::size_t rows : {1U, 63U, 64U, 65U, 200U}) {
    for (const std::size_t dim : {1U, 7U, 16U, 24U, 37U}) {
      const auto x = random_values(rows * dim, 41);
      const auto gradient = random_values(rows * dim, 42);
      const auto mean = random_values(dim, 43);
      const auto root = random_values(dim, 44);
      std::vector<double> sums(dim, 1.0);  // is added to
      std::vector<double> squares(dim, 2.0);
      std::vector<double> gradients(dim, 3.0);
      std::vector<double> products(dim, 4.0);
      add_column_moments(x.data(), rows, dim, sums.data(), squares.data());
      add_gradient_moments(x.data(), gradient.data(), rows, dim, mean.data(), root.data(), gradients.data(),
                           products.data());
      for (std::size_t c = 0; c < dim; ++c) {
        double expected[] = {1, 2, 3, 4};
        for (std::size_t r = 0; r < rows; ++r) {
          const auto value = static_cast<double>(x[r * dim + c]);
          const auto incoming = static_cast<double>(gradient[r * dim + c]);
          expected[0] += value;
          expected[1] += value * value;
          expected[2] += incoming;
          expected[3] += incoming * (value - static_cast<double>(mean[c])) * static_cast<double>(root[c]);
        }
        EXPECT_NEAR(sums[c], expected[0], 1e-10);
        EXPECT_NEAR(squares[c], expected[1], 1e-10);
        EXPECT_NEAR(gradients[c], expected[2], 1e-4);
        EXPECT_NEAR(products[c], expected[3], 1e-4);
      }
    }
  }
}

TEST(Rows, TanhIsAccurate) {
  std::vector<float> values;
  for (int i = -4000; i <= 4000; ++i) values.push_back(static_cast<float>(i) * 0.005F);
  std::vector<float> results = values;
  results.resize(padded(values.size()));
  clipped_tanh(results.data(), values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(results[i], std::tanh(static_cast<double>(values[i])), 2e-7) << values[i];
  }
  clipped_tanh(results.data(), 16, 50);
  EXPECT_NEAR(results[0], 50 * std::tanh(-1.0), 1e-5);
}

TEST(Rows, WeightedSumsAndActivationsAreRight) {
  for (const std::size_t count : {1U, 2U, 3U, 4U, 5U, 30U}) {
    const auto weights = random_values(count, 6);
    const auto rows = random_values(count * kBlock, 7);
    std::vector<float> out(kBlock);
    weighted_sum(weights.data(), rows.data(), count, out.data());
    for (std::size_t c = 0; c < kBlock; ++c) {
      double sum = 0;
      for (std::size_t j = 0; j < count; ++j) sum += static_cast<double>(weights[j]) * rows[j * kBlock + c];
      EXPECT_NEAR(out[c], sum, 1e-5);
    }
    auto x = random_values(count, 8, 4);
    const auto before = x;
    relu(x.data(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(x[i], std::max(before[i], 0.0F));
    x = before;
    gelu(x.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const double v = before[i];
      EXPECT_NEAR(x[i], 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))), 1e-6);
    }
  }
}

TEST(Rows, LayerNormIsRight) {
  for (const std::size_t dim : {1U, 5U, 16U, 40U, 128U}) {
    auto x = random_values(3 * dim, 9);
    const auto before = x;
    const auto scale = random_values(dim, 10);
    const auto shift = random_values(dim, 11);
    layer_norm(x.data(), 3, dim, scale.data(), shift.data(), 1e-5F);
    for (std::size_t r = 0; r < 3; ++r) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < dim; ++i) mean += before[r * dim + i] / static_cast<double>(dim);
      for (std::size_t i = 0; i < dim; ++i)
        variance += std::pow(before[r * dim + i] - mean, 2) / static_cast<double>(dim);
      for (std::size_t i = 0; i < dim; ++i) {
        const double expected = (before[r * dim + i] - mean) / std::sqrt(variance + 1e-5) * scale[i] + shift[i];
        EXPECT_NEAR(x[r * dim + i], expected, 5e-6);
      }
    }
  }
}

TEST(Attention, IsThatOfTheFormula) {
  for (const std::size_t n : {1U, 5U, 6U, 17U, 130U}) {
    for (const AttentionShape shape :
         {AttentionShape{1, 1, 1}, AttentionShape{2, 3, 0.7F}, AttentionShape{8, 16, 0.25F}}) {
      const std::size_t dim = shape.dim();
      const auto qkv = random_values(n * 3 * dim, 12, 2);
      std::vector<float> out(n * dim);
      self_attention(qkv.data(), n, shape, out.data());
      for (std::size_t h = 0; h < shape.num_heads; ++h) {
        for (std::size_t i = 0; i < n; ++i) {
          std::vector<double> weights(n);
          double sum = 0;
          for (std::size_t j = 0; j < n; ++j) {
            double score = 0;
            for (std::size_t c = 0; c < shape.head_dim; ++c) {
              score += static_cast<double>(qkv[i * 3 * dim + h * shape.head_dim + c]) *
                       qkv[j * 3 * dim + dim + h * shape.head_dim + c];
            }
            weights[j] = std::exp(score * static_cast<double>(shape.scale));
            sum += weights[j];
          }
          for (std::size_t c = 0; c < shape.head_dim; ++c) {
            double expected = 0;
            for (std::size_t j = 0; j < n; ++j) {
              expected += weights[j] / sum * qkv[j * 3 * dim + 2 * dim + h * shape.head_dim + c];
            }
            ASSERT_NEAR(out[i * dim + h * shape.head_dim + c], expected, 1e-5) << n << ' ' << dim;
          }
        }
      }
      std::vector<float> with_threads(n * dim);
      self_attention(qkv.data(), n, shape, with_threads.data(), 3);
      EXPECT_EQ(with_threads, out);
    }
  }
}

TEST(FeedForward, IsTwoLayersWithAnActivation) {
  const Linear first = make_linear(random_values(20 * 7, 13), random_values(20, 14), 20, 7);
  const Linear second = make_linear(random_values(7 * 20, 15), random_values(7, 16), 7, 20);
  const auto x = random_values(101 * 7, 17);
  for (const Activation activation : {Activation::kRelu, Activation::kGelu}) {
    std::vector<float> hidden(101 * 20);
    std::vector<float> expected(101 * 7);
    first.apply(x.data(), 101, hidden.data());
    activation == Activation::kRelu ? relu(hidden.data(), hidden.size()) : gelu(hidden.data(), hidden.size());
    second.apply(hidden.data(), 101, expected.data());
    for (const int threads : {1, 3}) {
      std::vector<float> out(101 * 7);
      FeedForward{first, second, activation}.apply(x.data(), 101, out.data(), threads);
      EXPECT_EQ(out, expected);
    }
  }
}

}  // namespace
}  // namespace puretour::kernels
