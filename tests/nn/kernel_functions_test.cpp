// The functions with kernels against LibTorch's own operations in double: values and all gradients. Inputs are of size
// one; the tolerance is 2e-5 of the largest value of each result, which is what sums of some hundred floats can lose,
// and at least 2e-7.
//
// SPDX-License-Identifier: MIT
#include "puretour/nn/kernel_functions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "puretour/nn/batch_group.h"
#include "puretour/nn/decoder_function.h"
#include "puretour/nn/encoder_function.h"
#include "puretour/nn/network.h"

namespace puretour::nn {
namespace {

constexpr double kTolerance = 2e-5;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

Tensor random_tensor(std::vector<std::int64_t> sizes) {
  return torch::rand(sizes, torch::kFloat32) * 2 - 1;
}

// bfloat16 has eight bits: every factor is off by up to 2^-9 of its size, and a gradient is a product of several.
using kernels::Precision;
constexpr std::array kPrecisions = {Precision::kFloat, Precision::kBfloat16};
double tolerance_of(Precision precision) {
  return precision == Precision::kFloat ? kTolerance : 2e-2;
}
const char* name_of(Precision precision) {
  return precision == Precision::kFloat ? "float32" : "bfloat16";
}

void expect_close(const Tensor& found, const Tensor& expected, const std::string& what, double tolerance = kTolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  if (expected.numel() == 0) return;
  const double size = std::max(1e-2, expected.abs().max().item<double>());
  EXPECT_LT((found.to(torch::kFloat64) - expected).abs().max().item<double>(), tolerance * size) << what;
}

using Comparison = std::function<void(const Tensor& found, const Tensor& expected, const std::string& what)>;

// Both functions get the same inputs; the gradient is that of a random combination of the results.
void expect_same(const std::vector<Tensor>& inputs, const Function& kernel, const Function& reference,
                 const std::string& what, const Comparison& compare) {
  std::vector<Tensor> floats;
  std::vector<Tensor> doubles;
  for (const Tensor& x : inputs) {
    floats.push_back(x.clone().requires_grad_());
    doubles.push_back(x.to(torch::kFloat64).requires_grad_());
  }
  const Tensor found = kernel(floats);
  const Tensor expected = reference(doubles);
  compare(found.detach(), expected.detach(), what + ": value");
  const Tensor weights = random_tensor(expected.sizes().vec());
  (found * weights).sum().backward();
  (expected * weights.to(torch::kFloat64)).sum().backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(floats[i].grad().defined(), doubles[i].grad().defined()) << what << ": input " << i;
    if (doubles[i].grad().defined()) {
      compare(floats[i].grad(), doubles[i].grad(), what + ": gradient " + std::to_string(i));
    }
  }
}

void expect_same(const std::vector<Tensor>& inputs, const Function& kernel, const Function& reference,
                 const std::string& what, double tolerance = kTolerance) {
  expect_same(inputs, kernel, reference, what, [tolerance](const auto& found, const auto& expected, const auto& name) {
    expect_close(found, expected, name, tolerance);
  });
}

// For functions of many layers: their largest errors are those of single values that an activation cuts off or lets
// through. Gradients of weights are sums over all rows, some of which come to nothing (those of biases in front of a
// normalisation): their errors are measured by what they are sums of, which is of size one.
Comparison by_norm(double tolerance, std::int64_t num_rows) {
  return [tolerance, num_rows](const Tensor& found, const Tensor& expected, const std::string& what) {
    ASSERT_EQ(found.sizes(), expected.sizes()) << what;
    const auto num_terms = static_cast<double>(expected.numel() * (expected.size(0) == num_rows ? 1 : num_rows));
    const double size = std::max(expected.norm().item<double>(), std::sqrt(num_terms));
    EXPECT_LT((found.to(torch::kFloat64) - expected).norm().item<double>(), tolerance * size) << what;
  };
}

// Attention of one group by definition; mask (Q, K) is true where a query does not look.
Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t num_heads, double scale,
                       const Tensor& mask) {
  Tensor scores = split_heads(q, num_heads).matmul(split_heads(k, num_heads).transpose(-1, -2)) * scale;
  if (mask.defined()) scores = scores.masked_fill(mask, kMinusInfinity);
  return merge_heads(torch::softmax(scores, -1).matmul(split_heads(v, num_heads)));
}

