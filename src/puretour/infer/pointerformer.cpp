// SPDX-License-Identifier: MIT
#include "puretour/infer/pointerformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/infer/decoding_strategy.h"
#include "puretour/kernels/decode/decode_step.h"
#include "puretour/kernels/layers/attention.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/tour/instance.h"

namespace puretour {
namespace {

using kernels::PackedMatrix;

// delta / sqrt(2), with delta the distance of the 24 features, is the distance of these six: the coordinates, doubled,
// and the first four angles. (The other angles are pi / 2 minus these; each coordinate difference occurs eight times.)
constexpr std::size_t kDistanceFeatures = kernels::kDistanceDims;

// The original adds this to probabilities before it takes their logarithm.
constexpr double kProbabilityFloor = 1e-8;

void observe(const StageObserver& observer, std::string_view stage, std::span<const float> values,
             std::size_t columns) {
  if (observer) observer(stage, values, columns);
}

std::vector<float> all_features(std::span<const Point> points) {
  std::vector<float> features;
  features.reserve(points.size() * kPointerformerFeatures);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = pointerformer_features(points[i]);
    if (!std::all_of(row.begin(), row.end(), [](float v) { return std::isfinite(v); })) {
      throw InputError(fmt::format(
          "node {} at ({}, {}) is in a corner of the unit square, where the features of Pointerformer are not defined; "
          "do not use --raw-coordinates",
          i + 1, points[i].x, points[i].y));
    }
    features.insert(features.end(), row.begin(), row.end());
  }
  return features;
}

}  // namespace

std::array<float, kPointerformerFeatures> pointerformer_features(Point point) {
  const auto x = static_cast<float>(point.x);
  const auto y = static_cast<float>(point.y);
  const std::array<std::array<float, 2>, 8> images = {
      {{x, y}, {1 - x, y}, {x, 1 - y}, {1 - x, 1 - y}, {y, x}, {1 - y, x}, {y, 1 - x}, {1 - y, 1 - x}}};
  std::array<float, kPointerformerFeatures> features{};
  for (std::size_t k = 0; k < images.size(); ++k) {
    features[k] = std::atan(images[k][1] / images[k][0]);
    features[8 + 2 * k] = images[k][0];
    features[9 + 2 * k] = images[k][1];
  }
  return features;
}

Pointerformer::Pointerformer(const Checkpoint& checkpoint, kernels::Precision precision)
    : config_(std::get<PointerformerConfig>(checkpoint.config)),
      model_config_(checkpoint.config),
      precision_(precision) {
  const WeightReader reader(checkpoint.weights, precision);
  const std::size_t dim = config_.embedding_dim;
  projection_ = reader.linear("encoder.init_projection_layer");
  for (std::size_t l = 0; l < config_.num_layers; ++l) {
    const std::string prefix = fmt::format("encoder.sequence.reversible_blocks.{}.", l);
    Block block;
    block.attention_norm = reader.batch_norm(prefix + "f_block.mixing_layer_norm");
    block.query_key_value =
        kernels::make_linear(reader.values(prefix + "f_block.mha.in_proj_weight"), {}, 3 * dim, dim, precision);
    block.attention_out = reader.linear(prefix + "f_block.mha.out_proj");
    block.feed_forward_norm = reader.batch_norm(prefix + "g_block.output_layer_norm");
    block.feed_forward = {reader.linear(prefix + "g_block.feed_forward"),
                          reader.linear(prefix + "g_block.output_dense"), kernels::Activation::kGelu};
    blocks_.push_back(std::move(block));
  }
  graph_query_ = reader.linear("decoder.Wq_graph");

  const auto query_map = reader.values("decoder.wq.weight");
  const auto key = reader.values("decoder.Wk.weight");
  const auto last = reader.values("decoder.Wq_last.weight");
  const auto first = reader.values("decoder.Wq_first.weight");
  const auto visited = reader.values("decoder.W_visited.weight");
  const double scale = 1 / (static_cast<double>(config_.num_heads) * std::sqrt(static_cast<double>(dim)));
  const std::vector<double> folded = folded_product(query_map, key, dim);
  node_projection_.matrix = PackedMatrix(dim, 4 * dim);
  for (std::size_t k = 0; k < dim; ++k) {
    for (std::size_t c = 0; c < dim; ++c) {
      node_projection_.matrix.set(k, c, static_cast<float>(folded[k * dim + c] * scale));
      node_projection_.matrix.set(k, dim + c, last[c * dim + k]);
      node_projection_.matrix.set(k, 2 * dim + c, first[c * dim + k]);
      node_projection_.matrix.set(k, 3 * dim + c, visited[c * dim + k]);
    }
  }
  node_projection_.set_precision(precision);
}

