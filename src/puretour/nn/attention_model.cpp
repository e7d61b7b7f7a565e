// SPDX-License-Identifier: MIT
#include "puretour/nn/attention_model.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "puretour/nn/decoder_function.h"
#include "puretour/nn/kernel_functions.h"

namespace puretour::nn {
namespace {

// The tensors of an encoded instance, and what is added for decoding step by step.
enum Part : std::size_t { kEmbedding, kShares };
// What the decoder needs of a node, side by side: see kernels/decode/tour_decoder.h, which does without the last two.
enum Share : std::int64_t { kGlimpseKey, kGlimpseValue, kScoreKey, kLast, kFirst, kGraph, kNumShares };

constexpr double kMomentum = 0.1;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

}  // namespace

std::vector<Tensor> AttentionModel::encode(const Tensor& points, Statistics statistics) {
  EncoderBlocks encoder;
  encoder.num_heads = config_.num_heads;
  encoder.momentum = kMomentum;
  encoder.norms.emplace_back();
  for (std::size_t l = 0; l < config_.num_layers; ++l) {
    const std::string layer = fmt::format("embedder.layers.{}.", l);
    // The weights are (H, d, d/H): one product for all heads and all three parts is many times faster than one for
    // each.
    std::vector<Tensor> parts;
    for (const char* name : {"W_query", "W_key", "W_val"}) {
      parts.push_back(weight(layer + "0.module." + name).transpose(1, 2).flatten(0, 1));  // (d, d)
    }
    EncoderBlock attention;
    attention.name = layer + "attention";
    attention.in_weight = torch::cat(parts);
    attention.out_weight = weight(layer + "0.module.W_out").flatten(0, 1).t();
    EncoderBlock feed_forward;
    feed_forward.name = layer + "feed-forward";
    feed_forward.first = layer + "2.module.0";
    feed_forward.second = layer + "2.module.2";
    encoder.blocks.insert(encoder.blocks.end(), {attention, feed_forward});
    encoder.norms.insert(encoder.norms.end(), {layer + "1.normalizer", layer + "3.normalizer"});
  }
  const Tensor h = run_encoder(linear("init_embed", points), encoder, statistics);  // (B, N, d)
  return {h};
}

DecoderWeights AttentionModel::decoder_weights() const {
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  const Tensor context = weight("project_step_context.weight");  // of the first and of the last node
  DecoderWeights result;
  result.shares = torch::cat({weight("project_node_embeddings.weight"), context.narrow(1, dim, dim)});
  result.graph = weight("project_fixed_context.weight");
  result.first = context.narrow(1, 0, dim);
  result.placeholder = placeholder();
  result.out = weight("project_out.weight");
  result.shares_packing = packing("shares");
  result.graph_packing = packing("project_fixed_context");
  result.first_packing = packing("first");
  result.out_packing = packing("project_out");
  return result;
}

std::vector<Tensor> AttentionModel::decoder_inputs(const std::vector<Tensor>& encoded) {
  const DecoderWeights weights = decoder_weights();
  const Tensor all = torch::cat({weights.shares, weights.first, weights.graph});
  return {encoded[kEmbedding], linear("all shares", encoded[kEmbedding], all)};
}

Tensor AttentionModel::placeholder() const {
  return linear("project_step_context", weight("W_placeholder").unsqueeze(0)).squeeze(0);
}

Tensor AttentionModel::step_log_probs(const std::vector<Tensor>& inputs, const Steps& steps) {
  const std::vector<Tensor> shares = inputs[kShares].chunk(kNumShares, -1);  // (B, N, d) each
  const std::int64_t num_instances = shares[kGraph].size(0);
  const std::int64_t num_tours = steps.last.size(1);
  const std::int64_t num_steps = steps.last.size(2);
  Tensor context =
      (gather_rows(shares[kFirst], steps.first.flatten(1)) + gather_rows(shares[kLast], steps.last.flatten(1)))
          .view({num_instances, num_tours, num_steps, -1});  // (B, G, S, d)
  if (steps.from_nothing) {
    context =
        torch::cat({placeholder().expand({num_instances, num_tours, 1, -1}), context.narrow(2, 1, num_steps - 1)}, 2);
  }
  const Tensor query = context.flatten(1, 2) + shares[kGraph].mean(1, true);  // (B, GS, d)
  const Tensor visited = steps.visited.flatten(1, 2);                         // (B, GS, N)

  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  const Tensor heads = split_heads(query, num_heads);  // (B, H, GS, d/H)
  const double head_scale = 1 / std::sqrt(static_cast<double>(heads.size(-1)));
  const Tensor attention = (heads.matmul(split_heads(shares[kGlimpseKey], num_heads).transpose(-1, -2)) * head_scale)
                               .masked_fill(visited.unsqueeze(1), kMinusInfinity);  // (B, H, GS, N)
  const Tensor glimpse = linear(
      "project_out",
      merge_heads(torch::softmax(attention, -1).matmul(split_heads(shares[kGlimpseValue], num_heads))));  // (B, GS, d)

  const double scale = 1 / std::sqrt(static_cast<double>(config_.embedding_dim));
  const Tensor scores = torch::tanh(glimpse.matmul(shares[kScoreKey].transpose(-1, -2)) * scale) * config_.tanh_clip;
  return torch::log_softmax(scores.masked_fill(visited, kMinusInfinity), -1)
      .view({num_instances, num_tours, num_steps, -1});
}

DecoderForm AttentionModel::decoder_form() const {
  const std::size_t dim = config_.embedding_dim;
  const std::size_t head_dim = dim / config_.num_heads;
  DecoderForm form;
  form.shares.last = kLast * dim;
  form.shares.score_key = kScoreKey * dim;
  form.shares.glimpse_key = kGlimpseKey * dim;
  form.shares.glimpse_value = kGlimpseValue * dim;
  form.glimpse = {config_.num_heads, head_dim, static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
  form.pointer = {dim, static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
                  static_cast<float>(config_.tanh_clip)};
  return form;
}

Tensor AttentionModel::score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const Tensor& h = encoded[kEmbedding];
  if (!kernels_support(h)) return Network::score_encoded(encoded, tours);
  return kernel_tour_log_probs(h, decoder_weights(), tours, {}, decoder_form());
}

Tensor AttentionModel::weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours,
                                      const Tensor& coefficients) {
  const Tensor& h = encoded[kEmbedding];
  if (!kernels_support(h)) return Network::weighted_score(encoded, tours, coefficients);
  return kernel_weighted_tour_log_probs(h, decoder_weights(), tours, {}, decoder_form(), coefficients);
}

TaughtScore AttentionModel::taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) {
  const Tensor& h = encoded[kEmbedding];
  if (!kernels_support(h)) return Network::taught_score(encoded, steps);
  return kernel_taught_score(h, decoder_weights(), steps, {}, decoder_form());
}

}  // namespace puretour::nn