// Before step t (from first_step on) the nodes with a place below t are visited: (S, N).
Tensor visited_before(const Tensor& tour, std::int64_t first_step) {
  const Tensor places = torch::empty_like(tour).scatter_(0, tour, torch::arange(tour.size(0)));
  return places.unsqueeze(0) < torch::arange(first_step, tour.size(0)).unsqueeze(1);
}

Tensor random_tours(std::int64_t instances, std::int64_t tours, std::int64_t nodes) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < instances * tours; ++i) all.push_back(torch::randperm(nodes));
  return torch::stack(all).view({instances, tours, nodes});
}

TEST(KernelFunctions, LinearLayersOfAllShapes) {
  torch::manual_seed(1);
  for (const std::int64_t rows : {1, 5, 6, 50, 131}) {
    for (const std::int64_t inputs : {1, 2, 16, 37}) {
      for (const std::int64_t outputs : {1, 17, 48}) {
        const auto name = fmt::format("{} rows, {} -> {}", rows, inputs, outputs);
        const Tensor x = random_tensor({rows, inputs});
        const Tensor weight = random_tensor({outputs, inputs});
        expect_same(
            {x, weight, random_tensor({outputs})}, [](const auto& t) { return kernel_linear(t[0], t[1], t[2]); },
            [](const auto& t) { return torch::linear(t[0], t[1], t[2]); }, name);
        expect_same(
            {x, weight}, [](const auto& t) { return kernel_linear(t[0], t[1], {}); },
            [](const auto& t) { return torch::linear(t[0], t[1]); }, name + ", no bias");
      }
    }
  }
}

TEST(KernelFunctions, FeedForwardLayers) {
  torch::manual_seed(2);
  for (const bool relu : {true, false}) {
    for (const std::int64_t rows : {1, 7, 96, 200, 401}) {
      for (const std::int64_t width : {5, 16, 70, 128}) {
        for (const std::int64_t dim : {24, 32}) {
          for (const Precision precision : kPrecisions) {
            // Weights that keep values of size one.
            const double bound = 1 / std::sqrt(static_cast<double>(dim));
            // In bfloat16 far from zero, where a rounded value would fall on the other side.
            Tensor bias = random_tensor({width});
            if (relu && precision == Precision::kBfloat16) bias = torch::sign(bias) * 8;
            expect_same(
                {random_tensor({rows, dim}), random_tensor({width, dim}) * bound, bias,
                 random_tensor({dim, width}) * bound, random_tensor({dim}), random_tensor({rows, dim})},
                [&](const auto& t) {
                  return kernel_feed_forward(t[0], t[1], t[2], t[3], t[4],
                                             relu ? kernels::Activation::kRelu : kernels::Activation::kGelu, precision,
                                             relu ? t[0] : t[5]);
                },
                [&](const auto& t) {
                  const Tensor hidden = torch::linear(t[0], t[1], t[2]);
                  return torch::linear(relu ? torch::relu(hidden) : torch::gelu(hidden), t[3], t[4]) +
                         (relu ? t[0] : t[5]);
                },
                fmt::format("{} rows, {} -> {}, {}, {}", rows, dim, width, relu ? "relu" : "gelu", name_of(precision)),
                tolerance_of(precision));
          }
        }
      }
    }
  }
}

TEST(KernelFunctions, LayerNormalisationOfSums) {
  torch::manual_seed(3);
  for (const std::int64_t dim : {1, 3, 16, 40, 128}) {
    expect_same(
        {random_tensor({9, dim}), random_tensor({9, dim}), random_tensor({dim}), random_tensor({dim})},
        [](const auto& t) { return kernel_add_layer_norm(t[0], t[1], t[2], t[3], 1e-5); },
        [&](const auto& t) { return torch::layer_norm(t[0] + t[1], {dim}, t[2], t[3], 1e-5); },
        fmt::format("width {}", dim));
    expect_same(
        {random_tensor({9, dim}), random_tensor({dim}), random_tensor({dim})},
        [](const auto& t) { return kernel_add_layer_norm(t[0], {}, t[1], t[2], 1e-5); },
        [&](const auto& t) { return torch::layer_norm(t[0], {dim}, t[1], t[2], 1e-5); },
        fmt::format("width {}, one addend", dim));
  }
}

TEST(KernelFunctions, RowsThatAreTakenMayRepeat) {
  torch::manual_seed(4);
  const std::vector<std::int64_t> numbers = {3, 0, 3, 1};
  expect_same(
      {random_tensor({5, 7})}, [&](const auto& t) { return kernel_take_rows(t[0], numbers); },
      [&](const auto& t) { return t[0].index_select(0, torch::tensor(numbers)); }, "rows");
}

