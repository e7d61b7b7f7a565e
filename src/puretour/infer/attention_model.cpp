// SPDX-License-Identifier: MIT
#include "puretour/infer/attention_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/infer/decoding_strategy.h"
#include "puretour/kernels/decode/bf16_decoder.h"
#include "puretour/kernels/decode/decode_step.h"
#include "puretour/kernels/layers/attention.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour {
namespace {

using kernels::kBlock;
using kernels::Linear;
using kernels::PackedMatrix;

// Query, key and value of all heads as one matrix; the file has them as [head][dim][head_dim], used as x W.
Linear query_key_value(const WeightReader& reader, const std::string& prefix, const AmConfig& config) {
  const std::size_t dim = config.embedding_dim;
  const std::size_t head_dim = dim / config.num_heads;
  Linear linear{PackedMatrix(dim, 3 * dim), {}, {}};
  std::size_t group = 0;
  for (const char* name : {"W_query", "W_key", "W_val"}) {
    const auto weight = reader.values(prefix + name);
    for (std::size_t h = 0; h < config.num_heads; ++h) {
      for (std::size_t k = 0; k < dim; ++k) {
        for (std::size_t c = 0; c < head_dim; ++c) {
          linear.matrix.set(k, group * dim + h * head_dim + c, weight[(h * dim + k) * head_dim + c]);
        }
      }
    }
    ++group;
  }
  linear.set_precision(reader.precision());
  return linear;
}

// Columns first .. first + count - 1 of a weight [outputs][inputs] as a layer of their own.
Linear input_columns(std::span<const float> weight, std::size_t outputs, std::size_t inputs, std::size_t first,
                     std::size_t count) {
  std::vector<float> part(outputs * count);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < count; ++i) part[o * count + i] = weight[o * inputs + first + i];
  }
  return kernels::make_linear(part, {}, outputs, count);
}

// Of several instances, which share it.
using Embeddings = std::shared_ptr<const kernels::AlignedVector<float>>;

// Of several instances, kept from call to call.
struct Projected {
  kernels::AlignedVector<float> rows;
};

void observe(const StageObserver& observer, std::string_view stage, std::span<const float> values,
             std::size_t columns) {
  if (observer) observer(stage, values, columns);
}

}  // namespace

AttentionModel::AttentionModel(const Checkpoint& checkpoint, kernels::Precision precision)
    : config_(std::get<AmConfig>(checkpoint.config)), model_config_(checkpoint.config), precision_(precision) {
  const WeightReader reader(checkpoint.weights, precision);
  const std::size_t dim = config_.embedding_dim;
  embedding_ = reader.linear("init_embed");
  for (std::size_t l = 0; l < config_.num_layers; ++l) {
    const std::string prefix = fmt::format("embedder.layers.{}.", l);
    Layer layer;
    layer.attention.project_in = query_key_value(reader, prefix + "0.module.", config_);
    layer.attention.project_out.matrix = PackedMatrix::from_rows(reader.values(prefix + "0.module.W_out"), dim, dim);
    layer.attention.project_out.set_precision(precision);
    const std::size_t width = dim / config_.num_heads;
    layer.attention.shape = {config_.num_heads, width, 1 / std::sqrt(static_cast<float>(width))};
    layer.norm1 = reader.batch_norm(prefix + "1.normalizer");
    layer.feed_forward = {reader.linear(prefix + "2.module.0"), reader.linear(prefix + "2.module.2"),
                          kernels::Activation::kRelu};
    layer.norm2 = reader.batch_norm(prefix + "3.normalizer");
    layers_.push_back(std::move(layer));
  }
  plain_projection_ = reader.linear("project_node_embeddings");
  glimpse_out_ = reader.linear("project_out");
  graph_context_ = reader.linear("project_fixed_context");
  const auto step_context = reader.values("project_step_context.weight");
  first_context_ = input_columns(step_context, dim, 2 * dim, 0, dim);
  placeholder_.resize(dim);
  reader.linear("project_step_context").apply(reader.values("W_placeholder").data(), 1, placeholder_.data());

  const auto projection = reader.values("project_node_embeddings.weight");
  const auto out = reader.values("project_out.weight");
  node_projection_.matrix = PackedMatrix(dim, 4 * dim);
  const std::size_t head_dim = dim / config_.num_heads;
  const double key_scale = 1 / std::sqrt(static_cast<double>(head_dim));
  const double score_scale = 1 / std::sqrt(static_cast<double>(dim));
  const std::vector<double> folded = folded_product(out, std::span(projection).subspan(2 * dim * dim), dim);
  for (std::size_t k = 0; k < dim; ++k) {
    for (std::size_t c = 0; c < dim; ++c) {
      node_projection_.matrix.set(k, c, static_cast<float>(projection[c * dim + k] * key_scale));
      node_projection_.matrix.set(k, dim + c, projection[(dim + c) * dim + k]);
      node_projection_.matrix.set(k, 2 * dim + c, static_cast<float>(folded[k * dim + c] * score_scale));
      node_projection_.matrix.set(k, 3 * dim + c, step_context[c * 2 * dim + dim + k]);
    }
  }
  node_projection_.set_precision(precision);
}

