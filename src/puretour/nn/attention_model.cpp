// SPDX-License-Identifier: MIT
#include "puretour/nn/attention_model.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace puretour::nn {
namespace {

// The tensors of an encoded instance.
enum Part : std::size_t { kEmbedding, kGlimpseKey, kGlimpseValue, kScoreKey, kGraphContext };

constexpr double kMomentum = 0.1;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

}  // namespace

Tensor AttentionModel::self_attention(const std::string& prefix, const Tensor& h) const {
  // The weights are (H, d, d/H): one product for all heads and all three parts is many times faster than one for each.
  const auto columns = [&](const char* name) { return weight(prefix + name).transpose(0, 1).flatten(1); };  // (d, d)
  const std::vector<Tensor> parts =
      h.matmul(torch::cat({columns("W_query"), columns("W_key"), columns("W_val")}, 1)).chunk(3, -1);
  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  const Tensor query = split_heads(parts[0], num_heads);  // (B, H, N, d/H)
  const Tensor key = split_heads(parts[1], num_heads);    // (B, H, N, d/H)
  const Tensor value = split_heads(parts[2], num_heads);  // (B, H, N, d/H)
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor weights = torch::softmax(query.matmul(key.transpose(-1, -2)) * scale, -1);  // (B, H, N, N)
  return merge_heads(weights.matmul(value)).matmul(weight(prefix + "W_out").flatten(0, 1));
}

std::vector<Tensor> AttentionModel::encode(const Tensor& points, Statistics statistics) {
  Tensor h = linear("init_embed", points);  // (B, N, d)
  for (std::size_t l = 0; l < config_.num_layers; ++l) {
    const std::string layer = fmt::format("embedder.layers.{}.", l);
    h = batch_norm(layer + "1.normalizer", h + self_attention(layer + "0.module.", h), statistics, kMomentum);
    const Tensor change = linear(layer + "2.module.2", torch::relu(linear(layer + "2.module.0", h)));
    h = batch_norm(layer + "3.normalizer", h + change, statistics, kMomentum);
  }
  const std::vector<Tensor> projected = linear("project_node_embeddings", h).chunk(3, -1);  // (B, N, d) each
  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  return {h, split_heads(projected[0], num_heads), split_heads(projected[1], num_heads), projected[2],
          linear("project_fixed_context", h.mean(1))};
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

  const Tensor heads = split_heads(query, static_cast<std::int64_t>(config_.num_heads));  // (B, H, GS, d/H)
  const double head_scale = 1 / std::sqrt(static_cast<double>(heads.size(-1)));
  const Tensor attention = (heads.matmul(encoded[kGlimpseKey].transpose(-1, -2)) * head_scale)
                               .masked_fill(visited.unsqueeze(1), kMinusInfinity);  // (B, H, GS, N)
  const Tensor glimpse =
      linear("project_out", merge_heads(torch::softmax(attention, -1).matmul(encoded[kGlimpseValue])));  // (B, GS, d)

  const double scale = 1 / std::sqrt(static_cast<double>(config_.embedding_dim));
  const Tensor scores = torch::tanh(glimpse.matmul(encoded[kScoreKey].transpose(-1, -2)) * scale) * config_.tanh_clip;
  return torch::log_softmax(scores.masked_fill(visited, kMinusInfinity), -1)
      .view({num_instances, num_tours, num_steps, -1});
}

}  // namespace puretour::nn