// Attention with its projections; the residual may be the input, other rows or nothing, the bias may be missing.
TEST(KernelFunctions, AttentionBlocksOfInstances) {
  torch::manual_seed(5);
  const std::int64_t num_heads = 2;
  enum class Residual { kNone, kInput, kOther };
  for (const std::int64_t nodes : {1, 5, 16, 33, 50, 64, 101, 210}) {
    for (const std::int64_t head_dim : {3, 16, 20}) {
      for (const Residual residual : {Residual::kNone, Residual::kInput, Residual::kOther}) {
        for (const Precision precision : kPrecisions) {
          const std::int64_t dim = num_heads * head_dim;
          const float scale = 0.7F;
          const bool with_bias = residual == Residual::kOther;
          const auto added = [&](const auto& t) {
            return residual == Residual::kNone ? Tensor() : residual == Residual::kInput ? t[0] : t[3];
          };
          // Weights that keep values of size one.
          const double bound = 1 / std::sqrt(static_cast<double>(dim));
          std::vector<Tensor> inputs = {random_tensor({3, nodes, dim}), random_tensor({3 * dim, dim}) * bound,
                                        random_tensor({dim, dim}) * bound};
          if (residual == Residual::kOther) inputs.push_back(random_tensor({3, nodes, dim}));
          if (with_bias) inputs.push_back(random_tensor({dim}));
          expect_same(
              inputs,
              [&](const auto& t) {
                return kernel_attention_block(t[0], t[1], t[2], with_bias ? t[4] : Tensor(), added(t),
                                              plan_of_instances(3, nodes),
                                              {2, static_cast<std::size_t>(head_dim), scale}, precision);
              },
              [&](const auto& t) {
                std::vector<Tensor> all;
                for (std::int64_t i = 0; i < 3; ++i) {
                  const auto parts = torch::linear(t[0][i], t[1]).chunk(3, 1);
                  all.push_back(plain_attention(parts[0], parts[1], parts[2], num_heads, scale, {}));
                }
                const Tensor out = torch::linear(torch::stack(all), t[2], with_bias ? t[4] : Tensor());
                return residual == Residual::kNone ? out : out + added(t);
              },
              fmt::format("{} nodes, head {}, residual {}, {}", nodes, head_dim, static_cast<int>(residual),
                          name_of(precision)),
              tolerance_of(precision));
        }
      }
    }
  }
}

// Groups of different sizes, and keys and values that are columns of wider matrices.
TEST(KernelFunctions, AttentionOfGroupsOfAnySize) {
  torch::manual_seed(6);
  const std::int64_t dim = 32;
  auto plan = c10::make_intrusive<AttentionPlan>();
  plan->groups = {{0, 1, 0, 1}, {1, 4, 1, 17}, {5, 2, 18, 5}};
  for (const Precision precision : kPrecisions) {
    expect_same(
        {random_tensor({7, dim}), random_tensor({23, 2 * dim + 3}), random_tensor({23, dim + 5})},
        [&](const auto& t) {
          return kernel_attention(t[0], t[1].narrow(1, 3, dim), t[2].narrow(1, 5, dim), plan, {2, 16, 0.25F},
                                  precision);
        },
        [&](const auto& t) {
          std::vector<Tensor> all;
          for (const kernels::Group& g : plan->groups) {
            const auto rows = [](const Tensor& x, std::size_t begin, std::size_t count) {
              return x.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count));
            };
            all.push_back(plain_attention(rows(t[0], g.query_begin, g.num_queries),
                                          rows(t[1], g.key_begin, g.num_keys).narrow(1, 3, dim),
                                          rows(t[2], g.key_begin, g.num_keys).narrow(1, 5, dim), 2, 0.25, {}));
          }
          return torch::cat(all);
        },
        std::string("groups, ") + name_of(precision), tolerance_of(precision));
  }
}

// Weights of an encoder of attention and feed-forward blocks in turn, as one list: for each block its own, then those
// of the normalisations.
struct EncoderCase {
  kernels::Encoder::Residual residual;
  kernels::Activation activation;
  std::vector<bool> attention;  // per block: or feed-forward
  std::vector<bool> norms;      // before every block and behind the last
  std::int64_t dim;
  std::int64_t heads;
  std::int64_t hidden;

