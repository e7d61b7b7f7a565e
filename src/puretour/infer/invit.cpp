// SPDX-License-Identifier: MIT
#include "puretour/infer/invit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/infer/choice.h"
#include "puretour/infer/invit_views.h"
#include "puretour/kernels/attention.h"
#include "puretour/kernels/rows.h"

namespace puretour {
namespace {

using kernels::Linear;

constexpr std::size_t kDecoderLayers = 2;
// The attention of the encoders has a layer normalisation of its own with this epsilon; all others have the usual one.
constexpr float kAttentionNormEpsilon = 1e-6F;
constexpr float kNormEpsilon = 1e-5F;

// Two layers with the same inputs as one, outputs side by side.
Linear side_by_side(const WeightReader& reader, const std::string& first, const std::string& second, std::size_t dim) {
  const auto a = reader.values(first + ".weight");
  const auto b = reader.values(second + ".weight");
  std::vector<float> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  return kernels::make_linear(both, {}, 2 * dim, dim, reader.precision());
}

std::span<const float> as_values(const std::vector<FloatPoint>& points) {
  return {&points[0].x, 2 * points.size()};
}

}  // namespace

Invit::Invit(const Checkpoint& checkpoint, kernels::Precision precision)
    : config_(std::get<InvitConfig>(checkpoint.config)), model_config_(checkpoint.config) {
  const WeightReader reader(checkpoint.weights, precision);
  const std::size_t dim = config_.embedding_dim;
  const auto read_layers = [&](const std::string& prefix, std::size_t count) {
    std::vector<Layer> layers;
    for (std::size_t l = 0; l < count; ++l) {
      const std::string attention = fmt::format("{}encoder.MHA_layers.{}.", prefix, l);
      const auto part = [&](const char* name) { return fmt::format("{}encoder.{}.{}", prefix, name, l); };
      Layer layer;
      layer.query = reader.linear(attention + "w_qs");
      layer.key_value = side_by_side(reader, attention + "w_ks", attention + "w_vs", dim);
      layer.attention_out = reader.linear(attention + "fc");
      layer.attention_norm = reader.layer_norm(attention + "layer_norm", kAttentionNormEpsilon);
      layer.norm1 = reader.layer_norm(part("norm1_layers"), kNormEpsilon);
      layer.feed_forward = {reader.linear(part("linear1_layers")), reader.linear(part("linear2_layers")),
                            kernels::Activation::kRelu};
      layer.norm2 = reader.layer_norm(part("norm2_layers"), kNormEpsilon);
      layers.push_back(std::move(layer));
    }
    return layers;
  };
  action_encoder_.embed_neighbour = reader.linear("action_encoder.input_emb");
  action_encoder_.embed_last = reader.linear("action_encoder.input_emb_for_last");
  action_encoder_.layers = read_layers("action_encoder.", config_.num_action_layers);
  for (std::size_t i = 0; i < config_.state_views.size(); ++i) {
    const std::string prefix = fmt::format("state_encoders.{}.", i);
    ViewEncoder encoder;
    encoder.embed_neighbour = reader.linear(prefix + "input_emb");
    encoder.embed_last = reader.linear(prefix + "input_emb_for_last");
    encoder.embed_first = reader.linear(prefix + "input_emb_for_first");
    if (config_.aggregate_whole_graph) encoder.embed_aggregate = reader.linear(prefix + "agg_emb");
    encoder.layers = read_layers(prefix, config_.num_state_layers);
    state_encoders_.push_back(std::move(encoder));
  }
  query_ = reader.linear("query_mlp");
  keys_ = reader.linear("WK_att_decoder");
  const std::size_t inputs = dim * (config_.state_views.size() + 1);
  const std::size_t outputs = kDecoderLayers * dim;
  values_ = kernels::make_linear(reader.values("WV_att_decoder.weight").first(outputs * inputs),
                                 reader.values("WV_att_decoder.bias").first(outputs), outputs, inputs, precision);
  for (std::size_t l = 0; l < kDecoderLayers; ++l) {
    const std::string prefix = fmt::format("decoder.decoder_layers.{}.", l);
    DecoderLayer layer;
    layer.query = reader.linear(prefix + "Wq_att");
    layer.attention_out = reader.linear(prefix + "W0_att");
    layer.attention_norm = reader.layer_norm(prefix + "BN_att", kNormEpsilon);
    layer.feed_forward = {reader.linear(prefix + "W1_MLP"), reader.linear(prefix + "W2_MLP"),
                          kernels::Activation::kRelu};
    layer.feed_forward_norm = reader.layer_norm(prefix + "BN_MLP", kNormEpsilon);
    decoder_layers_.push_back(std::move(layer));
  }
  final_query_ = reader.linear("decoder.Wq_final");
}

// The computation of one step; keeps its memory from step to step.
class InvitStep {
 public:
  explicit InvitStep(const Invit& model) : model_(model), dim_(model.config_.embedding_dim) {}

