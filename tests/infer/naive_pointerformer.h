// Pointerformer once more, as plain as the formulas, with a switch for every mistake whose result is known: double
// precision, eight pointers, a mask. An oracle for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "infer/naive_layers.h"
#include "puretour/geometry/point.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

enum class PointerformerMistake {
  kNone,
  kDistanceIn2D,        // of the points, not of the features
  kDistanceIn16D,       // of the features without angles
  kDistanceNotDivided,  // by sqrt(2)
  kNoDistance,
  kScaleOfOneHead,  // sqrt(16) instead of sqrt(128)
  kSumOfPointers,   // instead of their mean
  kNoVisitedQuery,
  kVisitedQueryByCount,  // sum of visited embeddings divided by their number, not by N
  kCoordinatesBeforeAngles,
  kClipOf10,
  kMeanAfterTanh,
  kStreamsSwapped,          // F takes the first stream
  kFeedForwardOfOldStream,  // G takes x2, not the new y1
  kReturnsFirstStream,
  kReturnsMeanOfStreams,
  kRelu,
  kGeluByTanh,
  kNoNormBeforeAttention,
  kNormOfTheBatch,            // statistics of the instance instead of the running ones
  kProjectionsKeyQueryValue,  // the packed weight read in this order
  kProjectionsValueKeyQuery,
};

/// Running statistics of a batch normalisation after a step of training.
struct NaiveStatistics {
  Vector mean;
  Vector variance;
};

class NaivePointerformer {
 public:
  explicit NaivePointerformer(const Checkpoint& checkpoint, PointerformerMistake mistake = PointerformerMistake::kNone)
      : config_(std::get<PointerformerConfig>(checkpoint.config)), weights_(checkpoint.weights), mistake_(mistake) {
    if (is(PointerformerMistake::kClipOf10)) config_.tanh_clip = 10;
  }

  /// Angles first, then coordinates.
  [[nodiscard]] Vector features(Point p) const {
    const double x = p.x;
    const double y = p.y;
    const std::array<std::array<double, 2>, 8> images = {
        {{x, y}, {1 - x, y}, {x, 1 - y}, {1 - x, 1 - y}, {y, x}, {1 - y, x}, {y, 1 - x}, {1 - y, 1 - x}}};
    Vector angles;
    Vector coordinates;
    for (const auto& [first, second] : images) {
      angles.push_back(std::atan(second / first));
      coordinates.push_back(first);
      coordinates.push_back(second);
    }
    Vector result = angles;
    result.insert(result.end(), coordinates.begin(), coordinates.end());
    return result;
  }

  /// Embeddings of a batch, node after node. In training, normalisations use the statistics of all rows.
  [[nodiscard]] Rows encode(const std::vector<std::vector<Point>>& batch, bool training = false) const {
    const bool batch_statistics = training || is(PointerformerMistake::kNormOfTheBatch);
    Rows x1 = projection(batch);
    Rows x2 = x1;
    const std::size_t dim = config_.embedding_dim;
    for (std::size_t l = 0; l < config_.num_layers; ++l) {
      const std::string block = fmt::format("encoder.sequence.reversible_blocks.{}.", l);
      const Tensor& packed = weights_.at(block + "f_block.mha.in_proj_weight");
      std::array<std::size_t, 3> order = {0, 1, 2};
      if (is(PointerformerMistake::kProjectionsKeyQueryValue)) order = {1, 0, 2};
      if (is(PointerformerMistake::kProjectionsValueKeyQuery)) order = {2, 1, 0};
      const NaiveLinear query(packed, order[0] * dim, dim);
      const NaiveLinear key(packed, order[1] * dim, dim);
      const NaiveLinear value(packed, order[2] * dim, dim);
      const NaiveLinear out(weights_, block + "f_block.mha.out_proj");
      const NaiveLinear up(weights_, block + "g_block.feed_forward");
      const NaiveLinear down(weights_, block + "g_block.output_dense");

      const auto attention = [&](const Rows& u) {
        const Rows h = is(PointerformerMistake::kNoNormBeforeAttention)
                           ? u
                           : normalised(block + "f_block.mixing_layer_norm", u, batch_statistics);
        const double scale = 1 / std::sqrt(static_cast<double>(dim / config_.num_heads));
        Rows result;
        const std::size_t n = batch[0].size();
        for (std::size_t begin = 0; begin < h.size(); begin += n) {  // nodes of one instance see each other
          const Rows part(h.begin() + static_cast<std::ptrdiff_t>(begin),
                          h.begin() + static_cast<std::ptrdiff_t>(begin + n));
          const Rows mixed = out(naive_attention(query(part), key(part), value(part), config_.num_heads, scale));
          result.insert(result.end(), mixed.begin(), mixed.end());
        }
        return result;
      };
      const auto feed_forward = [&](const Rows& u) {
        Rows hidden = up(normalised(block + "g_block.output_layer_norm", u, batch_statistics));
        for (Vector& row : hidden) {
          for (double& v : row) v = activation(v);
        }
        return down(hidden);
      };
      const auto sum = [](Rows a, const Rows& b) {
        for (std::size_t i = 0; i < a.size(); ++i) add_to(a[i], b[i]);
        return a;
      };
      if (is(PointerformerMistake::kStreamsSwapped)) std::swap(x1, x2);
      const Rows y1 = sum(x1, attention(x2));
      const Rows y2 = sum(x2, feed_forward(is(PointerformerMistake::kFeedForwardOfOldStream) ? x2 : y1));
      x1 = y1;
      x2 = y2;
    }
    if (is(PointerformerMistake::kReturnsFirstStream)) return x1;
    if (is(PointerformerMistake::kReturnsMeanOfStreams)) {
      for (std::size_t i = 0; i < x2.size(); ++i) {
        for (std::size_t c = 0; c < dim; ++c) x2[i][c] = (x1[i][c] + x2[i][c]) / 2;
      }
    }
    return x2;
  }