  [[nodiscard]] kernels::AttentionShape shape() const {
    const auto head_dim = static_cast<std::size_t>(dim / heads);
    return {static_cast<std::size_t>(heads), head_dim,
            static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
  }

  [[nodiscard]] std::vector<Tensor> random_weights() const {
    std::vector<Tensor> weights;
    for (const bool is_attention : attention) {
      const double size = 1 / std::sqrt(static_cast<double>(dim));
      if (is_attention) {
        weights.push_back(random_tensor({3 * dim, dim}) * size * 2);
        weights.push_back(random_tensor({dim, dim}) * size);
      } else {
        weights.insert(weights.end(), {random_tensor({hidden, dim}) * size, random_tensor({hidden}) * size,
                                       random_tensor({dim, hidden}) * size, random_tensor({dim}) * size});
      }
    }
    for (const bool is_there : norms) {
      if (is_there) weights.insert(weights.end(), {random_tensor({dim}) + 1.5, random_tensor({dim})});
    }
    return weights;
  }

  [[nodiscard]] Tensor by_kernels(const Tensor& rows, const std::vector<Tensor>& weights, std::int64_t nodes,
                                  Precision precision, const kernels::AddUp& add_up) const {
    EncoderWeights all;
    std::size_t next = 0;
    for (const bool is_attention : attention) {
      EncoderBlockWeights block;
      block.packing = precision;
      if (is_attention) {
        block.in_weight = weights[next++];
        block.out_weight = weights[next++];
      } else {
        block.first_weight = weights[next++];
        block.first_bias = weights[next++];
        block.second_weight = weights[next++];
        block.second_bias = weights[next++];
      }
      all.blocks.push_back(block);
    }
    for (const bool is_there : norms) {
      EncoderNormWeights norm;
      if (is_there) {
        norm.scale = weights[next++];
        norm.shift = weights[next++];
      }
      all.norms.push_back(norm);
    }
    all.residual = residual;
    all.activation = activation;
    all.shape = shape();
    return kernel_encoder(rows, all, plan_of_instances(rows.size(0) / nodes, nodes), add_up).rows;
  }

  // In double, or with blocks by kernels in another precision.
  [[nodiscard]] Tensor by_definition(const Tensor& rows, const std::vector<Tensor>& weights, std::int64_t nodes,
                                     std::optional<Precision> of_blocks = {}) const {
    const AttentionPlanPtr plan = plan_of_instances(rows.size(0) / nodes, nodes);
    std::size_t next = 0;
    std::size_t next_norm = 0;
    for (const bool is_attention : attention) next_norm += is_attention ? 2 : 4;
    const auto normalised = [&](std::size_t s, const Tensor& x) {
      if (!norms[s]) return x;
      const Tensor& scale = weights[next_norm++];
      const Tensor& shift = weights[next_norm++];
      return torch::batch_norm(x, scale, shift, {}, {}, true, 0.0, 1e-5, false);
    };
    std::vector<Tensor> t = {rows};
    for (std::size_t s = 0; s < attention.size(); ++s) {
      const Tensor n = normalised(s, t[s]);
      Tensor change;
      if (of_blocks && attention[s]) {
        change = kernel_attention_block(n, weights[next], weights[next + 1], {}, {}, plan, shape(), *of_blocks);
        next += 2;
      } else if (of_blocks) {
        change = kernel_feed_forward(n, weights[next], weights[next + 1], weights[next + 2], weights[next + 3],
                                     activation, *of_blocks);
        next += 4;
      } else if (attention[s]) {
        const Tensor parts = torch::linear(n, weights[next]).view({-1, nodes, 3 * dim});
        const double scale = 1 / std::sqrt(static_cast<double>(dim / heads));
        change = torch::linear(plain_attention(parts.narrow(2, 0, dim), parts.narrow(2, dim, dim),
                                               parts.narrow(2, 2 * dim, dim), heads, scale, {})
                                   .flatten(0, 1),
                               weights[next + 1]);
        next += 2;
      } else {
        const Tensor hidden_values = torch::linear(n, weights[next], weights[next + 1]);
        change = torch::linear(
            activation == kernels::Activation::kRelu ? torch::relu(hidden_values) : torch::gelu(hidden_values),
            weights[next + 2], weights[next + 3]);
        next += 4;
      }
      const Tensor before = residual == kernels::Encoder::Residual::kInput ? n : t[s == 0 ? 0 : s - 1];
      t.push_back(before + change);
    }
    return normalised(attention.size(), t.back());
  }
};

const kernels::AddUp kAlone = [](std::span<double>) {};
constexpr auto kInput = kernels::Encoder::Residual::kInput;
constexpr auto kEarlier = kernels::Encoder::Residual::kEarlier;

TEST(KernelFunctions, EncodersWithBatchNorms) {
  torch::manual_seed(11);
  const std::vector<EncoderCase> cases = {
      {kInput, kernels::Activation::kRelu, {true, false, true, false}, {false, true, true, true, true}, 32, 2, 64},
      {kEarlier, kernels::Activation::kGelu, {true, false, true, false}, {true, true, true, true, false}, 32, 2, 64},
      {kEarlier, kernels::Activation::kGelu, {true}, {true, false}, 16, 1, 48},
      {kEarlier, kernels::Activation::kRelu, {false, true}, {true, true, true}, 12, 3, 20},
      {kInput, kernels::Activation::kGelu, {false}, {true, false}, 32, 2, 64}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (const std::int64_t nodes : {1, 5, 50, 210}) {
      const std::int64_t instances = nodes < 10 ? 60 : 5;
      for (const Precision precision : kPrecisions) {
        std::vector<Tensor> inputs = {random_tensor({instances * nodes, cases[c].dim})};
        const std::vector<Tensor> weights = cases[c].random_weights();
        inputs.insert(inputs.end(), weights.begin(), weights.end());
        const auto weights_of = [](const std::vector<Tensor>& t) { return std::vector(t.begin() + 1, t.end()); };
        const Function by_kernels = [&](const auto& t) {
          return cases[c].by_kernels(t[0], weights_of(t), nodes, precision, kAlone);
        };
        const std::string name = fmt::format("case {}, {} nodes, {}", c, nodes, name_of(precision));
        if (precision == Precision::kFloat) {
          const Function in_double = [&](const auto& t) { return cases[c].by_definition(t[0], weights_of(t), nodes); };
          expect_same(inputs, by_kernels, in_double, name, by_norm(kTolerance, instances * nodes));
          continue;
        }
        // Rounding in one block after the other goes far from double; but not from the same blocks one by one, whose
        // own tests are above. What is left are values that the last bit of a float rounds another way.
        const Function by_blocks = [&](const auto& t) {
          std::vector<Tensor> floats;
          for (const Tensor& x : t) floats.push_back(x.to(torch::kFloat32));
          return cases[c].by_definition(floats[0], weights_of(floats), nodes, precision).to(torch::kFloat64);
        };
        expect_same(inputs, by_kernels, by_blocks, name, by_norm(1e-2, instances * nodes));
      }
    }
  }
}

TEST(KernelFunctions, EncodersInSharesAreThatOfTheWholeBatch) {
  torch::manual_seed(12);
  const EncoderCase encoder{kEarlier, kernels::Activation::kGelu, {true, false}, {true, true, true}, 16, 1, 32};
  const std::int64_t nodes = 7;
  const Tensor rows = random_tensor({6 * nodes, encoder.dim});
  const Tensor factors = random_tensor({6 * nodes, encoder.dim});
  const std::vector<Tensor> weights = encoder.random_weights();
  const auto with_gradients = [](const std::vector<Tensor>& values) {
    std::vector<Tensor> result;
    for (const Tensor& x : values) result.push_back(x.clone().requires_grad_());
    return result;
  };
  const Tensor whole = rows.clone().requires_grad_();
  const std::vector<Tensor> whole_weights = with_gradients(weights);
  const Tensor expected = encoder.by_kernels(whole, whole_weights, nodes, Precision::kFloat, kAlone);
  (expected * factors).sum().backward();

  constexpr std::size_t kMembers = 3;
  const std::int64_t share = rows.size(0) / static_cast<std::int64_t>(kMembers);
  BatchGroup group(kMembers, 2);
  std::vector<Tensor> parts(kMembers);
  std::vector<std::vector<Tensor>> part_weights(kMembers);
  std::vector<Tensor> results(kMembers);
  group.run([&](std::size_t k) {
    const auto begin = static_cast<std::int64_t>(k) * share;
    parts[k] = rows.narrow(0, begin, share).clone().requires_grad_();
    part_weights[k] = with_gradients(weights);
    results[k] = encoder.by_kernels(parts[k], part_weights[k], nodes, Precision::kFloat,
                                    [&group, k](std::span<double> values) { group.add_up(k, values); });
    (results[k] * factors.narrow(0, begin, share)).sum().backward();
  });
  const Comparison compare = by_norm(kTolerance, rows.size(0));
  compare(torch::cat(results).detach(), expected.detach().to(torch::kFloat64), "values");
  compare(torch::cat({parts[0].grad(), parts[1].grad(), parts[2].grad()}), whole.grad().to(torch::kFloat64),
          "gradient of the rows");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    compare(part_weights[0][i].grad() + part_weights[1][i].grad() + part_weights[2][i].grad(),
            whole_weights[i].grad().to(torch::kFloat64), fmt::format("gradient of weight {}", i));
  }
}

