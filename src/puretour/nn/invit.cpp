// SPDX-License-Identifier: MIT
#include "puretour/nn/invit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "puretour/infer/invit_views.h"
#include "puretour/nn/kernel_functions.h"

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

// The tokens of one encoder for all views, one view after the other. A token is a point of some kind: columns 3 kind to
// 3 kind + 2 of its row hold x, y and 1, so that one product embeds all kinds.
struct Invit::Tokens {
  std::int64_t num_kinds = 0;
  std::vector<float> rows;
  std::vector<std::size_t> begin = {0};         // of each view; and the end
  std::vector<std::size_t> needed_begin = {0};  // the same, with only the tokens that the decoder reads: the first ones

  void add(FloatPoint place, std::int64_t kind) {
    const std::size_t first = rows.size() + static_cast<std::size_t>(3 * kind);
    rows.resize(rows.size() + static_cast<std::size_t>(3 * num_kinds));
    rows[first] = place.x;
    rows[first + 1] = place.y;
    rows[first + 2] = 1;
  }
  void end_view(std::size_t num_needed) {
    begin.push_back(rows.size() / static_cast<std::size_t>(3 * num_kinds));
    needed_begin.push_back(needed_begin.back() + num_needed);
  }
  [[nodiscard]] std::size_t num_views() const { return begin.size() - 1; }
  [[nodiscard]] bool all_needed() const { return begin.back() == needed_begin.back(); }
};

struct Invit::ViewBatch {
  std::vector<Tokens> tokens;             // of the action encoder and the state encoders
  std::vector<std::size_t> option_begin;  // of the actions of each view; and the end
  std::vector<std::int32_t> chosen;       // per view: number of the action, or -1
  std::vector<float> coefficients;        // per view, of taught steps
  std::int64_t num_skipped = 0;           // taught steps that have no view, as their action is none of it

  [[nodiscard]] std::size_t num_actions(std::size_t view) const { return option_begin[view + 1] - option_begin[view]; }
};

Invit::ViewBatch Invit::views_of_tours(const Tensor& points, const Tensor& tours, const TaughtSteps* taught) const {
  enum Kind : std::int64_t { kNeighbour, kLast, kFirst, kAggregate };
  ViewBatch views;
  views.option_begin = {0};
  views.tokens.resize(config_.state_views.size() + 1);
  views.tokens[0].num_kinds = 2;
  for (std::size_t i = 1; i < views.tokens.size(); ++i)
    views.tokens[i].num_kinds = config_.aggregate_whole_graph ? 4 : 3;
  const Tensor coordinates = points.contiguous();
  const Tensor orders = tours.contiguous();
  const auto* coordinate = coordinates.data_ptr<float>();
  const auto* order = orders.data_ptr<std::int64_t>();
  const auto num_nodes = static_cast<std::size_t>(points.size(1));
  std::vector<Point> instance(num_nodes);
  std::vector<FloatPoint> places;
  const auto* range = taught == nullptr ? nullptr : taught->ranges.data_ptr<std::int64_t>();
  const auto* coefficient = taught == nullptr ? nullptr : taught->coefficients.data_ptr<float>();
  for (std::int64_t b = 0; b < points.size(0); ++b) {
    for (Point& p : instance) {
      p = {static_cast<double>(coordinate[0]), static_cast<double>(coordinate[1])};
      coordinate += 2;
    }
    const RemainingNeighbours neighbours(instance);
    for (std::int64_t g = 0; g < tours.size(1); ++g, order += num_nodes) {
      InvitWalk walk(config_, instance, neighbours);
      const auto end = taught == nullptr ? num_nodes : static_cast<std::size_t>(range[1]);
      for (std::size_t t = 1; t < end; ++t) {
        walk.visit(static_cast<NodeId>(order[t - 1]));
        if (taught != nullptr && t < static_cast<std::size_t>(range[0])) continue;
        const InvitView view = walk.look();
        const std::size_t k = view.num_actions;
        const auto actions = view.actions();
        const auto found = std::find(actions.begin(), actions.end(), static_cast<NodeId>(order[t]));
        if (taught != nullptr && found == actions.end()) {
          ++views.num_skipped;
          continue;
        }
        views.chosen.push_back(found == actions.end() ? -1 : static_cast<std::int32_t>(found - actions.begin()));
        if (taught != nullptr) views.coefficients.push_back(coefficient[t]);
        place_action_tokens(view, places);
        for (std::size_t j = 0; j <= k; ++j) views.tokens[0].add(places[j], j < k ? kNeighbour : kLast);
        views.tokens[0].end_view(k + 1);
        for (std::size_t i = 0; i < config_.state_views.size(); ++i) {
          Tokens& tokens = views.tokens[i + 1];
          const bool aggregate = config_.aggregate_whole_graph;
          place_state_tokens(view, std::min(config_.state_views[i], view.nearest.size()), aggregate, places);
          for (std::size_t j = 0; j < places.size(); ++j) {
            const bool is_aggregate = aggregate && j + 1 == places.size();
            tokens.add(places[j], j == k ? kLast : j == k + 1 ? kFirst : is_aggregate ? kAggregate : kNeighbour);
          }
          tokens.end_view(k + 2);
        }
        views.option_begin.push_back(views.option_begin.back() + k);
      }
      if (taught != nullptr) {
        range += 2;
        coefficient += num_nodes;
      }
    }
  }
  return views;
}