  /// Running statistics of the first normalisation after `num_updates` updates with one batch.
  [[nodiscard]] NaiveStatistics first_statistics(const std::vector<std::vector<Point>>& batch, int num_updates) const {
    const std::string name = "encoder.sequence.reversible_blocks.0.f_block.mixing_layer_norm.";
    const Rows rows = projection(batch);
    const auto count = static_cast<double>(rows.size());
    const NaiveStatistics of_batch = statistics(rows);
    NaiveStatistics running;
    for (std::size_t c = 0; c < of_batch.mean.size(); ++c) {
      double mean = weights_.at(name + "running_mean").values[c];
      double variance = weights_.at(name + "running_var").values[c];
      for (int i = 0; i < num_updates; ++i) {
        mean = 0.9 * mean + 0.1 * of_batch.mean[c];
        variance = 0.9 * variance + 0.1 * of_batch.variance[c] * count / (count - 1);
      }
      running.mean.push_back(mean);
      running.variance.push_back(variance);
    }
    return running;
  }

  /// A greedy tour from `start`, or the given tour with its log-probabilities.
  [[nodiscard]] NaiveRollout roll_out(const std::vector<Point>& points, const Rows& e, NodeId start,
                                      const std::vector<NodeId>& forced = {}) const {
    return Decoder(*this, points, e).roll_out(start, forced);
  }
  [[nodiscard]] std::vector<NaiveRollout> roll_out_from_all_starts(const std::vector<Point>& points) const {
    const Rows e = encode({points});
    const Decoder decoder(*this, points, e);
    std::vector<NaiveRollout> result;
    for (std::size_t start = 0; start < points.size(); ++start) {
      result.push_back(decoder.roll_out(static_cast<NodeId>(start), {}));
    }
    return result;
  }

  /// Distance of two nodes as the decoder sees it, before it is divided by sqrt(2).
  [[nodiscard]] double distance(Point a, Point b) const {
    if (is(PointerformerMistake::kNoDistance)) return 0;
    if (is(PointerformerMistake::kDistanceIn2D)) return std::sqrt(squared_distance(a, b));
    const Vector fa = features(a);
    const Vector fb = features(b);
    double sum = 0;
    for (std::size_t k = is(PointerformerMistake::kDistanceIn16D) ? 8 : 0; k < fa.size(); ++k) {
      sum += (fa[k] - fb[k]) * (fa[k] - fb[k]);
    }
    return std::sqrt(sum);
  }

 private:
  [[nodiscard]] bool is(PointerformerMistake mistake) const { return mistake_ == mistake; }

  [[nodiscard]] Rows projection(const std::vector<std::vector<Point>>& batch) const {
    const NaiveLinear linear(weights_, "encoder.init_projection_layer");
    Rows rows;
    for (const auto& points : batch) {
      for (const Point p : points) {
        Vector f = features(p);
        if (is(PointerformerMistake::kCoordinatesBeforeAngles)) std::rotate(f.begin(), f.begin() + 8, f.end());
        rows.push_back(linear(f));
      }
    }
    return rows;
  }

  [[nodiscard]] static NaiveStatistics statistics(const Rows& rows) {
    NaiveStatistics result{Vector(rows[0].size()), Vector(rows[0].size())};
    const auto count = static_cast<double>(rows.size());
    for (std::size_t c = 0; c < rows[0].size(); ++c) {
      for (const Vector& row : rows) result.mean[c] += row[c] / count;
      for (const Vector& row : rows) result.variance[c] += std::pow(row[c] - result.mean[c], 2) / count;
    }
    return result;
  }