// Tours (B, G, N) with what plans of their steps refer to.
struct StepsOfTours {
  Tensor tours;
  std::int64_t first_step;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> places;

  StepsOfTours(const Tensor& all, std::int64_t first) : tours(all), first_step(first) {
    const auto to_vector = [](const Tensor& x) {
      const Tensor values = x.to(torch::kInt32).contiguous();
      return std::vector<std::int32_t>(values.data_ptr<std::int32_t>(), values.data_ptr<std::int32_t>() + x.numel());
    };
    order = to_vector(all);
    places = to_vector(torch::argsort(all, -1, false));
  }
  [[nodiscard]] std::int64_t num_nodes() const { return tours.size(2); }
  [[nodiscard]] std::int64_t num_steps() const { return num_nodes() - first_step; }
  [[nodiscard]] std::int64_t num_tours() const { return tours.size(0) * tours.size(1); }

  [[nodiscard]] std::vector<kernels::Group> groups() const {
    std::vector<kernels::Group> result;
    const auto nodes = static_cast<std::size_t>(num_nodes());
    const auto steps = static_cast<std::size_t>(num_steps());
    for (std::size_t tour = 0; tour < static_cast<std::size_t>(num_tours()); ++tour) {
      result.push_back({tour * steps, steps, tour / static_cast<std::size_t>(tours.size(1)) * nodes, nodes,
                        places.data() + tour * nodes, static_cast<std::int32_t>(first_step)});
    }
    return result;
  }
  [[nodiscard]] AttentionPlanPtr attention() const {
    auto plan = c10::make_intrusive<AttentionPlan>();
    plan->groups = groups();
    return plan;
  }
  // `coordinates` may be undefined.
  [[nodiscard]] PointerPlanPtr choices(const Tensor& coordinates) const {
    auto plan = c10::make_intrusive<PointerPlan>();
    const auto nodes = static_cast<std::size_t>(num_nodes());
    for (const kernels::Group& rows : groups()) {
      kernels::PointerGroup group;
      group.rows = rows;
      const std::size_t tour = plan->groups.size();
      group.chosen = order.data() + tour * nodes + static_cast<std::size_t>(first_step);
      if (coordinates.defined()) {
        group.coordinates = coordinates.data_ptr<float>() + tour / static_cast<std::size_t>(tours.size(1)) * 6 * nodes;
        group.here = group.chosen - 1;
      }
      plan->groups.push_back(group);
    }
    return plan;
  }