Tensor Invit::embed(const std::string& prefix, const std::vector<std::string>& kinds, const Tokens& tokens) const {
  std::vector<Tensor> parts;
  for (const std::string& kind : kinds) {
    parts.push_back(weight(prefix + kind + ".weight"));             // (d, 2)
    parts.push_back(weight(prefix + kind + ".bias").unsqueeze(1));  // (d, 1)
  }
  const Tensor rows = torch::empty({static_cast<std::int64_t>(tokens.begin.back()), 3 * tokens.num_kinds});
  std::copy(tokens.rows.begin(), tokens.rows.end(), rows.data_ptr<float>());
  return linear(prefix + "embedding", rows, torch::cat(parts, 1));
}

Tensor Invit::encode_rows(const std::string& prefix, std::size_t num_layers, Tensor h, const Tokens& tokens) const {
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  // The scale of this attention is that of the whole width, not of a head.
  const kernels::AttentionShape shape{config_.num_heads, config_.embedding_dim / config_.num_heads,
                                      static_cast<float>(1 / std::sqrt(static_cast<double>(dim)))};
  auto all = c10::make_intrusive<AttentionPlan>();
  auto needed = c10::make_intrusive<AttentionPlan>();
  std::vector<std::int64_t> needed_rows;
  for (std::size_t v = 0; v < tokens.num_views(); ++v) {
    const std::size_t count = tokens.begin[v + 1] - tokens.begin[v];
    const std::size_t num_needed = tokens.needed_begin[v + 1] - tokens.needed_begin[v];
    all->groups.push_back({tokens.begin[v], count, tokens.begin[v], count});
    needed->groups.push_back({tokens.needed_begin[v], num_needed, tokens.begin[v], count});
    for (std::size_t j = 0; j < num_needed; ++j) needed_rows.push_back(static_cast<std::int64_t>(tokens.begin[v] + j));
  }
  for (std::size_t l = 0; l < num_layers; ++l) {
    const std::string attention = fmt::format("{}encoder.MHA_layers.{}.", prefix, l);
    const auto part = [&](const char* name) { return fmt::format("{}encoder.{}.{}", prefix, name, l); };
    const Tensor query = weight(attention + "w_qs.weight");
    const Tensor key = weight(attention + "w_ks.weight");
    const Tensor value = weight(attention + "w_vs.weight");
    Tensor attended;  // with the residual
    if (l + 1 == num_layers && !tokens.all_needed()) {
      const std::vector<Tensor> key_value = linear(attention + "key, value", h, torch::cat({key, value})).split(dim, 1);
      h = kernel_take_rows(h, needed_rows);
      attended = h + linear(attention + "fc", kernel_attention(linear(attention + "w_qs", h), key_value[0],
                                                               key_value[1], needed, shape, precision()));
    } else {
      attended = kernel_attention_block(h, torch::cat({query, key, value}), weight(attention + "fc.weight"), {}, h, all,
                                        shape, packing(attention));
    }
    const auto norm = [&](const std::string& name, const Tensor& a, const Tensor& b, double epsilon) {
      return kernel_add_layer_norm(a, b, weight(name + ".weight"), weight(name + ".bias"), epsilon);
    };
    const Tensor u = norm(attention + "layer_norm", attended, {}, kAttentionNormEpsilon);
    const Tensor h1 = norm(part("norm1_layers"), h, u, kNormEpsilon);
    const Tensor fed =
        add_feed_forward(h1, part("linear1_layers"), part("linear2_layers"), kernels::Activation::kRelu, h1);
    h = norm(part("norm2_layers"), fed, {}, kNormEpsilon);
  }
  return h;
}