// Empty if the deadline expired.
kernels::AlignedVector<float> AttentionModel::encode_nodes(std::span<const Point> points,
                                                           const EncodeOptions& options) const {
  const int threads = options.threads;
  const StageObserver& observer = options.observer;
  const std::size_t n = points.size();
  const std::size_t dim = config_.embedding_dim;
  std::vector<float> coordinates;
  coordinates.reserve(2 * n);
  for (const Point p : points) {
    coordinates.push_back(static_cast<float>(p.x));
    coordinates.push_back(static_cast<float>(p.y));
  }
  kernels::AlignedVector<float> h(n * dim);
  kernels::AlignedVector<float> attended(n * dim);
  kernels::AlignedVector<float> change(n * dim);
  kernels::AlignedVector<float> qkv(n * 3 * dim);
  embedding_.apply(coordinates.data(), n, h.data());
  observe(observer, "h0", h, dim);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (options.deadline.expired()) return {};
    const Layer& layer = layers_[l];
    const auto report = [&](const char* stage) { observe(observer, fmt::format("L{} {}", l, stage), h, dim); };
    kernels::apply_linear(layer.attention.project_in, h.data(), n, qkv.data(), threads);
    kernels::self_attention(qkv.data(), n, layer.attention.shape, attended.data(), threads, precision_);
    kernels::apply_linear(layer.attention.project_out, attended.data(), n, change.data(), threads);
    kernels::add(h.data(), change.data(), h.size());
    report("h+MHA");
    layer.norm1.apply(h.data(), n);
    report("BN1");
    layer.feed_forward.apply(h.data(), n, change.data(), threads);
    kernels::add(h.data(), change.data(), h.size());
    report("+FF");
    layer.norm2.apply(h.data(), n);
    report("BN2");
  }
  return h;
}

kernels::AlignedVector<float> AttentionModel::encode_all(std::span<const std::span<const Point>> instances) const {
  std::vector<float> coordinates;
  std::vector<kernels::Group> groups;
  std::size_t num_rows = 0;
  for (const std::span<const Point> points : instances) {
    groups.push_back({num_rows, points.size(), num_rows, points.size()});
    num_rows += points.size();
    for (const Point p : points) {
      coordinates.push_back(static_cast<float>(p.x));
      coordinates.push_back(static_cast<float>(p.y));
    }
  }
  kernels::AlignedVector<float> h(num_rows * config_.embedding_dim);
  kernels::AlignedVector<float> attended(h.size());
  embedding_.apply(coordinates.data(), num_rows, h.data());
  for (const Layer& layer : layers_) {
    kernels::attention_block(layer.attention, groups, h.data(), h.data(), attended.data());
    layer.norm1.apply(attended.data(), num_rows);
    layer.feed_forward.apply(attended.data(), num_rows, h.data(), 1, attended.data());
    layer.norm2.apply(h.data(), num_rows);
  }
  return h;
}