  // f(instance, nodes in order, visited (S, N)) of all tours, one below the other.
  [[nodiscard]] Tensor for_all(const std::function<Tensor(std::int64_t, const Tensor&, const Tensor&)>& f) const {
    std::vector<Tensor> rows;
    for (std::int64_t tour = 0; tour < num_tours(); ++tour) {
      const std::int64_t b = tour / tours.size(1);
      const Tensor nodes = tours[b][tour % tours.size(1)];
      rows.push_back(f(b, nodes, visited_before(nodes, first_step)));
    }
    return torch::cat(rows);
  }

  // By definition: log-probabilities of the choices of one tour. queries (S, d), keys (N, d); places (N, 6) may be
  // undefined: no distances.
  [[nodiscard]] Tensor log_probs_of(const Tensor& queries, const Tensor& keys, const Tensor& positions,
                                    const Tensor& nodes, const Tensor& visited,
                                    const kernels::PointerShape& shape) const {
    Tensor scores = queries.matmul(keys.t()) * static_cast<double>(shape.scale);
    if (positions.defined()) {
      const Tensor here = positions.index_select(0, nodes.narrow(0, 0, num_steps()));
      scores = scores - torch::cdist(here, positions, 2.0, 2);
    }
    scores = (torch::tanh(scores) * static_cast<double>(shape.clip)).masked_fill(visited, kMinusInfinity);
    const Tensor chosen = nodes.narrow(0, first_step, num_steps()).unsqueeze(1);
    return torch::log(torch::softmax(scores, -1).gather(1, chosen).squeeze(1) + static_cast<double>(shape.floor));
  }
};

