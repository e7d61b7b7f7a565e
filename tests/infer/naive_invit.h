// INViT once more, as plain as the formulas, with a switch for every mistake whose result is known: double precision,
// all unvisited nodes sorted at every step. An oracle for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "infer/naive_layers.h"
#include "puretour/geometry/point.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

enum class InvitMistake {
  kNone,
  kEncoderScaleOfOneHead,  // sqrt(16) instead of sqrt(128)
  kNoOuterResidualNorm,    // neither the second residual nor its normalisation
  kNoOuterResidual,        // the normalisation only
  kFinalScaleOfOneHead,    // sqrt(16) instead of sqrt(128)
  kNoClamp,
  kBoxWithFirst,
  kBoxWithoutLast,
  kScaledPerAxis,
  kCentred,
  kFirstBeforeLast,     // in the query
  kInterleavedQueries,  // every eighth channel of the queries makes a head, but not of keys and values
  kTanhBeforeDivision,
  kInnerEpsilon,  // 1e-5 instead of 1e-6
};

class NaiveInvit {
 public:
  explicit NaiveInvit(const Checkpoint& checkpoint, InvitMistake mistake = InvitMistake::kNone)
      : config_(std::get<InvitConfig>(checkpoint.config)), weights_(checkpoint.weights), mistake_(mistake) {
    action_ = Encoder(weights_, "action_encoder.", config_.num_action_layers);
    for (std::size_t i = 0; i < config_.state_views.size(); ++i) {
      states_.emplace_back(weights_, fmt::format("state_encoders.{}.", i), config_.num_state_layers);
    }
    for (std::size_t l = 0; l < 2; ++l) {
      const std::string layer = fmt::format("decoder.decoder_layers.{}.", l);
      decoder_.push_back({linear(layer + "Wq_att"), linear(layer + "W0_att"), linear(layer + "W1_MLP"),
                          linear(layer + "W2_MLP"), layer});
    }
    final_query_ = linear("decoder.Wq_final");
    keys_ = linear("WK_att_decoder");
    values_ = linear("WV_att_decoder");
    query_ = linear("query_mlp");
  }

  /// What one decision looks at and gives.
  struct Decision {
    std::vector<NodeId> nearest;     // unvisited nodes, the nearest first
    std::vector<Point> first_token;  // the first node in each state view, before it is clamped
    Vector probabilities;            // of the first nodes of `nearest`
  };

  [[nodiscard]] Decision decide(const std::vector<Point>& points, const std::vector<bool>& visited, NodeId first,
                                NodeId last) const {
    Decision decision;
    const Point here = points[static_cast<std::size_t>(last)];
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (!visited[j]) decision.nearest.push_back(static_cast<NodeId>(j));
    }
    const auto distance = [&](NodeId j) { return squared_distance(points[static_cast<std::size_t>(j)], here); };
    std::stable_sort(decision.nearest.begin(), decision.nearest.end(),
                     [&](NodeId a, NodeId b) { return distance(a) < distance(b); });
    const std::size_t count = std::min(config_.action_view, decision.nearest.size());