std::vector<Point> Pointerformer::scaled(std::span<const Point> points) const {
  std::vector<Point> result = normalised_to_unit_square(points);
  for (Point& p : result) p = {p.x * 0.9 + 0.05, p.y * 0.9 + 0.05};
  return result;
}

class PointerformerCache final : public EncodedInstance {
 public:
  PointerformerCache(const Pointerformer& model, const std::vector<float>& features, std::span<const float> e,
                     int threads)
      : model_(model), num_nodes_(e.size() / model.config_.embedding_dim) {
    const std::size_t dim = model_.config_.embedding_dim;
    kernels::AlignedVector<float> projected(num_nodes_ * 4 * dim);
    kernels::apply_linear(model_.node_projection_, e.data(), num_nodes_, projected.data(), threads);
    keys_ = PackedMatrix::from_columns(projected.data(), 4 * dim, dim, num_nodes_);
    last_share_.resize(num_nodes_ * dim);
    first_share_.resize(num_nodes_ * dim);
    visited_share_.resize(num_nodes_ * dim);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      const float* row = projected.data() + i * 4 * dim;
      for (std::size_t c = 0; c < dim; ++c) {
        last_share_[i * dim + c] = row[dim + c];
        first_share_[i * dim + c] = row[2 * dim + c];
        visited_share_[i * dim + c] = row[3 * dim + c] / static_cast<float>(num_nodes_);
      }
    }
    const std::vector<float> mean = mean_of_rows(e, dim);
    graph_query_.resize(dim);
    model_.graph_query_.apply(mean.data(), 1, graph_query_.data());

    distance_features_.resize(kDistanceFeatures * num_nodes_);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      const float* row = features.data() + i * kPointerformerFeatures;
      const std::array<float, kDistanceFeatures> kept = {2 * row[8], 2 * row[9], row[0], row[1], row[2], row[3]};
      for (std::size_t k = 0; k < kDistanceFeatures; ++k) distance_features_[k * num_nodes_ + i] = kept[k];
    }
  }

  [[nodiscard]] std::size_t size() const override { return num_nodes_; }

  [[nodiscard]] Rollout roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const override;

 private:
  class Decoder;
  class TableDecoder;

  // Queries are sums of shares of nodes, so that their products with keys are sums of products of nodes: computed once,
  // they serve all tours of an instance. Sums in another order differ in the last bits, which float32 does not do.
  struct Tables {
    std::size_t width = 0;                   // of a row: all nodes, padded
    kernels::AlignedVector<float> last;      // [last node][node]: minus the distance
    kernels::AlignedVector<float> first;     // [first node][node]
    kernels::AlignedVector<float> visited;   // [visited node][node]
    kernels::AlignedVector<float> of_graph;  // [node]
  };
  // With more nodes the tables would take longer than a tour.
  static constexpr std::size_t kMaxNodesInTables = 128;

  [[nodiscard]] bool has_tables() const {
    return model_.precision_ == kernels::Precision::kBfloat16 && num_nodes_ <= kMaxNodesInTables;
  }
  // Made by the first tour that asks for them.
  const Tables& tables() const {
    std::call_once(tables_made_, [&] { make_tables(); });
    return tables_;
  }
  void make_tables() const {
    const std::size_t dim = model_.config_.embedding_dim;
    tables_.width = kernels::padded(num_nodes_);
    const auto products = [&](const float* rows, std::size_t count) {
      kernels::AlignedVector<float> result(count * tables_.width);
      kernels::multiply(rows, count, dim, kernels::view_of(keys_), nullptr, result.data(), tables_.width);
      return result;
    };
    tables_.last = products(last_share_.data(), num_nodes_);
    tables_.first = products(first_share_.data(), num_nodes_);
    tables_.visited = products(visited_share_.data(), num_nodes_);
    tables_.of_graph = products(graph_query_.data(), 1);
    for (std::size_t i = 0; i < num_nodes_; ++i) {
      kernels::subtract_distances(tables_.last.data() + i * tables_.width, distance_features_.data(), num_nodes_,
                                  features_of(i).data(), num_nodes_);
    }
  }
  [[nodiscard]] std::array<float, kDistanceFeatures> features_of(std::size_t node) const {
    std::array<float, kDistanceFeatures> result{};
    for (std::size_t k = 0; k < kDistanceFeatures; ++k) result[k] = distance_features_[k * num_nodes_ + node];
    return result;
  }

  template <class SomeDecoder>
  [[nodiscard]] Rollout roll_out_with(SomeDecoder& decoder, const RolloutOptions& options, Rng& rng,
                                      const StageObserver& observer) const;

  const Pointerformer& model_;
  std::size_t num_nodes_;
  PackedMatrix keys_;                                // dim x N
  kernels::AlignedVector<float> last_share_;         // (N, dim)
  std::vector<float> first_share_;                   // (N, dim)
  kernels::AlignedVector<float> visited_share_;      // (N, dim)
  std::vector<float> graph_query_;                   // (dim)
  kernels::AlignedVector<float> distance_features_;  // (6, N)
  mutable std::once_flag tables_made_;
  mutable Tables tables_;
};