class AttentionModelCache final : public EncodedInstance {
 public:
  // `h` has the embeddings of this instance from row first_row on; `projected` are these rows after node_projection_.
  AttentionModelCache(const AttentionModel& model, Embeddings h, std::size_t first_row, std::size_t num_nodes,
                      const float* projected, const StageObserver& observer)
      : model_(model),
        num_nodes_(num_nodes),
        all_embeddings_(std::move(h)),
        embeddings_(std::span(*all_embeddings_).subspan(first_row * dim(), num_nodes * dim())) {
    const AmConfig& config = model_.config_;
    last_context_.resize(num_nodes_ * dim());
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      std::copy_n(projected + (4 * i + 3) * dim(), dim(), last_context_.data() + i * dim());
    }
    const kernels::DecoderShape shape{config.num_heads, head_dim(), static_cast<float>(config.tanh_clip)};
    if (model_.precision_ == kernels::Precision::kBfloat16 && kernels::Bf16Nodes::take(shape)) {
      rounded_.emplace(shape, projected, 4 * dim(), num_nodes_);
    } else {
      pack_floats(projected);
    }
    compute_graph_context(observer);
  }

  [[nodiscard]] std::size_t size() const override { return num_nodes_; }

  [[nodiscard]] Rollout roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const override;

 private:
  class Query;
  class FloatDecoder;
  class Bf16Decoder;

  [[nodiscard]] std::size_t dim() const { return model_.config_.embedding_dim; }
  [[nodiscard]] std::size_t head_dim() const { return dim() / model_.config_.num_heads; }
  // Values lie by head, and within a head in rows of sixteen channels.
  [[nodiscard]] std::size_t blocks_per_head() const { return kernels::padded(head_dim()) / kBlock; }
  [[nodiscard]] std::size_t value_blocks() const { return model_.config_.num_heads * blocks_per_head(); }
  [[nodiscard]] std::size_t value_index(std::size_t head, std::size_t channel, std::size_t slot) const {
    return ((head * blocks_per_head() + channel / kBlock) * num_nodes_ + slot) * kBlock + channel % kBlock;
  }

  void pack_floats(const float* projected) {
    glimpse_keys_ = PackedMatrix::from_columns(projected, 4 * dim(), dim(), num_nodes_);
    score_keys_ = PackedMatrix::from_columns(projected + 2 * dim(), 4 * dim(), dim(), num_nodes_);
    glimpse_values_.resize(value_blocks() * num_nodes_ * kBlock);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      const float* row = projected + (4 * i + 1) * dim();
      for (std::size_t head = 0; head < model_.config_.num_heads; ++head) {
        for (std::size_t c = 0; c < head_dim(); c += kBlock) {
          std::copy_n(row + head * head_dim() + c, std::min(kBlock, head_dim() - c),
                      glimpse_values_.data() + value_index(head, c, i));
        }
      }
    }
  }

  void compute_graph_context(const StageObserver& observer) {
    const std::vector<float> mean = mean_of_rows(embeddings_, dim());
    graph_context_.resize(dim());
    model_.graph_context_.apply(mean.data(), 1, graph_context_.data());
    if (!observer) return;
    observer("graph mean", mean, dim());
    observer("fixed context", graph_context_, dim());
    std::vector<float> plain(num_nodes_ * 3 * dim());
    model_.plain_projection_.apply(embeddings_.data(), num_nodes_, plain.data());
    observer("projection", plain, 3 * dim());
  }

  void observe_step(const StageObserver& observer, std::span<const float> query, std::span<const float> glimpse,
                    std::span<const float> scores) const {
    if (!observer) return;
    observer("query", query, query.size());
    std::vector<float> projected(dim());
    model_.glimpse_out_.apply(glimpse.data(), 1, projected.data());
    observer("glimpse", projected, projected.size());
    observer("scores", scores, scores.size());
  }

  template <class Decoder>
  [[nodiscard]] Rollout roll_out_with(Decoder decoder, const RolloutOptions& options, Rng& rng,
                                      const StageObserver& observer) const;

  const AttentionModel& model_;
  std::size_t num_nodes_;
  Embeddings all_embeddings_;
  std::span<const float> embeddings_;           // (N, dim)
  kernels::AlignedVector<float> last_context_;  // (N, dim)
  std::vector<float> graph_context_;            // (dim)
  // Keys and values: these, or those in float below.
  std::optional<kernels::Bf16Nodes> rounded_;
  PackedMatrix glimpse_keys_;                     // dim x N
  PackedMatrix score_keys_;                       // dim x N
  kernels::AlignedVector<float> glimpse_values_;  // see value_index
};

// The query of the next step: graph, first and last node, or graph and placeholder before the first step.
class AttentionModelCache::Query {
 public:
  explicit Query(const AttentionModelCache& instance)
      : in_(instance), first_share_(instance.graph_context_), values_(instance.dim()) {
    set_last(in_.model_.placeholder_.data());
  }

  [[nodiscard]] std::span<const float> values() const { return values_; }

  void visit(NodeId node) {
    const std::size_t row = static_cast<std::size_t>(node) * in_.dim();
    if (!has_first_) {
      has_first_ = true;
      in_.model_.first_context_.apply(in_.embeddings_.data() + row, 1, values_.data());
      kernels::add(first_share_.data(), values_.data(), values_.size());
    }
    set_last(in_.last_context_.data() + row);
  }

 private:
  void set_last(const float* share) {
    std::transform(first_share_.begin(), first_share_.end(), share, values_.begin(), std::plus<>());
  }

  const AttentionModelCache& in_;
  bool has_first_ = false;
  std::vector<float> first_share_;  // graph, and the first node once there is one
  kernels::AlignedVector<float> values_;
};

