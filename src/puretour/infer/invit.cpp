// SPDX-License-Identifier: MIT
#include "puretour/infer/invit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/infer/decoding_strategy.h"
#include "puretour/infer/invit_views.h"
#include "puretour/kernels/layers/group_attention.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"

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
    : config_(std::get<InvitConfig>(checkpoint.config)), model_config_(checkpoint.config), precision_(precision) {
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

// The computation of one step of several tours; keeps its memory from step to step. The rows of all views follow each
// other, so that products with weights are large; a view's own rows do not depend on the others.
class InvitStep {
 public:
  explicit InvitStep(const Invit& model) : model_(model), dim_(model.config_.embedding_dim) {}

  /// Scores of the actions of every view, one view after the other.
  std::span<const float> scores(std::span<const InvitView* const> views, const StageObserver& observer) {
    const std::size_t num_states = model_.state_encoders_.size();
    option_begin_.assign(1, 0);
    for (const InvitView* view : views) option_begin_.push_back(option_begin_.back() + view->num_actions);
    // Rows of the decoder's input: for every action its embeddings in all views; and the query's own.
    options_.resize(option_begin_.back() * dim_ * (num_states + 1));
    query_input_.resize(views.size() * dim_ * (2 * num_states + 1));

    encode(model_.action_encoder_, views, kActionView, observer, "action");
    for (std::size_t i = 0; i < num_states; ++i) {
      encode(model_.state_encoders_[i], views, i, observer, observer ? fmt::format("state {}", i) : std::string());
    }
    return decode(views.size(), observer);
  }

 private:
  static constexpr std::size_t kActionView = ~std::size_t{0};  // else the number of a state view

  static void report(const StageObserver& observer, std::string_view stage, std::span<const float> values,
                     std::size_t columns) {
    if (observer) observer(stage, values, columns);
  }

  // One encoder for all views: tokens, layers, and what the decoder reads of them.
  void encode(const Invit::ViewEncoder& encoder, std::span<const InvitView* const> views, std::size_t number,
              const StageObserver& observer, const std::string& name) {
    const bool is_action = number == kActionView;
    tokens_.clear();
    all_.clear();
    needed_.clear();
    std::size_t num_needed = 0;
    for (const InvitView* view : views) {
      const std::size_t begin = tokens_.size() / dim_;
      if (is_action) {
        place_action_tokens(*view, places_);
      } else {
        const std::size_t num_neighbours = std::min(model_.config_.state_views[number], view->nearest.size());
        place_state_tokens(*view, num_neighbours, model_.config_.aggregate_whole_graph, places_);
      }
      report(observer, name + " tokens", as_values(places_), 2);
      const std::size_t count = places_.size();
      const std::size_t needed = view->num_actions + (is_action ? 1 : 2);
      tokens_.resize((begin + count) * dim_);
      embed(encoder, is_action, view->num_actions, begin);
      all_.push_back({begin, count, begin, count});
      needed_.push_back({num_needed, needed, begin, count});
      num_needed += needed;
    }
    run_layers(encoder.layers, num_needed, observer, name);
    for (std::size_t v = 0; v < views.size(); ++v) {
      const float* rows = tokens_.data() + needed_[v].query_begin * dim_;
      const std::size_t k = views[v]->num_actions;
      const std::size_t num_states = model_.state_encoders_.size();
      const std::size_t group = is_action ? 0 : number + 1;
      for (std::size_t j = 0; j < k; ++j) {
        std::copy_n(rows + j * dim_, dim_, &options_[((option_begin_[v] + j) * (num_states + 1) + group) * dim_]);
      }
      float* query = &query_input_[v * (2 * num_states + 1) * dim_];
      // The last node of the action view; the last and the first node of a state view.
      if (is_action) {
        std::copy_n(rows + k * dim_, dim_, query);
      } else {
        std::copy_n(rows + k * dim_, 2 * dim_, query + (2 * number + 1) * dim_);
      }
    }
  }

  // The tokens of places_, from row `begin` on.
  void embed(const Invit::ViewEncoder& encoder, bool is_action, std::size_t k, std::size_t begin) {
    const auto apply = [&](const Linear& linear, std::size_t first, std::size_t count) {
      if (count == 0) return;
      linear.apply(&places_[first].x, count, tokens_.data() + (begin + first) * dim_);
    };
    apply(encoder.embed_neighbour, 0, k);
    apply(encoder.embed_last, k, 1);
    if (is_action) return;
    const bool aggregate = model_.config_.aggregate_whole_graph;
    apply(encoder.embed_first, k + 1, 1);
    apply(encoder.embed_neighbour, k + 2, places_.size() - (k + 2) - (aggregate ? 1 : 0));
    if (aggregate) apply(encoder.embed_aggregate, places_.size() - 1, 1);
  }

  // Runs the layers over tokens_, of which only the needed ones are left in the end.
  void run_layers(const std::vector<Invit::Layer>& layers, std::size_t num_needed, const StageObserver& observer,
                  const std::string& name) {
    const std::size_t num_tokens = tokens_.size() / dim_;
    // The scale of this attention is that of the whole width, not of a head.
    const std::size_t head_dim = dim_ / model_.config_.num_heads;
    const kernels::AttentionShape shape{model_.config_.num_heads, head_dim, 1 / std::sqrt(static_cast<float>(dim_))};
    key_value_.resize(num_tokens * 2 * dim_);
    queries_.resize(num_tokens * dim_);
    attended_.resize(num_tokens * dim_);
    change_.resize(num_tokens * dim_);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Invit::Layer& layer = layers[l];
      const bool is_last = l + 1 == layers.size();
      const std::size_t rows = is_last ? num_needed : num_tokens;
      layer.key_value.apply(tokens_.data(), num_tokens, key_value_.data());
      if (is_last) keep_needed_tokens();
      layer.query.apply(tokens_.data(), rows, queries_.data());
      kernels::group_attention(is_last ? needed_ : all_, shape, {queries_.data(), dim_}, {key_value_.data(), 2 * dim_},
                               {key_value_.data() + dim_, 2 * dim_}, {attended_.data(), dim_}, model_.precision_);
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
    report(observer, name + " out", std::span(tokens_).first(num_needed * dim_), dim_);
  }

  void keep_needed_tokens() {
    for (const kernels::Group& g : needed_) {
      // Never moves a row behind where it was: what is overwritten has been moved already.
      std::memmove(tokens_.data() + g.query_begin * dim_, tokens_.data() + g.key_begin * dim_,
                   g.num_queries * dim_ * sizeof(float));
    }
  }

  std::span<const float> decode(std::size_t num_views, const StageObserver& observer) {
    const std::size_t head_dim = dim_ / model_.config_.num_heads;
    const kernels::AttentionShape shape{model_.config_.num_heads, head_dim,
                                        1 / std::sqrt(static_cast<float>(head_dim))};
    const std::size_t num_options = option_begin_.back();
    const std::size_t key_stride = model_.keys_.outputs();
    const std::size_t value_stride = model_.values_.outputs();
    keys_.resize(num_options * key_stride);
    values_.resize(num_options * value_stride);
    model_.keys_.apply(options_.data(), num_options, keys_.data());
    model_.values_.apply(options_.data(), num_options, values_.data());
    all_.clear();
    for (std::size_t v = 0; v < num_views; ++v) {
      all_.push_back({v, 1, option_begin_[v], option_begin_[v + 1] - option_begin_[v]});
    }
    kernels::AlignedVector<float>& h = hidden_;
    h.resize(num_views * dim_);
    model_.query_.apply(query_input_.data(), num_views, h.data());
    report(observer, "query", h, dim_);
    for (std::size_t l = 0; l < kDecoderLayers; ++l) {
      const Invit::DecoderLayer& layer = model_.decoder_layers_[l];
      layer.query.apply(h.data(), num_views, queries_.data());
      kernels::group_attention(all_, shape, {queries_.data(), dim_}, {keys_.data() + l * dim_, key_stride},
                               {values_.data() + l * dim_, value_stride}, {attended_.data(), dim_}, model_.precision_);
      layer.attention_out.apply(attended_.data(), num_views, change_.data());
      kernels::add(h.data(), change_.data(), h.size());
      layer.attention_norm.apply(h.data(), num_views);
      layer.feed_forward.apply(h.data(), num_views, change_.data());
      kernels::add(h.data(), change_.data(), h.size());
      layer.feed_forward_norm.apply(h.data(), num_views);
      if (observer) observer(fmt::format("decoder {}", l), h, dim_);
    }
    model_.final_query_.apply(h.data(), num_views, queries_.data());
    report(observer, "final query", std::span(queries_).first(num_views * dim_), dim_);
    scores_.resize(kernels::padded(num_options));
    const float scale = 1 / std::sqrt(static_cast<float>(dim_));
    for (std::size_t v = 0; v < num_views; ++v) {
      const float* query = queries_.data() + v * dim_;
      for (std::size_t j = option_begin_[v]; j < option_begin_[v + 1]; ++j) {
        const float* key = keys_.data() + j * key_stride + kDecoderLayers * dim_;
        float sum = 0;
        for (std::size_t c = 0; c < dim_; ++c) sum += query[c] * key[c];
        scores_[j] = sum * scale;
      }
    }
    kernels::clipped_tanh(scores_.data(), num_options, static_cast<float>(model_.config_.tanh_clip));
    report(observer, "scores", std::span(scores_).first(num_options), num_options);
    return std::span(scores_).first(num_options);
  }

  const Invit& model_;
  std::size_t dim_;
  std::vector<FloatPoint> places_;
  std::vector<std::size_t> option_begin_;  // of each view; and the end
  std::vector<kernels::Group> all_;        // every token looks at its view
  std::vector<kernels::Group> needed_;     // only those that the decoder reads: the first ones of each view
  kernels::AlignedVector<float> tokens_;
  kernels::AlignedVector<float> key_value_;
  kernels::AlignedVector<float> queries_;
  kernels::AlignedVector<float> attended_;
  kernels::AlignedVector<float> change_;
  kernels::AlignedVector<float> options_;
  kernels::AlignedVector<float> query_input_;
  kernels::AlignedVector<float> keys_;
  kernels::AlignedVector<float> values_;
  kernels::AlignedVector<float> hidden_;
  kernels::AlignedVector<float> scores_;
};

class InvitCache final : public EncodedInstance {
 public:
  InvitCache(const Invit& model, std::span<const Point> points)
      : model_(model), points_(points.begin(), points.end()), neighbours_(points) {}

  [[nodiscard]] std::size_t size() const override { return points_.size(); }

  [[nodiscard]] Rollout roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const override;

  [[nodiscard]] std::span<const Point> points() const { return points_; }
  [[nodiscard]] const RemainingNeighbours& neighbours() const { return neighbours_; }

 private:
  const Invit& model_;
  std::vector<Point> points_;
  RemainingNeighbours neighbours_;  // all nodes; each roll-out takes them away from a copy
};

namespace {

// A tour under construction.
class InvitTour {
 public:
  InvitTour(const InvitConfig& config, const InvitCache& instance, const RolloutOptions& options, Rng& rng)
      : options_(options),
        rng_(rng),
        size_(instance.size()),
        walk_(config, instance.points(), instance.neighbours()),
        ranks_(config.action_view) {
    check_prefix(options.prefix, size_);
    std::iota(ranks_.begin(), ranks_.end(), NodeId{0});
    visit(start_node(options, size_, rng), 0);
  }

  /// Looks around for the next choice. False: there is none left, or no time.
  bool look() {
    while (rollout_.order.size() < size_ && !options_.deadline.expired()) {
      view_ = walk_.look();
      const std::size_t step = rollout_.order.size();
      if (step >= options_.prefix.size() || contains(view_.actions(), options_.prefix[step])) return true;
      visit(options_.prefix[step], -std::numeric_limits<double>::infinity());
    }
    return false;
  }

  /// What look() saw.
  [[nodiscard]] const InvitView& view() const { return view_; }

  void choose(std::span<const float> scores) {
    const std::span<const NodeId> actions = view_.actions();
    const DecodingStrategy::Choice choice = strategy_.choose(
        scores, std::span(ranks_).first(actions.size()), options_, rollout_.order.size(), rng_, [&](NodeId node) {
          return static_cast<std::size_t>(std::find(actions.begin(), actions.end(), node) - actions.begin());
        });
    visit(actions[choice.slot], choice.log_prob);
  }

  [[nodiscard]] Rollout take() { return std::move(rollout_); }

 private:
  static bool contains(std::span<const NodeId> nodes, NodeId node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }

  void visit(NodeId node, double log_prob) {
    rollout_.order.push_back(node);
    rollout_.log_probs.push_back(log_prob);
    walk_.visit(node);
  }

  const RolloutOptions& options_;
  Rng& rng_;
  std::size_t size_;
  InvitWalk walk_;
  InvitView view_ = {};
  DecodingStrategy strategy_;
  std::vector<NodeId> ranks_;  // of two equally good nodes the nearer one is taken
  Rollout rollout_;
};

// Builds all tours, a node of each at a time.
void build(std::span<InvitTour> tours, InvitStep& step, const StageObserver& observer) {
  std::vector<InvitTour*> going;
  std::vector<const InvitView*> views;
  for (;;) {
    going.clear();
    views.clear();
    for (InvitTour& tour : tours) {
      if (!tour.look()) continue;
      going.push_back(&tour);
      views.push_back(&tour.view());
    }
    if (going.empty()) return;
    std::span<const float> scores = step.scores(views, observer);
    for (InvitTour* tour : going) {
      const std::size_t count = tour->view().num_actions;
      tour->choose(scores.first(count));
      scores = scores.subspan(count);
    }
  }
}

}  // namespace

Rollout InvitCache::roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const {
  InvitTour tour(model_.config_, *this, options, rng);
  InvitStep step(model_);
  build({&tour, 1}, step, observer);
  return tour.take();
}

std::vector<Rollout> Invit::roll_out_together(std::span<RolloutTask> tasks) const {
  std::vector<InvitTour> tours;
  tours.reserve(tasks.size());
  for (RolloutTask& task : tasks) {
    tours.emplace_back(config_, dynamic_cast<const InvitCache&>(*task.instance), task.options, task.rng);
  }
  InvitStep step(*this);
  build(tours, step, {});
  std::vector<Rollout> results;
  results.reserve(tours.size());
  for (InvitTour& tour : tours) results.push_back(tour.take());
  return results;
}

std::unique_ptr<EncodedInstance> Invit::encode(std::span<const Point> points, const EncodeOptions& options) const {
  if (points.empty()) throw InputError("INViT: the instance has no nodes");
  if (options.deadline.expired()) return nullptr;
  return std::make_unique<InvitCache>(*this, points);
}

std::unique_ptr<EncodedInstance> Invit::with_embeddings(std::span<const Point> points,
                                                        std::span<const float> /*embeddings*/) const {
  return encode(points, {});
}

}  // namespace puretour
