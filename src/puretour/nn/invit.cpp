// SPDX-License-Identifier: MIT
#include "puretour/nn/invit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace puretour::nn {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kAttentionNormEpsilon = 1e-6;
constexpr double kNormEpsilon = 1e-5;
constexpr std::int64_t kDecoderLayers = 2;

// Tokens (V, T, 2) moved and scaled by the box of the first num_in_box of them, and clamped to the unit square.
Tensor normalised(const Tensor& tokens, std::int64_t num_in_box) {
  const Tensor box = tokens.narrow(1, 0, num_in_box);
  const Tensor low = box.amin(1, true);                          // (V, 1, 2)
  const Tensor range = (box.amax(1, true) - low).amax(2, true);  // (V, 1, 1)
  return ((tokens - low) / range.masked_fill(range == 0, 1.0)).clamp(0, 1);
}

}  // namespace

// V = B G S views of the K nearest unvisited nodes. Where fewer are left, the last node stands in their place, which
// does not change the box, and no token attends to it.
struct Invit::Views {
  Tensor nodes;              // (V, K) int64
  Tensor neighbours;         // (V, K, 2)
  Tensor missing;            // (V, K) bool
  Tensor impossible_action;  // (V, k) bool: missing, or too far away
  Tensor last;               // (V, 1, 2)
  Tensor first;              // (V, 1, 2)
  Tensor aggregate;          // (V, 1, 2)
};

std::vector<Tensor> Invit::encode(const Tensor& points, Statistics /*statistics*/) {
  return {points};
}

Invit::Views Invit::views_of(const Tensor& points, const Steps& steps) const {
  const std::int64_t num_nodes = points.size(1);
  const std::int64_t largest =
      static_cast<std::int64_t>(*std::max_element(config_.state_views.begin(), config_.state_views.end()));
  const std::int64_t num_neighbours = std::min(largest, num_nodes - 1);
  const Tensor visited = steps.visited.flatten(1, 2);                 // (B, R, N) with R = G S
  const Tensor last = gather_rows(points, steps.last.flatten(1));     // (B, R, 2)
  const Tensor difference = points.unsqueeze(1) - last.unsqueeze(2);  // (B, R, N, 2)
  const Tensor dx = difference.select(-1, 0);
  const Tensor dy = difference.select(-1, 1);
  const Tensor squared = (dx * dx + dy * dy).masked_fill(visited, std::numeric_limits<double>::infinity());
  const auto [sorted, order] = squared.sort(/*stable=*/true, -1, /*descending=*/false);  // ties to the lower number
  const Tensor nodes = order.narrow(2, 0, num_neighbours);                               // (B, R, K)
  const Tensor num_left = num_nodes - visited.sum(-1, true);                             // (B, R, 1)
  const Tensor missing = torch::arange(num_neighbours, num_left.options()).view({1, 1, -1}) >= num_left;

  Views views;
  views.nodes = nodes.flatten(0, 1);
  views.missing = missing.flatten(0, 1);
  views.last = last.flatten(0, 1).unsqueeze(1);
  views.first = gather_rows(points, steps.first.flatten(1)).flatten(0, 1).unsqueeze(1);
  views.neighbours = gather_rows(points, nodes.flatten(1)).view({-1, num_neighbours, 2});
  views.neighbours = torch::where(views.missing.unsqueeze(2), views.last, views.neighbours);
  const auto num_actions = std::min(static_cast<std::int64_t>(config_.action_view), num_neighbours);
  views.impossible_action = views.missing.narrow(1, 0, num_actions);
  if (config_.local_mask) {
    const Tensor distance = sorted.narrow(2, 0, num_actions).flatten(0, 1).sqrt();  // (V, k)
    views.impossible_action = views.impossible_action | (distance > distance.narrow(1, 0, 1) * 10);
  }
  if (config_.aggregate_whole_graph) {
    const Tensor unvisited = visited.logical_not().to(points.dtype());  // (B, R, N)
    views.aggregate = (unvisited.matmul(points) / num_left).flatten(0, 1).unsqueeze(1);
  }
  return views;
}

Tensor Invit::encode_tokens(const std::string& prefix, std::size_t num_layers, Tensor h,
                            const Tensor& impossible) const {
  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  // The scale of this attention is that of the whole width, not of a head.
  const double scale = 1 / std::sqrt(static_cast<double>(config_.embedding_dim));
  for (std::size_t l = 0; l < num_layers; ++l) {
    const std::string attention = fmt::format("{}encoder.MHA_layers.{}.", prefix, l);
    const auto part = [&](const char* name) { return fmt::format("{}encoder.{}.{}", prefix, name, l); };
    const Tensor query = split_heads(linear(attention + "w_qs", h), num_heads) * scale;  // (V, H, T, d/H)
    const Tensor key = split_heads(linear(attention + "w_ks", h), num_heads);
    const Tensor value = split_heads(linear(attention + "w_vs", h), num_heads);
    const Tensor weights = torch::softmax(
        query.matmul(key.transpose(-1, -2)).masked_fill(impossible.unsqueeze(1).unsqueeze(1), kMinusInfinity), -1);
    const Tensor attended = linear(attention + "fc", merge_heads(weights.matmul(value)));
    const Tensor u = layer_norm(attention + "layer_norm", attended + h, kAttentionNormEpsilon);
    const Tensor h1 = layer_norm(part("norm1_layers"), h + u, kNormEpsilon);
    const Tensor change = linear(part("linear2_layers"), torch::relu(linear(part("linear1_layers"), h1)));
    h = layer_norm(part("norm2_layers"), h1 + change, kNormEpsilon);
  }
  return h;
}