  /// Scores of the actions.
  std::span<const float> scores(const InvitView& view, const StageObserver& observer) {
    const std::size_t k = view.num_actions;
    const std::size_t num_states = model_.state_encoders_.size();
    // Rows of the decoder's input: for every action its embeddings in all views; and the query's own.
    const std::size_t option_dim = dim_ * (num_states + 1);
    options_.resize(k * option_dim);
    query_input_.resize(dim_ * (2 * num_states + 1));
    const auto take_options = [&](std::size_t group) {
      for (std::size_t j = 0; j < k; ++j) {
        std::copy_n(token(j), dim_, options_.begin() + static_cast<std::ptrdiff_t>(j * option_dim + group * dim_));
      }
    };
    const auto take_query = [&](std::size_t row, std::size_t group) {
      std::copy_n(token(row), dim_, query_input_.begin() + static_cast<std::ptrdiff_t>(group * dim_));
    };

    place_action_tokens(view, places_);
    report(observer, "action tokens", as_values(places_), 2);
    embed_action_tokens(k);
    encode(model_.action_encoder_.layers, k + 1, k + 1, observer, "action");
    take_options(0);
    take_query(k, 0);
    for (std::size_t i = 0; i < num_states; ++i) {
      const std::size_t num_neighbours = std::min(model_.config_.state_views[i], view.nearest.size());
      place_state_tokens(view, num_neighbours, model_.config_.aggregate_whole_graph, places_);
      const std::string name = observer ? fmt::format("state {}", i) : std::string();
      report(observer, name + " tokens", as_values(places_), 2);
      embed_state_tokens(model_.state_encoders_[i], k);
      encode(model_.state_encoders_[i].layers, places_.size(), k + 2, observer, name);
      take_options(i + 1);
      take_query(k, 2 * i + 1);
      take_query(k + 1, 2 * i + 2);
    }
    return decode(k, observer);
  }

 private:
  static void report(const StageObserver& observer, std::string_view stage, std::span<const float> values,
                     std::size_t columns) {
    if (observer) observer(stage, values, columns);
  }

  [[nodiscard]] const float* token(std::size_t row) const { return tokens_.data() + row * dim_; }

  void embed(const Linear& linear, std::size_t first, std::size_t count) {
    linear.apply(&places_[0].x + 2 * first, count, tokens_.data() + first * dim_);
  }

  void embed_action_tokens(std::size_t k) {
    tokens_.resize(places_.size() * dim_);
    embed(model_.action_encoder_.embed_neighbour, 0, k);
    embed(model_.action_encoder_.embed_last, k, 1);
  }