// Log-probabilities of what was chosen: (V).
Tensor Invit::decode_rows(const Tensor& actions, const std::vector<Tensor>& states, const ViewBatch& views,
                          std::vector<std::uint8_t>* is_best) const {
  const auto dim = static_cast<std::int64_t>(config_.embedding_dim);
  const std::size_t num_views = views.chosen.size();
  // Rows of the options, of the last and of the first node among the needed ones of an encoder.
  struct Numbers {
    std::vector<std::int64_t> options;
    std::vector<std::int64_t> last;
    std::vector<std::int64_t> first;
  };
  const auto numbers_of = [&](const Tokens& tokens) {
    Numbers numbers;
    for (std::size_t v = 0; v < num_views; ++v) {
      const auto begin = static_cast<std::int64_t>(tokens.needed_begin[v]);
      const auto k = static_cast<std::int64_t>(views.num_actions(v));
      for (std::int64_t j = 0; j < k; ++j) numbers.options.push_back(begin + j);
      numbers.last.push_back(begin + k);
      numbers.first.push_back(begin + k + 1);  // of state views only
    }
    return numbers;
  };
  const Numbers of_actions = numbers_of(views.tokens[0]);
  std::vector<Tensor> options = {kernel_take_rows(actions, of_actions.options)};
  std::vector<Tensor> query = {kernel_take_rows(actions, of_actions.last)};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Numbers of_state = numbers_of(views.tokens[i + 1]);
    options.push_back(kernel_take_rows(states[i], of_state.options));
    query.push_back(kernel_take_rows(states[i], of_state.last));
    query.push_back(kernel_take_rows(states[i], of_state.first));
  }
  auto plan = c10::make_intrusive<AttentionPlan>();
  auto choices = c10::make_intrusive<PointerPlan>();
  choices->chosen = views.chosen;
  if (is_best != nullptr) choices->is_best.resize(num_views);
  for (std::size_t v = 0; v < num_views; ++v) {
    plan->groups.push_back({v, 1, views.option_begin[v], views.num_actions(v)});
    choices->groups.push_back({plan->groups.back(), choices->chosen.data() + v});
    if (is_best != nullptr) choices->groups.back().is_best = choices->is_best.data() + v;
  }
  const Tensor option = torch::cat(options, 1);  // (R, d (S + 1))
  // Those of all layers; the last keys are for the choice.
  const std::vector<Tensor> keys = linear("WK_att_decoder", option).split(dim, 1);
  const std::vector<Tensor> values =
      linear("values of the decoder", option, weight("WV_att_decoder.weight").narrow(0, 0, kDecoderLayers * dim),
             weight("WV_att_decoder.bias").narrow(0, 0, kDecoderLayers * dim))
          .split(dim, 1);
  Tensor h = linear("query_mlp", torch::cat(query, 1));  // (V, d)
  const std::size_t head_dim = config_.embedding_dim / config_.num_heads;
  const kernels::AttentionShape shape{config_.num_heads, head_dim,
                                      static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
  for (std::size_t l = 0; l < static_cast<std::size_t>(kDecoderLayers); ++l) {
    const std::string layer = fmt::format("decoder.decoder_layers.{}.", l);
    const Tensor attended = kernel_attention(linear(layer + "Wq_att", h), keys[l], values[l], plan, shape, precision());
    h = kernel_add_layer_norm(h, linear(layer + "W0_att", attended), weight(layer + "BN_att.weight"),
                              weight(layer + "BN_att.bias"), kNormEpsilon);
    const Tensor fed = add_feed_forward(h, layer + "W1_MLP", layer + "W2_MLP", kernels::Activation::kRelu, h);
    h = kernel_add_layer_norm(fed, {}, weight(layer + "BN_MLP.weight"), weight(layer + "BN_MLP.bias"), kNormEpsilon);
  }
  const Tensor log_probs =
      kernel_pointer(linear("decoder.Wq_final", h), keys[kDecoderLayers], choices,
                     {config_.embedding_dim, static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
                      static_cast<float>(config_.tanh_clip)});
  if (is_best != nullptr) *is_best = choices->is_best;
  return log_probs;
}

