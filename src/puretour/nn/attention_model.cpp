// SPDX-License-Identifier: MIT
#include "puretour/nn/attention_model.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "puretour/nn/kernel_functions.h"

namespace puretour::nn {
namespace {

// The tensors of an encoded instance.
enum Part : std::size_t { kEmbedding, kGlimpseKeyValue, kScoreKey, kGraphContext };

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
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  const Tensor projection = weight("project_node_embeddings.weight");  // glimpse key, glimpse value, score key
  return {h, linear("glimpse key, value", h, projection.narrow(0, 0, 2 * dim)),
          linear("score key", h, projection.narrow(0, 2 * dim, dim)), linear("project_fixed_context", h.mean(1))};
}

Tensor AttentionModel::step_log_probs(const std::vector<Tensor>& encoded, const Steps& steps) {
  const Tensor& h = encoded[kEmbedding];
  const std::int64_t num_instances = h.size(0);
  const std::int64_t num_tours = steps.last.size(1);
  const std::int64_t num_steps = steps.last.size(2);
  Tensor context = torch::cat({gather_rows(h, steps.first.flatten(1)), gather_rows(h, steps.last.flatten(1))}, -1)
                       .view({num_instances, num_tours, num_steps, -1});  // (B, G, S, 2d)
  if (steps.from_nothing) {
    const Tensor placeholder = weight("W_placeholder").expand({num_instances, num_tours, 1, -1});
    context = torch::cat({placeholder, context.narrow(2, 1, num_steps - 1)}, 2);
  }
  const Tensor query = linear("project_step_context", context.flatten(1, 2)) + encoded[kGraphContext].unsqueeze(1);
  const Tensor visited = steps.visited.flatten(1, 2);  // (B, GS, N)

  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  const Tensor heads = split_heads(query, num_heads);  // (B, H, GS, d/H)
  const std::vector<Tensor> key_value = encoded[kGlimpseKeyValue].chunk(2, -1);
  const double head_scale = 1 / std::sqrt(static_cast<double>(heads.size(-1)));
  const Tensor attention = (heads.matmul(split_heads(key_value[0], num_heads).transpose(-1, -2)) * head_scale)
                               .masked_fill(visited.unsqueeze(1), kMinusInfinity);  // (B, H, GS, N)
  const Tensor glimpse =
      linear("project_out",
             merge_heads(torch::softmax(attention, -1).matmul(split_heads(key_value[1], num_heads))));  // (B, GS, d)

  const double scale = 1 / std::sqrt(static_cast<double>(config_.embedding_dim));
  const Tensor scores = torch::tanh(glimpse.matmul(encoded[kScoreKey].transpose(-1, -2)) * scale) * config_.tanh_clip;
  return torch::log_softmax(scores.masked_fill(visited, kMinusInfinity), -1)
      .view({num_instances, num_tours, num_steps, -1});
}

Tensor AttentionModel::score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const Tensor& h = encoded[kEmbedding];
  if (!kernels_take(h)) return Network::score_encoded(encoded, tours);
  const TourPlanPtr plan = plan_of_tours(tours, 0);
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  const Tensor context = weight("project_step_context.weight");  // of the first and of the last node
  const Tensor& graph = encoded[kGraphContext];                  // (B, d)
  const Tensor first = gather_rows(h, tours.select(2, 0));       // (B, G, d)
  const Tensor base = linear("first node", first, context.narrow(1, 0, dim)) + graph.unsqueeze(1);
  const Tensor start = linear("project_step_context", weight("W_placeholder").unsqueeze(0)) + graph;
  const Tensor queries =
      kernel_tour_queries(base, linear("last node", h, context.narrow(1, dim, dim)), {}, start, plan);

  const auto head_dim = config_.embedding_dim / config_.num_heads;
  const std::vector<Tensor> key_value = encoded[kGlimpseKeyValue].flatten(0, 1).split(dim, 1);
  const Tensor glimpse = kernel_attention(
      queries, key_value[0], key_value[1], plan_of_steps(*plan),
      {config_.num_heads, head_dim, static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))}, precision());
  const kernels::PointerShape shape{config_.embedding_dim,
                                    static_cast<float>(1 / std::sqrt(static_cast<double>(config_.embedding_dim))),
                                    static_cast<float>(config_.tanh_clip)};
  return kernel_pointer(linear("project_out", glimpse), encoded[kScoreKey].flatten(0, 1), plan_of_choices(*plan, {}),
                        shape, precision())
      .view(tours.sizes());
}

}  // namespace puretour::nn