  void embed_state_tokens(const Invit::ViewEncoder& encoder, std::size_t k) {
    tokens_.resize(places_.size() * dim_);
    const bool aggregate = model_.config_.aggregate_whole_graph;
    const std::size_t num_others = places_.size() - (k + 2) - (aggregate ? 1 : 0);
    embed(encoder.embed_neighbour, 0, k);
    embed(encoder.embed_last, k, 1);
    embed(encoder.embed_first, k + 1, 1);
    embed(encoder.embed_neighbour, k + 2, num_others);
    if (aggregate) embed(encoder.embed_aggregate, places_.size() - 1, 1);
  }

  // Runs the layers over tokens_; only the first num_needed of the result are right.
  void encode(const std::vector<Invit::Layer>& layers, std::size_t num_tokens, std::size_t num_needed,
              const StageObserver& observer, const std::string& name) {
    // The scale of this attention is that of the whole width, not of a head.
    const std::size_t head_dim = dim_ / model_.config_.num_heads;
    const kernels::AttentionShape shape{model_.config_.num_heads, head_dim, 1 / std::sqrt(static_cast<float>(dim_))};
    key_value_.resize(num_tokens * 2 * dim_);
    queries_.resize(num_tokens * dim_);
    attended_.resize(num_tokens * dim_);
    change_.resize(num_tokens * dim_);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Invit::Layer& layer = layers[l];
      const std::size_t rows = l + 1 == layers.size() ? num_needed : num_tokens;
      layer.query.apply(tokens_.data(), rows, queries_.data());
      layer.key_value.apply(tokens_.data(), num_tokens, key_value_.data());
      kernels::attention({queries_.data(), rows, dim_}, {key_value_.data(), num_tokens, 2 * dim_},
                         {key_value_.data() + dim_, num_tokens, 2 * dim_}, shape, attended_.data());
      layer.attention_out.apply(attended_.data(), rows, change_.data());
      // Two residuals, each with its normalisation.
      kernels::add(change_.data(), tokens_.data(), rows * dim_);
      layer.attention_norm.apply(change_.data(), rows);
      if (observer) observer(fmt::format("{} layer {} u", name, l), std::span(change_).first(rows * dim_), dim_);
      kernels::add(tokens_.data(), change_.data(), rows * dim_);
      layer.norm1.apply(tokens_.data(), rows);
      if (observer) observer(fmt::format("{} layer {} h1", name, l), std::span(tokens_).first(rows * dim_), dim_);
      layer.feed_forward.apply(tokens_.data(), rows, change_.data());
      kernels::add(tokens_.data(), change_.data(), rows * dim_);
      layer.norm2.apply(tokens_.data(), rows);
    }
    if (observer) observer(name + " out", std::span(tokens_).first(num_needed * dim_), dim_);
  }

  std::span<const float> decode(std::size_t k, const StageObserver& observer) {
    const std::size_t head_dim = dim_ / model_.config_.num_heads;
    const kernels::AttentionShape shape{model_.config_.num_heads, head_dim,
                                        1 / std::sqrt(static_cast<float>(head_dim))};
    const std::size_t key_stride = model_.keys_.outputs();
    const std::size_t value_stride = model_.values_.outputs();
    keys_.resize(k * key_stride);
    values_.resize(k * value_stride);
    model_.keys_.apply(options_.data(), k, keys_.data());
    model_.values_.apply(options_.data(), k, values_.data());
    std::vector<float>& h = hidden_;
    h.resize(dim_);
    model_.query_.apply(query_input_.data(), 1, h.data());
    report(observer, "query", h, dim_);
    for (std::size_t l = 0; l < kDecoderLayers; ++l) {
      const Invit::DecoderLayer& layer = model_.decoder_layers_[l];
      layer.query.apply(h.data(), 1, queries_.data());
      kernels::attention({queries_.data(), 1, dim_}, {keys_.data() + l * dim_, k, key_stride},
                         {values_.data() + l * dim_, k, value_stride}, shape, attended_.data());
      layer.attention_out.apply(attended_.data(), 1, change_.data());
      kernels::add(h.data(), change_.data(), dim_);
      layer.attention_norm.apply(h.data(), 1);
      layer.feed_forward.apply(h.data(), 1, change_.data());
      kernels::add(h.data(), change_.data(), dim_);
      layer.feed_forward_norm.apply(h.data(), 1);
      if (observer) observer(fmt::format("decoder {}", l), h, dim_);
    }
    model_.final_query_.apply(h.data(), 1, queries_.data());
    report(observer, "final query", std::span(queries_).first(dim_), dim_);
    scores_.resize(kernels::padded(k));
    const float scale = 1 / std::sqrt(static_cast<float>(dim_));
    for (std::size_t j = 0; j < k; ++j) {
      const float* key = keys_.data() + j * key_stride + kDecoderLayers * dim_;
      float sum = 0;
      for (std::size_t c = 0; c < dim_; ++c) sum += queries_[c] * key[c];
      scores_[j] = sum * scale;
    }
    kernels::clipped_tanh(scores_.data(), k, static_cast<float>(model_.config_.tanh_clip));
    report(observer, "scores", std::span(scores_).first(k), k);
    return std::span(scores_).first(k);
  }