Tensor Invit::log_probs_of(const ViewBatch& views, std::vector<std::uint8_t>* is_best) const {
  const Tensor actions =
      encode_rows("action_encoder.", config_.num_action_layers,
                  embed("action_encoder.", {"input_emb", "input_emb_for_last"}, views.tokens[0]), views.tokens[0]);
  std::vector<Tensor> states;
  for (std::size_t i = 0; i < config_.state_views.size(); ++i) {
    const std::string prefix = fmt::format("state_encoders.{}.", i);
    std::vector<std::string> kinds = {"input_emb", "input_emb_for_last", "input_emb_for_first"};
    if (config_.aggregate_whole_graph) kinds.emplace_back("agg_emb");
    const Tokens& tokens = views.tokens[i + 1];
    states.push_back(encode_rows(prefix, config_.num_state_layers, embed(prefix, kinds, tokens), tokens));
  }
  return decode_rows(actions, states, views, is_best);
}

Tensor Invit::score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const Tensor& points = encoded[0];
  if (!kernels_support(points) || tours.size(2) == 1) return Network::score_encoded(encoded, tours);
  const Tensor log_probs = log_probs_of(views_of_tours(points, tours, nullptr), nullptr)
                               .view({tours.size(0), tours.size(1), tours.size(2) - 1});
  return torch::constant_pad_nd(log_probs, {1, 0}, 0);
}

TaughtScore Invit::taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) {
  const Tensor& points = encoded[0];
  if (!kernels_support(points)) return Network::taught_score(encoded, steps);
  const TaughtSteps given{steps.tours, steps.ranges.contiguous(), steps.coefficients.detach().contiguous()};
  const ViewBatch views = views_of_tours(points, given.tours, &given);
  TaughtScore score;
  score.skipped = views.num_skipped;
  score.decisions = static_cast<std::int64_t>(views.chosen.size());
  if (score.decisions == 0) {
    score.sum = torch::zeros({}, points.options());
    return score;
  }
  std::vector<std::uint8_t> is_best;
  const Tensor log_probs = log_probs_of(views, &is_best);
  score.sum =
      (log_probs * torch::tensor(at::ArrayRef<float>(views.coefficients.data(), views.coefficients.size()))).sum();
  score.log_prob = log_probs.detach().sum(torch::kFloat64).item<double>();
  score.correct = std::count(is_best.begin(), is_best.end(), 1);
  return score;
}

}  // namespace puretour::nn