// The nodes that are left fill slots 0 .. num_left - 1 of copies of keys and values: the last slot moves into the gap
// of a visited node, so that no mask is needed and the work shrinks with the tour.
class AttentionModelCache::FloatDecoder {
 public:
  explicit FloatDecoder(const AttentionModelCache& instance)
      : in_(instance),
        glimpse_keys_(instance.glimpse_keys_),
        score_keys_(instance.score_keys_),
        values_(instance.glimpse_values_),
        nodes_(instance.num_nodes_),
        slot_of_(instance.num_nodes_),
        attention_(instance.model_.config_.num_heads * kernels::padded(instance.num_nodes_)),
        sums_(instance.model_.config_.num_heads),
        glimpse_(instance.dim()),
        scores_(kernels::padded(instance.num_nodes_)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i] = static_cast<NodeId>(i);
      slot_of_[i] = i;
    }
  }

  [[nodiscard]] NodeId node(std::size_t slot) const { return nodes_[slot]; }

  void score(std::span<const float> query, const StageObserver& observer) {
    compute_glimpse(query.data());
    const std::size_t count = nodes_.size();
    kernels::multiply_row(glimpse_.data(), kernels::view_of(score_keys_, 0, in_.dim(), count), scores_.data());
    kernels::clipped_tanh(scores_.data(), count, static_cast<float>(in_.model_.config_.tanh_clip));
    in_.observe_step(observer, query, glimpse_, scores());
  }

  [[nodiscard]] DecodingStrategy::Choice choose(const RolloutOptions& options, std::size_t step, Rng& rng) {
    return strategy_.choose(scores(), nodes_, options, step, rng,
                            [&](NodeId node) { return slot_of_[static_cast<std::size_t>(node)]; });
  }

  void visit(std::size_t slot) {
    const std::size_t end = nodes_.size() - 1;
    if (slot != end) {
      glimpse_keys_.copy_column(end, slot);
      score_keys_.copy_column(end, slot);
      for (std::size_t block = 0; block < in_.value_blocks(); ++block) {
        float* rows = values_.data() + block * in_.num_nodes_ * kBlock;
        std::copy_n(rows + end * kBlock, kBlock, rows + slot * kBlock);
      }
      nodes_[slot] = nodes_[end];
      slot_of_[static_cast<std::size_t>(nodes_[slot])] = slot;
    }
    nodes_.pop_back();
  }

 private:
  [[nodiscard]] std::span<const float> scores() const { return std::span(scores_).first(nodes_.size()); }

  void compute_glimpse(const float* query) {
    const std::size_t count = nodes_.size();
    const std::size_t head_dim = in_.head_dim();
    const std::size_t num_heads = in_.model_.config_.num_heads;
    const std::size_t stride = attention_.size() / num_heads;
    kernels::multiply_heads(query, kernels::view_of(glimpse_keys_, 0, in_.dim(), count), num_heads, head_dim,
                            attention_.data(), stride);
    kernels::exponentials_of_rows(attention_.data(), num_heads, stride, count, sums_.data());
    for (std::size_t head = 0; head < num_heads; ++head) {
      const std::size_t first = head * head_dim;
      const float* weights = attention_.data() + head * stride;
      for (std::size_t c = 0; c < head_dim; c += kBlock) {
        float out[kBlock];
        kernels::weighted_sum(weights, values_.data() + in_.value_index(head, c, 0), count, out);
        for (std::size_t i = c; i < std::min(c + kBlock, head_dim); ++i) glimpse_[first + i] = out[i - c] / sums_[head];
      }
    }
  }

  const AttentionModelCache& in_;
  PackedMatrix glimpse_keys_;
  PackedMatrix score_keys_;
  kernels::AlignedVector<float> values_;
  std::vector<NodeId> nodes_;                // by slot
  std::vector<std::size_t> slot_of_;         // by node, while it is left
  kernels::AlignedVector<float> attention_;  // by head
  std::vector<float> sums_;                  // of the weights of a head
  kernels::AlignedVector<float> glimpse_;
  kernels::AlignedVector<float> scores_;
  DecodingStrategy strategy_;
};

// The same with rounded keys and values.
class AttentionModelCache::Bf16Decoder {
 public:
  Bf16Decoder(const AttentionModelCache& instance, kernels::Bf16Decoder& decoder) : in_(instance), decoder_(decoder) {
    decoder_.start(*instance.rounded_);
  }

  [[nodiscard]] NodeId node(std::size_t slot) const { return decoder_.node(slot); }