  const Invit& model_;
  std::size_t dim_;
  std::vector<FloatPoint> places_;
  std::vector<float> tokens_;
  std::vector<float> key_value_;
  std::vector<float> queries_;
  std::vector<float> attended_;
  std::vector<float> change_;
  std::vector<float> options_;
  std::vector<float> query_input_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> hidden_;
  std::vector<float> scores_;
};

class EncodedForInvit final : public EncodedInstance {
 public:
  EncodedForInvit(const Invit& model, std::span<const Point> points)
      : model_(model), points_(points.begin(), points.end()), neighbours_(points) {}

  [[nodiscard]] std::size_t size() const override { return points_.size(); }

  [[nodiscard]] Rollout roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const override;

 private:
  const Invit& model_;
  std::vector<Point> points_;
  RemainingNeighbours neighbours_;  // all nodes; each roll-out takes them away from a copy
};

Rollout EncodedForInvit::roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const {
  check_prefix(options.prefix, size());
  InvitWalk walk(model_.config_, points_, neighbours_);
  InvitStep step_model(model_);
  Chooser chooser;
  Rollout rollout;
  std::vector<NodeId> ranks(model_.config_.action_view);  // of two equally good nodes the nearer one is taken
  std::iota(ranks.begin(), ranks.end(), NodeId{0});
  const auto visit = [&](NodeId node, double log_prob) {
    rollout.order.push_back(node);
    rollout.log_probs.push_back(log_prob);
    walk.visit(node);
  };
  visit(start_node(options, size(), rng), 0);
  for (std::size_t step = 1; step < size() && !options.deadline.expired(); ++step) {
    const InvitView view = walk.look();
    const std::span<const NodeId> actions = view.actions();
    if (step < options.prefix.size() &&
        std::find(actions.begin(), actions.end(), options.prefix[step]) == actions.end()) {
      visit(options.prefix[step], -std::numeric_limits<double>::infinity());
      continue;
    }
    const std::span<const float> scores = step_model.scores(view, observer);
    const Chooser::Choice choice =
        chooser.choose(scores, std::span(ranks).first(view.num_actions), options, step, rng, [&](NodeId node) {
          return static_cast<std::size_t>(std::find(actions.begin(), actions.end(), node) - actions.begin());
        });
    visit(actions[choice.slot], choice.log_prob);
  }
  return rollout;
}

std::unique_ptr<EncodedInstance> Invit::encode(std::span<const Point> points, const EncodeOptions& options) const {
  if (points.empty()) throw InputError("INViT: the instance has no nodes");
  if (options.deadline.expired()) return nullptr;
  return std::make_unique<EncodedForInvit>(*this, points);
}

std::unique_ptr<EncodedInstance> Invit::with_embeddings(std::span<const Point> points,
                                                        std::span<const float> /*embeddings*/) const {
  return encode(points, {});
}

}  // namespace puretour