  [[nodiscard]] Rows normalised(const std::string& name, Rows rows, bool batch_statistics) const {
    const auto values = [&](const char* part) -> const std::vector<float>& { return weights_.at(name + part).values; };
    NaiveStatistics used;
    if (batch_statistics) {
      used = statistics(rows);
    } else {
      used.mean.assign(values(".running_mean").begin(), values(".running_mean").end());
      used.variance.assign(values(".running_var").begin(), values(".running_var").end());
    }
    for (Vector& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] =
            (row[c] - used.mean[c]) / std::sqrt(used.variance[c] + 1e-5) * values(".weight")[c] + values(".bias")[c];
      }
    }
    return rows;
  }

  [[nodiscard]] double activation(double v) const {
    if (is(PointerformerMistake::kRelu)) return std::max(v, 0.0);
    if (is(PointerformerMistake::kGeluByTanh)) {
      return v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    }
    return v / 2 * (1 + std::erf(v / std::numbers::sqrt2));
  }

  class Decoder {
   public:
    Decoder(const NaivePointerformer& model, const std::vector<Point>& points, const Rows& e)
        : model_(model),
          points_(points),
          e_(e),
          query_map_(model.weights_, "decoder.wq"),
          visited_map_(model.weights_, "decoder.W_visited") {
      last_queries_ = NaiveLinear(model.weights_, "decoder.Wq_last")(e);
      first_queries_ = NaiveLinear(model.weights_, "decoder.Wq_first")(e);
      keys_ = NaiveLinear(model.weights_, "decoder.Wk")(e);
      Vector mean(e[0].size());
      for (const Vector& row : e) add_to(mean, row);
      for (double& v : mean) v /= static_cast<double>(e.size());
      graph_query_ = NaiveLinear(model.weights_, "decoder.Wq_graph")(mean);
    }

    [[nodiscard]] NaiveRollout roll_out(NodeId start, const std::vector<NodeId>& forced) const {
      const std::size_t n = points_.size();
      NaiveRollout rollout;
      rollout.order.push_back(start);
      std::vector<bool> visited(n);
      visited[static_cast<std::size_t>(start)] = true;
      for (std::size_t t = 1; t < n; ++t) {
        const Vector p = probabilities(start, rollout.order.back(), visited);
        const std::size_t best = greedy_choice(p, rollout);
        const std::size_t next = forced.empty() ? best : static_cast<std::size_t>(forced[t]);
        rollout.order.push_back(static_cast<NodeId>(next));
        rollout.log_probs.push_back(std::log(p[next] + 1e-8));
        visited[next] = true;
      }
      return rollout;
    }

   private:
    [[nodiscard]] Vector probabilities(NodeId first, NodeId last, const std::vector<bool>& visited) const {
      const std::size_t n = points_.size();
      const std::size_t dim = graph_query_.size();
      const std::size_t num_heads = model_.config_.num_heads;
      const std::size_t head_dim = dim / num_heads;
      Vector query =
          added(last_queries_[static_cast<std::size_t>(last)], first_queries_[static_cast<std::size_t>(first)]);
      add_to(query, graph_query_);
      if (!model_.is(PointerformerMistake::kNoVisitedQuery)) {
        Vector sum(dim);
        double count = 0;
        for (std::size_t j = 0; j < n; ++j) {
          if (!visited[j]) continue;
          add_to(sum, e_[j]);
          ++count;
        }
        const double divisor = model_.is(PointerformerMistake::kVisitedQueryByCount) ? count : static_cast<double>(n);
        for (double& v : sum) v /= divisor;
        add_to(query, visited_map_(sum));
      }
      query = query_map_(query);
      const double width =
          model_.is(PointerformerMistake::kScaleOfOneHead) ? static_cast<double>(head_dim) : static_cast<double>(dim);
      const double clip = model_.config_.tanh_clip;
      Vector logits(n, -std::numeric_limits<double>::infinity());
      for (std::size_t j = 0; j < n; ++j) {
        if (visited[j]) continue;
        double distance = model_.distance(points_[static_cast<std::size_t>(last)], points_[j]);
        if (!model_.is(PointerformerMistake::kDistanceNotDivided)) distance /= std::numbers::sqrt2;
        double pointers = 0;
        double clipped = 0;
        for (std::size_t m = 0; m < num_heads; ++m) {
          double pointer = 0;
          for (std::size_t c = m * head_dim; c < (m + 1) * head_dim; ++c) pointer += query[c] * keys_[j][c];
          pointer /= std::sqrt(width);
          pointers += pointer;
          clipped += clip * std::tanh(pointer - distance);
        }
        if (!model_.is(PointerformerMistake::kSumOfPointers)) pointers /= static_cast<double>(num_heads);
        logits[j] = model_.is(PointerformerMistake::kMeanAfterTanh) ? clipped / static_cast<double>(num_heads)
                                                                    : clip * std::tanh(pointers - distance);
      }
      return naive_softmax(logits);
    }

    const NaivePointerformer& model_;
    const std::vector<Point>& points_;
    const Rows& e_;
    NaiveLinear query_map_;
    NaiveLinear visited_map_;
    Rows last_queries_;
    Rows first_queries_;
    Rows keys_;
    Vector graph_query_;
  };

  PointerformerConfig config_;
  const TensorMap& weights_;
  PointerformerMistake mistake_;
};

}  // namespace puretour::test