    // Tokens: neighbours, last, and in state views first.
    const auto view = [&](std::size_t size, bool with_first) {
      std::vector<Point> tokens;
      for (std::size_t i = 0; i < std::min(size, decision.nearest.size()); ++i) {
        tokens.push_back(points[static_cast<std::size_t>(decision.nearest[i])]);
      }
      const std::size_t num_neighbours = tokens.size();
      tokens.push_back(here);
      if (with_first) tokens.push_back(points[static_cast<std::size_t>(first)]);
      return normalised(tokens, num_neighbours);
    };
    const std::vector<Point> action_view = clamped(view(config_.action_view, false));
    const Rows act = encoded(action_, action_view, action_view.size() - 1, action_view.size());
    Vector query = act[count];
    Rows options(act.begin(), act.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const std::vector<Point> tokens = view(config_.state_views[i], true);
      decision.first_token.push_back(tokens.back());
      const std::size_t last_token = tokens.size() - 2;
      const Rows state = encoded(states_[i], clamped(tokens), last_token, last_token + 1);
      std::array<std::size_t, 2> order = {last_token, last_token + 1};
      if (is(InvitMistake::kFirstBeforeLast)) std::swap(order[0], order[1]);
      for (const std::size_t token : order) query.insert(query.end(), state[token].begin(), state[token].end());
      for (std::size_t j = 0; j < count; ++j) {
        options[j].insert(options[j].end(), state[j].begin(), state[j].end());
      }
    }
    decision.probabilities = naive_softmax(scores(query, options));
    return decision;
  }

  /// A greedy tour from `start`.
  [[nodiscard]] NaiveRollout roll_out(const std::vector<Point>& points, NodeId start) const {
    NaiveRollout rollout;
    rollout.order.push_back(start);
    std::vector<bool> visited(points.size());
    visited[static_cast<std::size_t>(start)] = true;
    while (rollout.order.size() < points.size()) {
      const Decision decision = decide(points, visited, start, rollout.order.back());
      const std::size_t best = greedy_choice(decision.probabilities, rollout);
      rollout.order.push_back(decision.nearest[best]);
      rollout.log_probs.push_back(std::log(decision.probabilities[best]));
      visited[static_cast<std::size_t>(decision.nearest[best])] = true;
    }
    return rollout;
  }

 private:
  struct Layer {
    NaiveLinear query;
    NaiveLinear key;
    NaiveLinear value;
    NaiveLinear out;
    NaiveLinear up;
    NaiveLinear down;
    std::string inner_norm;
    std::string norm1;
    std::string norm2;
  };
  struct Encoder {
    Encoder() = default;
    Encoder(const TensorMap& weights, const std::string& prefix, std::size_t num_layers)
        : embed(weights, prefix + "input_emb"), embed_last(weights, prefix + "input_emb_for_last") {
      if (weights.contains(prefix + "input_emb_for_first.weight")) {
        embed_first = NaiveLinear(weights, prefix + "input_emb_for_first");
      }
      for (std::size_t l = 0; l < num_layers; ++l) {
        const std::string attention = fmt::format("{}encoder.MHA_layers.{}.", prefix, l);
        const auto numbered = [&](const char* name) { return fmt::format("{}encoder.{}.{}", prefix, name, l); };
        layers.push_back({NaiveLinear(weights, attention + "w_qs"), NaiveLinear(weights, attention + "w_ks"),
                          NaiveLinear(weights, attention + "w_vs"), NaiveLinear(weights, attention + "fc"),
                          NaiveLinear(weights, numbered("linear1_layers")),
                          NaiveLinear(weights, numbered("linear2_layers")), attention + "layer_norm",
                          numbered("norm1_layers"), numbered("norm2_layers")});
      }
    }
    NaiveLinear embed;
    NaiveLinear embed_last;
    NaiveLinear embed_first;
    std::vector<Layer> layers;
  };
  struct DecoderLayer {
    NaiveLinear query;
    NaiveLinear out;
    NaiveLinear up;
    NaiveLinear down;
    std::string name;
  };

  [[nodiscard]] bool is(InvitMistake mistake) const { return mistake_ == mistake; }
  [[nodiscard]] NaiveLinear linear(const std::string& name) const { return {weights_, name}; }
  [[nodiscard]] double width() const { return static_cast<double>(config_.embedding_dim); }
  [[nodiscard]] double head_width() const { return width() / static_cast<double>(config_.num_heads); }

  // The box of the neighbours and `last`, which follows them, becomes the unit square's lower left part.
  [[nodiscard]] std::vector<Point> normalised(std::vector<Point> tokens, std::size_t num_neighbours) const {
    std::size_t in_box = num_neighbours + 1;
    if (is(InvitMistake::kBoxWithFirst)) in_box = tokens.size();
    if (is(InvitMistake::kBoxWithoutLast)) in_box = num_neighbours;
    Point low = tokens[0];
    Point high = tokens[0];
    for (std::size_t i = 0; i < in_box; ++i) {
      low = {std::min(low.x, tokens[i].x), std::min(low.y, tokens[i].y)};
      high = {std::max(high.x, tokens[i].x), std::max(high.y, tokens[i].y)};
    }
    Point range = {high.x - low.x, high.y - low.y};
    if (!is(InvitMistake::kScaledPerAxis)) range.x = range.y = std::max(range.x, range.y);
    if (range.x == 0) range.x = 1;
    if (range.y == 0) range.y = 1;
    for (Point& p : tokens) {
      p = {(p.x - low.x) / range.x, (p.y - low.y) / range.y};
      if (is(InvitMistake::kCentred)) {
        p.x += 0.5 - (high.x - low.x) / range.x / 2;
        p.y += 0.5 - (high.y - low.y) / range.y / 2;
      }
    }
    return tokens;
  }

  [[nodiscard]] std::vector<Point> clamped(std::vector<Point> tokens) const {
    if (is(InvitMistake::kNoClamp)) return tokens;
    for (Point& p : tokens) p = {std::clamp(p.x, 0.0, 1.0), std::clamp(p.y, 0.0, 1.0)};
    return tokens;
  }

  [[nodiscard]] Vector layer_norm(const std::string& name, Vector row, double epsilon) const {
    double mean = 0;
    for (const double v : row) mean += v / static_cast<double>(row.size());
    double variance = 0;
    for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
    const auto& scale = weights_.at(name + ".weight").values;
    const auto& shift = weights_.at(name + ".bias").values;
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = (row[c] - mean) / std::sqrt(variance + epsilon) * scale[c] + shift[c];
    }
    return row;
  }

  [[nodiscard]] static Vector rectified(Vector row) {
    for (double& v : row) v = std::max(v, 0.0);
    return row;
  }

  [[nodiscard]] Rows encoded(const Encoder& encoder, const std::vector<Point>& tokens, std::size_t last,
                             std::size_t first) const {
    Rows h;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const NaiveLinear& embed = i == first ? encoder.embed_first : i == last ? encoder.embed_last : encoder.embed;
      h.push_back(embed({tokens[i].x, tokens[i].y}));
    }
    const double scale = 1 / std::sqrt(is(InvitMistake::kEncoderScaleOfOneHead) ? head_width() : width());
    for (const Layer& layer : encoder.layers) {
      const Rows attended = layer.out(naive_attention(layer.query(h), layer.key(h), layer.value(h), config_.num_heads,
                                                      scale, is(InvitMistake::kInterleavedQueries)));
      for (std::size_t i = 0; i < h.size(); ++i) {
        const Vector u =
            layer_norm(layer.inner_norm, added(attended[i], h[i]), is(InvitMistake::kInnerEpsilon) ? 1e-5 : 1e-6);
        Vector h1 = is(InvitMistake::kNoOuterResidual) ? u : added(h[i], u);
        h1 = is(InvitMistake::kNoOuterResidualNorm) ? u : layer_norm(layer.norm1, h1, 1e-5);
        h[i] = layer_norm(layer.norm2, added(h1, layer.down(rectified(layer.up(h1)))), 1e-5);
      }
    }
    return h;
  }

  [[nodiscard]] Vector scores(const Vector& query, const Rows& options) const {
    const std::size_t dim = config_.embedding_dim;
    const Rows keys = keys_(options);
    const Rows values = values_(options);
    const auto part = [&](const Rows& rows, std::size_t l) {
      Rows result;
      for (const Vector& row : rows) {
        result.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(l * dim),
                            row.begin() + static_cast<std::ptrdiff_t>((l + 1) * dim));
      }
      return result;
    };
    Vector h = query_(query);
    for (std::size_t l = 0; l < decoder_.size(); ++l) {
      const DecoderLayer& layer = decoder_[l];
      const Rows attended = naive_attention({layer.query(h)}, part(keys, l), part(values, l), config_.num_heads,
                                            1 / std::sqrt(head_width()));
      h = layer_norm(layer.name + "BN_att", added(h, layer.out(attended[0])), 1e-5);
      h = layer_norm(layer.name + "BN_MLP", added(h, layer.down(rectified(layer.up(h)))), 1e-5);
    }
    const Vector final_query = final_query_(h);
    const double divisor = std::sqrt(is(InvitMistake::kFinalScaleOfOneHead) ? head_width() : width());
    Vector result;
    for (const Vector& key : part(keys, 2)) {
      const double score = dot(final_query, key);
      result.push_back(is(InvitMistake::kTanhBeforeDivision) ? config_.tanh_clip * std::tanh(score) / divisor
                                                             : config_.tanh_clip * std::tanh(score / divisor));
    }
    return result;
  }

  InvitConfig config_;
  const TensorMap& weights_;
  InvitMistake mistake_;
  Encoder action_;
  std::vector<Encoder> states_;
  std::vector<DecoderLayer> decoder_;
  NaiveLinear final_query_;
  NaiveLinear keys_;
  NaiveLinear values_;
  NaiveLinear query_;
};

}  // namespace puretour::test