  void score(std::span<const float> query, const StageObserver& observer) {
    decoder_.score(query.data());
    if (!observer) return;
    std::vector<float> scores;  // of the slots that are not empty
    for (const float score : decoder_.scores()) {
      if (!std::isinf(score)) scores.push_back(score);
    }
    in_.observe_step(observer, query, decoder_.glimpse(), scores);
  }

  [[nodiscard]] DecodingStrategy::Choice choose(const RolloutOptions& options, std::size_t step, Rng& rng) {
    const std::size_t slot = choose_slot(options, step, rng);
    return {slot, decoder_.log_prob(slot)};
  }

  void visit(std::size_t slot) { decoder_.visit(slot); }

 private:
  std::size_t choose_slot(const RolloutOptions& options, std::size_t step, Rng& rng) {
    if (step < options.prefix.size()) return decoder_.slot_of(options.prefix[step]);
    return options.sample ? decoder_.sample(rng.uniform(), options.temperature) : decoder_.best();
  }

  const AttentionModelCache& in_;
  kernels::Bf16Decoder& decoder_;
};

template <class Decoder>
Rollout AttentionModelCache::roll_out_with(Decoder decoder, const RolloutOptions& options, Rng& rng,
                                           const StageObserver& observer) const {
  Query query(*this);
  Rollout rollout;
  rollout.order.reserve(num_nodes_);
  rollout.log_probs.reserve(num_nodes_);
  for (std::size_t step = 0; step < num_nodes_ && !options.deadline.expired(); ++step) {
    decoder.score(query.values(), observer);
    const DecodingStrategy::Choice choice = decoder.choose(options, step, rng);
    const NodeId node = decoder.node(choice.slot);
    rollout.order.push_back(node);
    rollout.log_probs.push_back(choice.log_prob);
    decoder.visit(choice.slot);
    query.visit(node);
  }
  return rollout;
}

Rollout AttentionModelCache::roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const {
  check_prefix(options.prefix, num_nodes_);
  if (rounded_) {
    // An observer might roll out, too.
    kernels::Bf16Decoder own;
    kernels::Bf16Decoder& decoder = observer ? own : kernels::scratch<kernels::Bf16Decoder>();
    return roll_out_with(Bf16Decoder(*this, decoder), options, rng, observer);
  }
  return roll_out_with(FloatDecoder(*this), options, rng, observer);
}

std::unique_ptr<EncodedInstance> AttentionModel::encode(std::span<const Point> points,
                                                        const EncodeOptions& options) const {
  if (points.empty()) throw InputError("attention model: the instance has no nodes");
  kernels::AlignedVector<float> h = encode_nodes(points, options);
  if (h.empty()) return nullptr;
  kernels::AlignedVector<float> projected(points.size() * node_projection_.outputs());
  kernels::apply_linear(node_projection_, h.data(), points.size(), projected.data(), options.threads);
  return std::make_unique<AttentionModelCache>(*this, std::make_shared<kernels::AlignedVector<float>>(std::move(h)), 0,
                                               points.size(), projected.data(), options.observer);
}

std::unique_ptr<EncodedInstance> AttentionModel::with_embeddings(std::span<const Point> points,
                                                                 std::span<const float> embeddings) const {
  return std::move(encode_together(std::span(&points, 1), std::span(&embeddings, 1)).front());
}

std::vector<std::unique_ptr<EncodedInstance>> AttentionModel::encode_together(
    std::span<const std::span<const Point>> instances, std::span<const std::span<const float>> embeddings) const {
  const std::size_t dim = config_.embedding_dim;
  std::size_t num_rows = 0;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (instances[i].empty()) throw InputError("attention model: the instance has no nodes");
    if (!embeddings.empty() && embeddings[i].size() != instances[i].size() * dim) {
      throw InternalError("AttentionModel: not one embedding per node");
    }
    num_rows += instances[i].size();
  }
  auto h = std::make_shared<kernels::AlignedVector<float>>();
  if (embeddings.empty()) {
    *h = encode_all(instances);
  } else {
    h->resize(num_rows * dim);
    float* to = h->data();
    for (const std::span<const float> rows : embeddings) to = std::copy(rows.begin(), rows.end(), to);
  }
  float* projected = kernels::ensure_size(kernels::scratch<Projected>().rows, num_rows * node_projection_.outputs());
  node_projection_.apply(h->data(), num_rows, projected);
  std::vector<std::unique_ptr<EncodedInstance>> results;
  std::size_t row = 0;
  for (const std::span<const Point> points : instances) {
    results.push_back(std::make_unique<AttentionModelCache>(
        *this, h, row, points.size(), projected + row * node_projection_.outputs(), StageObserver()));
    row += points.size();
  }
  return results;
}

}  // namespace puretour
