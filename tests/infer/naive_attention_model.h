// The attention model once more, as plain as the formulas: double precision, a mask, no caches. An oracle for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "infer/naive_layers.h"
#include "puretour/geometry/point.h"
#include "puretour/models/checkpoint.h"

namespace puretour::test {

/// x W^T + b for one row.
inline Vector naive_linear(const TensorMap& weights, const std::string& name, const Vector& x) {
  const Tensor& weight = weights.at(name + ".weight");
  const auto bias = weights.find(name + ".bias");
  Vector y(weight.shape[0]);
  for (std::size_t o = 0; o < y.size(); ++o) {
    if (bias != weights.end()) y[o] = bias->second.values[o];
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * static_cast<double>(weight.values[o * x.size() + i]);
  }
  return y;
}

inline void naive_batch_norm(const TensorMap& weights, const std::string& name, Rows& rows) {
  for (Vector& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double mean = weights.at(name + ".running_mean").values[c];
      const double variance = weights.at(name + ".running_var").values[c];
      row[c] = (row[c] - mean) / std::sqrt(variance + 1e-5) * weights.at(name + ".weight").values[c] +
               weights.at(name + ".bias").values[c];
    }
  }
}

/// Log-probabilities of all nodes at every step along `tour`; minus infinity for visited ones.
inline Rows naive_attention_model(const Checkpoint& checkpoint, const std::vector<Point>& points,
                                  const std::vector<NodeId>& tour) {
  const auto& config = std::get<AmConfig>(checkpoint.config);
  const TensorMap& w = checkpoint.weights;
  const std::size_t n = points.size();
  const std::size_t dim = config.embedding_dim;
  const std::size_t head_dim = dim / config.num_heads;
  Rows h;
  for (const Point p : points) h.push_back(naive_linear(w, "init_embed", {p.x, p.y}));
  for (std::size_t l = 0; l < config.num_layers; ++l) {
    const std::string layer = fmt::format("embedder.layers.{}.", l);
    Rows next = h;
    for (std::size_t m = 0; m < config.num_heads; ++m) {
      const auto project = [&](const char* name, const Vector& x) {
        Vector y(head_dim);
        for (std::size_t c = 0; c < head_dim; ++c) {
          for (std::size_t k = 0; k < dim; ++k) {
            y[c] += x[k] * static_cast<double>(w.at(layer + "0.module." + name).values[(m * dim + k) * head_dim + c]);
          }
        }
        return y;
      };
      for (std::size_t i = 0; i < n; ++i) {
        const Vector query = project("W_query", h[i]);
        Vector scores(n);
        for (std::size_t j = 0; j < n; ++j) {
          const Vector key = project("W_key", h[j]);
          for (std::size_t c = 0; c < head_dim; ++c) scores[j] += query[c] * key[c];
          scores[j] /= std::sqrt(static_cast<double>(head_dim));
        }
        scores = naive_softmax(scores);
        for (std::size_t j = 0; j < n; ++j) {
          const Vector value = project("W_val", h[j]);
          for (std::size_t c = 0; c < head_dim; ++c) {
            for (std::size_t o = 0; o < dim; ++o) {
              next[i][o] += scores[j] * value[c] *
                            static_cast<double>(w.at(layer + "0.module.W_out").values[(m * head_dim + c) * dim + o]);
            }
          }
        }
      }
    }
    naive_batch_norm(w, layer + "1.normalizer", next);
    for (Vector& row : next) {
      Vector hidden = naive_linear(w, layer + "2.module.0", row);
      for (double& v : hidden) v = std::max(v, 0.0);
      const Vector change = naive_linear(w, layer + "2.module.2", hidden);
      for (std::size_t c = 0; c < dim; ++c) row[c] += change[c];
    }
    naive_batch_norm(w, layer + "3.normalizer", next);
    h = next;
  }
  Vector mean(dim);
  for (const Vector& row : h) {
    for (std::size_t c = 0; c < dim; ++c) mean[c] += row[c] / static_cast<double>(n);
  }
  const Vector fixed = naive_linear(w, "project_fixed_context", mean);
  Rows projected;
  for (const Vector& row : h) projected.push_back(naive_linear(w, "project_node_embeddings", row));
  Rows result;
  std::vector<bool> visited(n);
  for (std::size_t t = 0; t < n; ++t) {
    Vector context;
    if (t == 0) {
      const auto& placeholder = w.at("W_placeholder").values;
      context.assign(placeholder.begin(), placeholder.end());
    } else {
      context = h[static_cast<std::size_t>(tour[0])];
      const Vector& last = h[static_cast<std::size_t>(tour[t - 1])];
      context.insert(context.end(), last.begin(), last.end());
    }
    Vector query = naive_linear(w, "project_step_context", context);
    for (std::size_t c = 0; c < dim; ++c) query[c] += fixed[c];
    constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
    Vector heads(dim);
    for (std::size_t m = 0; m < config.num_heads; ++m) {
      Vector scores(n);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t c = m * head_dim; c < (m + 1) * head_dim; ++c) scores[j] += query[c] * projected[j][c];
        scores[j] = visited[j] ? kMinusInfinity : scores[j] / std::sqrt(static_cast<double>(head_dim));
      }
      scores = naive_softmax(scores);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t c = m * head_dim; c < (m + 1) * head_dim; ++c) heads[c] += scores[j] * projected[j][dim + c];
      }
    }
    const Vector glimpse = naive_linear(w, "project_out", heads);
    Vector logits(n);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < dim; ++c) logits[j] += glimpse[c] * projected[j][2 * dim + c];
      logits[j] =
          visited[j] ? kMinusInfinity : config.tanh_clip * std::tanh(logits[j] / std::sqrt(static_cast<double>(dim)));
      sum += std::exp(logits[j]);
    }
    for (double& z : logits) z -= std::log(sum);
    result.push_back(logits);
    visited[static_cast<std::size_t>(tour[t])] = true;
  }
  return result;
}

}  // namespace puretour::test