TEST(KernelFunctions, AttentionAndChoicesOfTheStepsOfTours) {
  torch::manual_seed(7);
  for (const std::int64_t nodes : {2, 3, 17, 40, 70}) {
    for (const std::int64_t first_step : {0, 1}) {
      const std::int64_t instances = 2;
      const std::int64_t dim = 32;
      const StepsOfTours steps(random_tours(instances, 3, nodes), first_step);
      const std::int64_t num_queries = steps.num_tours() * steps.num_steps();
      const bool with_distances = first_step == 1;
      const Tensor coordinates = with_distances ? torch::rand({instances, 6, nodes}, torch::kFloat32) : Tensor();
      const kernels::PointerShape shape{static_cast<std::size_t>(dim), 0.2F, 10.0F, with_distances ? 1e-3F : 0.0F};
      for (const Precision precision : kPrecisions) {
        const auto name = fmt::format("{} nodes, first step {}, {}", nodes, first_step, name_of(precision));
        // The queries of a tour are a slice of all: for_all() counts them.
        std::int64_t next = 0;
        const auto queries_of_tour = [&](const Tensor& all) {
          const std::int64_t begin = std::exchange(next, (next + steps.num_steps()) % num_queries);
          return all.narrow(0, begin, steps.num_steps());
        };
        expect_same(
            {random_tensor({num_queries, dim}), random_tensor({instances * nodes, 2 * dim})},
            [&](const auto& t) {
              const auto parts = t[1].split(dim, 1);
              return kernel_attention(t[0], parts[0], parts[1], steps.attention(), {2, 16, 0.25F}, precision);
            },
            [&](const auto& t) {
              return steps.for_all([&](std::int64_t b, const Tensor&, const Tensor& visited) {
                const auto parts = t[1].narrow(0, b * nodes, nodes).chunk(2, 1);
                return plain_attention(queries_of_tour(t[0]), parts[0], parts[1], 2, 0.25, visited);
              });
            },
            name + ": attention", tolerance_of(precision));
        expect_same(
            {random_tensor({num_queries, dim}), random_tensor({instances * nodes, dim})},
            [&](const auto& t) { return kernel_pointer(t[0], t[1], steps.choices(coordinates), shape, precision); },
            [&](const auto& t) {
              return steps.for_all([&](std::int64_t b, const Tensor& order, const Tensor& visited) {
                const Tensor positions = with_distances ? coordinates[b].t().to(torch::kFloat64) : Tensor();
                return steps.log_probs_of(queries_of_tour(t[0]), t[1].narrow(0, b * nodes, nodes), positions, order,
                                          visited, shape);
              });
            },
            name + ": choices", tolerance_of(precision));
      }
    }
  }
}