// Neighbours, last node: (V, k + 1, d).
Tensor Invit::encode_actions(const Views& views) const {
  const std::int64_t k = views.impossible_action.size(1);
  const Tensor neighbours =
      torch::where(views.impossible_action.unsqueeze(2), views.last, views.neighbours.narrow(1, 0, k));
  const Tensor places = normalised(torch::cat({neighbours, views.last}, 1), k + 1);
  const Tensor tokens = torch::cat({linear("action_encoder.input_emb", places.narrow(1, 0, k)),
                                    linear("action_encoder.input_emb_for_last", places.narrow(1, k, 1))},
                                   1);
  const Tensor impossible = torch::constant_pad_nd(views.impossible_action, {0, 1}, 0);
  return encode_tokens("action_encoder.", config_.num_action_layers, tokens, impossible);
}

// Neighbours, last node, first node (, whole graph): (V, K + 2, d).
Tensor Invit::encode_state(const Views& views, std::size_t index) const {
  const std::string prefix = fmt::format("state_encoders.{}.", index);
  const std::int64_t k = std::min(static_cast<std::int64_t>(config_.state_views[index]), views.neighbours.size(1));
  std::vector<Tensor> raw = {views.neighbours.narrow(1, 0, k), views.last, views.first};
  if (config_.aggregate_whole_graph) raw.push_back(views.aggregate);
  const Tensor places = normalised(torch::cat(raw, 1), k + 1);
  std::vector<Tensor> tokens = {linear(prefix + "input_emb", places.narrow(1, 0, k)),
                                linear(prefix + "input_emb_for_last", places.narrow(1, k, 1)),
                                linear(prefix + "input_emb_for_first", places.narrow(1, k + 1, 1))};
  if (config_.aggregate_whole_graph) tokens.push_back(linear(prefix + "agg_emb", places.narrow(1, k + 2, 1)));
  const Tensor impossible =
      torch::constant_pad_nd(views.missing.narrow(1, 0, k), {0, static_cast<std::int64_t>(tokens.size()) - 1}, 0);
  return encode_tokens(prefix, config_.num_state_layers, torch::cat(tokens, 1), impossible).narrow(1, 0, k + 2);
}

// Scores (V, k) as log-probabilities.
Tensor Invit::decode(const Tensor& actions, const std::vector<Tensor>& states, const Tensor& impossible) const {
  const std::int64_t k = impossible.size(1);
  const auto num_heads = static_cast<std::int64_t>(config_.num_heads);
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  std::vector<Tensor> options = {actions.narrow(1, 0, k)};
  std::vector<Tensor> query = {actions.narrow(1, k, 1)};
  for (const Tensor& state : states) {
    const std::int64_t num_neighbours = state.size(1) - 2;
    options.push_back(state.narrow(1, 0, k));
    query.push_back(state.narrow(1, num_neighbours, 1));
    query.push_back(state.narrow(1, num_neighbours + 1, 1));
  }
  const Tensor option = torch::cat(options, -1);           // (V, k, d (S + 1))
  const Tensor keys = linear("WK_att_decoder", option);    // (V, k, 3d)
  const Tensor values = linear("WV_att_decoder", option);  // (V, k, 3d)
  Tensor h = linear("query_mlp", torch::cat(query, -1));   // (V, 1, d)
  for (std::int64_t l = 0; l < kDecoderLayers; ++l) {
    const std::string layer = fmt::format("decoder.decoder_layers.{}.", l);
    const Tensor q = split_heads(linear(layer + "Wq_att", h), num_heads);  // (V, H, 1, d/H)
    const Tensor key = split_heads(keys.narrow(-1, l * dim, dim), num_heads);
    const Tensor value = split_heads(values.narrow(-1, l * dim, dim), num_heads);
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    const Tensor weights = torch::softmax(
        (q.matmul(key.transpose(-1, -2)) * scale).masked_fill(impossible.unsqueeze(1).unsqueeze(1), kMinusInfinity),
        -1);
    h = layer_norm(layer + "BN_att", h + linear(layer + "W0_att", merge_heads(weights.matmul(value))), kNormEpsilon);
    const Tensor change = linear(layer + "W2_MLP", torch::relu(linear(layer + "W1_MLP", h)));
    h = layer_norm(layer + "BN_MLP", h + change, kNormEpsilon);
  }
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  const Tensor scores =
      linear("decoder.Wq_final", h).matmul(keys.narrow(-1, kDecoderLayers * dim, dim).transpose(-1, -2)).squeeze(1) *
      scale;
  return torch::log_softmax((torch::tanh(scores) * config_.tanh_clip).masked_fill(impossible, kMinusInfinity), -1);
}

Tensor Invit::step_log_probs(const std::vector<Tensor>& encoded, const Steps& steps) {
  const Tensor& points = encoded[0];
  const Views views = views_of(points, steps);
  const Tensor actions = encode_actions(views);
  std::vector<Tensor> states;
  for (std::size_t i = 0; i < config_.state_views.size(); ++i) states.push_back(encode_state(views, i));
  const Tensor log_probs = decode(actions, states, views.impossible_action);  // (V, k)
  const Tensor nodes = views.nodes.narrow(1, 0, log_probs.size(1));
  return torch::full({log_probs.size(0), points.size(1)}, kMinusInfinity, points.options())
      .scatter(1, nodes, log_probs)
      .view(steps.visited.sizes());
}

}  // namespace puretour::nn