// The state of one roll-out; slots as in the attention model: the nodes that are left, without gaps.
class PointerformerCache::Decoder {
 public:
  explicit Decoder(const PointerformerCache& instance)
      : in_(instance),
        keys_(instance.keys_),
        distance_features_(instance.distance_features_),
        nodes_(instance.num_nodes_),
        slot_of_(instance.num_nodes_),
        steady_query_(instance.graph_query_),
        query_(instance.graph_query_.size()),
        scores_(kernels::padded(instance.num_nodes_)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i] = static_cast<NodeId>(i);
      slot_of_[i] = i;
    }
  }

  [[nodiscard]] std::span<const NodeId> nodes() const { return nodes_; }
  [[nodiscard]] std::size_t slot_of(NodeId node) const { return slot_of_[static_cast<std::size_t>(node)]; }

  std::span<const float> scores(const StageObserver& observer) {
    const std::size_t count = nodes_.size();
    const std::size_t dim = query_.size();
    const auto last = static_cast<std::size_t>(last_);
    for (std::size_t c = 0; c < dim; ++c) query_[c] = steady_query_[c] + in_.last_share_[last * dim + c];
    kernels::multiply_row(query_.data(), kernels::view_of(keys_, 0, dim, count), scores_.data());
    const auto here = in_.features_of(last);
    if (observer) {
      std::vector<float> distances(count);
      kernels::subtract_distances(distances.data(), distance_features_.data(), in_.num_nodes_, here.data(), count);
      for (float& d : distances) d = -d;
      observer("distances", distances, count);
    }
    kernels::subtract_distances(scores_.data(), distance_features_.data(), in_.num_nodes_, here.data(), count);
    kernels::clipped_tanh(scores_.data(), count, static_cast<float>(in_.model_.config_.tanh_clip));
    return std::span(scores_).first(count);
  }

  void visit(std::size_t slot) {
    const NodeId node = nodes_[slot];
    const std::size_t dim = query_.size();
    const auto offset = static_cast<std::size_t>(node) * dim;
    if (last_ < 0) kernels::add(steady_query_.data(), in_.first_share_.data() + offset, dim);
    kernels::add(steady_query_.data(), in_.visited_share_.data() + offset, dim);
    last_ = node;
    const std::size_t end = nodes_.size() - 1;
    if (slot != end) {
      keys_.copy_column(end, slot);
      for (std::size_t k = 0; k < kDistanceFeatures; ++k) {
        distance_features_[k * in_.num_nodes_ + slot] = distance_features_[k * in_.num_nodes_ + end];
      }
      nodes_[slot] = nodes_[end];
      slot_of_[static_cast<std::size_t>(nodes_[slot])] = slot;
    }
    nodes_.pop_back();
  }

 private:
  const PointerformerCache& in_;
  PackedMatrix keys_;
  kernels::AlignedVector<float> distance_features_;
  std::vector<NodeId> nodes_;         // by slot
  std::vector<std::size_t> slot_of_;  // by node, while it is left
  std::vector<float> steady_query_;   // graph, first node and all visited nodes
  NodeId last_ = -1;
  kernels::AlignedVector<float> query_;
  kernels::AlignedVector<float> scores_;
};

// The same by tables, without moving anything: every node has the slot of its number.
class PointerformerCache::TableDecoder {
 public:
  explicit TableDecoder(const PointerformerCache& instance)
      : clip_(static_cast<float>(instance.model_.config_.tanh_clip)),
        tables_(instance.tables()),
        nodes_(instance.num_nodes_),
        steady_(tables_.of_graph),
        barred_(tables_.width),
        scores_(tables_.width) {
    std::iota(nodes_.begin(), nodes_.end(), 0);
  }

  [[nodiscard]] std::span<const NodeId> nodes() const { return nodes_; }
  [[nodiscard]] static std::size_t slot_of(NodeId node) { return static_cast<std::size_t>(node); }

  std::span<const float> scores(const StageObserver& /*observer*/) {
    std::copy(steady_.begin(), steady_.end(), scores_.begin());
    kernels::add(scores_.data(), row_of(tables_.last, last_), tables_.width);
    kernels::clipped_tanh(scores_.data(), nodes_.size(), clip_);
    kernels::add(scores_.data(), barred_.data(), nodes_.size());
    return std::span(scores_).first(nodes_.size());
  }

  void visit(std::size_t slot) {
    if (is_first_) kernels::add(steady_.data(), row_of(tables_.first, slot), tables_.width);
    is_first_ = false;
    kernels::add(steady_.data(), row_of(tables_.visited, slot), tables_.width);
    barred_[slot] = -std::numeric_limits<float>::infinity();
    last_ = slot;
  }