// The whole decoder of the attention model (from step 0 on, with a glimpse), and that of Pointerformer with the nodes
// visited, distances and a floor.
TEST(KernelFunctions, DecodersOfTours) {
  torch::manual_seed(8);
  constexpr std::int64_t kDim = 32;
  constexpr auto kWidth = static_cast<std::size_t>(kDim);
  for (const std::int64_t nodes : {2, 3, 17, 50, 90, 200}) {
    for (const bool pointerformer : {false, true}) {
      const std::int64_t instances = 3;
      const std::int64_t tours = pointerformer ? 5 : 2;
      DecoderForm form;
      form.first_step = pointerformer ? 1 : 0;
      form.shares.last = 0;
      form.shares.score_key = kWidth;
      form.pointer = {kWidth, 0.2F, 10.0F, pointerformer ? 1e-3F : 0.0F};
      if (pointerformer) {
        form.shares.visited = 2 * kWidth;
      } else {
        form.shares.glimpse_key = 2 * kWidth;
        form.shares.glimpse_value = 3 * kWidth;
        form.glimpse = {2, 16, 0.25F};
      }
      const StepsOfTours steps(random_tours(instances, tours, nodes), form.first_step);
      const Tensor coordinates = pointerformer ? torch::rand({instances, 6, nodes}, torch::kFloat32) : Tensor();
      std::vector<Tensor> inputs = {random_tensor({instances, nodes, kDim}), random_tensor({6 * kDim, kDim}) * 0.3};
      if (pointerformer) {
        inputs[1].narrow(0, 4 * kDim, kDim) /= static_cast<double>(nodes);  // a mean of the visited nodes, as there
      } else {
        inputs.push_back(random_tensor({kDim}));
        inputs.push_back(random_tensor({kDim, kDim}) * 0.3);
      }
      const auto in_double = [&](const auto& t) {
        return steps.for_all([&](std::int64_t b, const Tensor& order, const Tensor& visited) {
          const Tensor shares = torch::linear(t[0][b], t[1]);
          const auto share = [&](std::int64_t number) { return shares.narrow(1, number * kDim, kDim); };  // (N, d)
          std::vector<Tensor> rows;
          for (std::int64_t step = form.first_step; step < nodes; ++step) {
            const Tensor graph = share(0).mean(0);
            if (step == 0) {
              rows.push_back(graph + t[2]);
              continue;
            }
            const Tensor before = order.narrow(0, 0, step);
            Tensor query = graph + share(1).index_select(0, before.narrow(0, 0, 1)).squeeze(0) +
                           share(2).index_select(0, before.narrow(0, step - 1, 1)).squeeze(0);
            if (pointerformer) query = query + share(4).index_select(0, before).sum(0);
            rows.push_back(query);
          }
          Tensor queries = torch::stack(rows);
          if (!pointerformer) {
            queries = torch::linear(plain_attention(queries, share(4), share(5), 2, 0.25, visited), t[3]);
          }
          const Tensor positions = pointerformer ? coordinates[b].t().to(torch::kFloat64) : Tensor();
          return steps.log_probs_of(queries, share(3), positions, order, visited, form.pointer);
        });
      };
      const Tensor coefficients = torch::rand({instances, tours, nodes - form.first_step}, torch::kFloat32);
      for (const Precision precision : kPrecisions) {
        const auto weights_of = [&](const auto& t) {
          return DecoderWeights{t[1].narrow(0, 2 * kDim, 4 * kDim),
                                t[1].narrow(0, 0, kDim),
                                t[1].narrow(0, kDim, kDim),
                                pointerformer ? Tensor() : t[2],
                                pointerformer ? Tensor() : t[3],
                                precision,
                                precision,
                                precision,
                                precision};
        };
        const std::string name = fmt::format("{}, {} nodes, {}", pointerformer ? "Pointerformer" : "attention model",
                                             nodes, name_of(precision));
        expect_same(
            inputs,
            [&](const auto& t) {
              return kernel_tour_log_probs(t[0], weights_of(t), steps.tours, coordinates, form).flatten();
            },
            in_double, name, tolerance_of(precision));
        // Twice the sum of the same, with the same gradients to the bit.
        std::vector<Tensor> one_pass;
        std::vector<Tensor> two_passes;
        for (const Tensor& x : inputs) {
          one_pass.push_back(x.clone().requires_grad_());
          two_passes.push_back(x.clone().requires_grad_());
        }
        const Tensor found = kernel_weighted_tour_log_probs(one_pass[0], weights_of(one_pass), steps.tours, coordinates,
                                                            form, coefficients);
        const Tensor log_probs =
            kernel_tour_log_probs(two_passes[0], weights_of(two_passes), steps.tours, coordinates, form);
        const Tensor expected = (log_probs * coefficients).sum();
        EXPECT_NEAR(found.item<double>(), expected.item<double>(), 1e-5 * (1 + std::abs(expected.item<double>())));
        (found * 2).backward();
        (expected * 2).backward();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          EXPECT_TRUE(torch::equal(one_pass[i].grad(), two_passes[i].grad())) << name << ": gradient " << i;
        }
      }
    }
  }
}

TEST(KernelFunctions, WhatCannotBeChosenHasNoGradient) {
  auto plan = c10::make_intrusive<PointerPlan>();
  plan->chosen = {-1, 1};
  plan->groups = {{{0, 1, 0, 3}, plan->chosen.data()}, {{1, 1, 0, 3}, plan->chosen.data() + 1}};
  const Tensor queries = random_tensor({2, 16}).requires_grad_();
  const Tensor log_probs = kernel_pointer(queries, random_tensor({3, 16}), plan, {16, 1, 10});
  EXPECT_EQ(log_probs[0].item<double>(), kMinusInfinity);
  EXPECT_TRUE(std::isfinite(log_probs[1].item<double>()));
  log_probs[1].backward();
  EXPECT_EQ(queries.grad()[0].abs().max().item<double>(), 0.0);
  EXPECT_GT(queries.grad()[1].abs().max().item<double>(), 0.0);
}

TEST(KernelFunctions, OtherTensorsAreLeftToTorch) {
  EXPECT_TRUE(kernels_support(torch::zeros({2})));
  EXPECT_FALSE(kernels_support(torch::zeros({2}, torch::kFloat64)));
}

}  // namespace
}  // namespace puretour::nn