 private:
  [[nodiscard]] const float* row_of(const kernels::AlignedVector<float>& table, std::size_t node) const {
    return table.data() + node * tables_.width;
  }

  float clip_;
  const Tables& tables_;
  std::vector<NodeId> nodes_;
  kernels::AlignedVector<float> steady_;  // products of keys with graph, first node and all visited nodes
  kernels::AlignedVector<float> barred_;  // minus infinity for visited nodes, else 0
  kernels::AlignedVector<float> scores_;
  std::size_t last_ = 0;
  bool is_first_ = true;
};

Rollout PointerformerCache::roll_out(const RolloutOptions& options, Rng& rng, const StageObserver& observer) const {
  check_prefix(options.prefix, num_nodes_);
  if (has_tables() && !observer) {  // an observer is shown what tables have no names for
    TableDecoder decoder(*this);
    return roll_out_with(decoder, options, rng, observer);
  }
  Decoder decoder(*this);
  return roll_out_with(decoder, options, rng, observer);
}

template <class SomeDecoder>
Rollout PointerformerCache::roll_out_with(SomeDecoder& decoder, const RolloutOptions& options, Rng& rng,
                                          const StageObserver& observer) const {
  DecodingStrategy strategy;
  Rollout rollout;
  rollout.order.reserve(num_nodes_);
  rollout.log_probs.reserve(num_nodes_);
  rollout.order.push_back(start_node(options, num_nodes_, rng));
  rollout.log_probs.push_back(0);
  decoder.visit(decoder.slot_of(rollout.order[0]));
  for (std::size_t step = 1; step < num_nodes_ && !options.deadline.expired(); ++step) {
    const std::span<const float> scores = decoder.scores(observer);
    const DecodingStrategy::Choice choice = strategy.choose(scores, decoder.nodes(), options, step, rng,
                                                            [&](NodeId node) { return decoder.slot_of(node); });
    rollout.order.push_back(decoder.nodes()[choice.slot]);
    rollout.log_probs.push_back(std::log(std::exp(choice.log_prob) + kProbabilityFloor));
    decoder.visit(choice.slot);
  }
  return rollout;
}

std::unique_ptr<EncodedInstance> Pointerformer::encode(std::span<const Point> points,
                                                       const EncodeOptions& options) const {
  if (points.empty()) throw InputError("Pointerformer: the instance has no nodes");
  const std::size_t n = points.size();
  const std::size_t dim = config_.embedding_dim;
  const std::vector<float> features = all_features(points);
  observe(options.observer, "features", features, kPointerformerFeatures);
  kernels::AlignedVector<float> x1(n * dim);
  projection_.apply(features.data(), n, x1.data());
  observe(options.observer, "projection", x1, dim);
  kernels::AlignedVector<float> x2 = x1;
  kernels::AlignedVector<float> normalised(n * dim);
  kernels::AlignedVector<float> attended(n * dim);
  kernels::AlignedVector<float> change(n * dim);
  kernels::AlignedVector<float> qkv(n * 3 * dim);
  const std::size_t head_dim = dim / config_.num_heads;
  const kernels::AttentionShape shape{config_.num_heads, head_dim, 1 / std::sqrt(static_cast<float>(head_dim))};
  for (std::size_t l = 0; l < blocks_.size(); ++l) {
    if (options.deadline.expired()) return nullptr;
    const Block& block = blocks_[l];
    normalised = x2;
    block.attention_norm.apply(normalised.data(), n);
    kernels::apply_linear(block.query_key_value, normalised.data(), n, qkv.data(), options.threads);
    kernels::self_attention(qkv.data(), n, shape, attended.data(), options.threads, precision_);
    kernels::apply_linear(block.attention_out, attended.data(), n, change.data(), options.threads);
    kernels::add(x1.data(), change.data(), change.size());
    observe(options.observer, fmt::format("block {} y1", l), x1, dim);
    normalised = x1;
    block.feed_forward_norm.apply(normalised.data(), n);
    block.feed_forward.apply(normalised.data(), n, change.data(), options.threads);
    kernels::add(x2.data(), change.data(), change.size());
    observe(options.observer, fmt::format("block {} y2", l), x2, dim);
  }
  return std::make_unique<PointerformerCache>(*this, features, x2, options.threads);
}

std::unique_ptr<EncodedInstance> Pointerformer::with_embeddings(std::span<const Point> points,
                                                                std::span<const float> embeddings) const {
  if (points.empty() || embeddings.size() != points.size() * config_.embedding_dim) {
    throw InternalError("Pointerformer: not one embedding per node");
  }
  return std::make_unique<PointerformerCache>(*this, all_features(points), embeddings, 1);
}

}  // namespace puretour
