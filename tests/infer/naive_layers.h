// Layers of the second implementations of the networks: double precision, plain loops. Oracles for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "puretour/geometry/point.h"
#include "puretour/models/tensor.h"

namespace puretour::test {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

/// y = x W^T + b, with the weights copied once and laid out by input: many calls per test stay affordable.
class NaiveLinear {
 public:
  NaiveLinear() = default;

  /// `name` stands for name.weight, and name.bias where there is one.
  NaiveLinear(const TensorMap& weights, const std::string& name)
      : NaiveLinear(weights.at(name + ".weight"), 0, weights.at(name + ".weight").shape[0]) {
    const auto bias = weights.find(name + ".bias");
    if (bias != weights.end()) bias_.assign(bias->second.values.begin(), bias->second.values.end());
  }

  /// Rows first_row .. first_row + num_rows - 1 of a weight, without bias.
  NaiveLinear(const Tensor& weight, std::size_t first_row, std::size_t num_rows)
      : bias_(num_rows), by_input_(weight.shape[1], Vector(num_rows)) {
    for (std::size_t o = 0; o < num_rows; ++o) {
      for (std::size_t i = 0; i < by_input_.size(); ++i) {
        by_input_[i][o] = weight.values[(first_row + o) * by_input_.size() + i];
      }
    }
  }

  Vector operator()(const Vector& x) const {
    Vector y = bias_;
    double* const to = y.data();
    std::size_t i = 0;
    for (; i + 4 <= by_input_.size(); i += 4) {  // four inputs at a time: tests are compiled for speed of compilation
      const std::array<double, 4> f = {x[i], x[i + 1], x[i + 2], x[i + 3]};
      const double* const a = by_input_[i].data();
      const double* const b = by_input_[i + 1].data();
      const double* const c = by_input_[i + 2].data();
      const double* const d = by_input_[i + 3].data();
      for (std::size_t o = 0; o < bias_.size(); ++o) {
        to[o] += (f[0] * a[o] + f[1] * b[o]) + (f[2] * c[o] + f[3] * d[o]);
      }
    }
    for (; i < by_input_.size(); ++i) {
      for (std::size_t o = 0; o < bias_.size(); ++o) to[o] += x[i] * by_input_[i][o];
    }
    return y;
  }

  Rows operator()(const Rows& rows) const {
    Rows result;
    for (const Vector& row : rows) result.push_back((*this)(row));
    return result;
  }

 private:
  Vector bias_;
  Rows by_input_;
};

inline void add_to(Vector& sum, const Vector& other) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += other[c];
}

inline Vector added(Vector a, const Vector& b) {
  add_to(a, b);
  return a;
}

inline double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// Minus infinity has probability 0. Scores must not overflow exp.
inline Vector naive_softmax(Vector scores) {
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s);
  for (double& s : scores) s /= sum;
  return scores;
}

/// For each query the mean of the values, weighted by softmax(scale * query . key) in each head. A head has
/// neighbouring channels; `interleaved_queries` is the mistake of taking those of the queries from all over the row.
inline Rows naive_attention(const Rows& queries, const Rows& keys, const Rows& values, std::size_t num_heads,
                            double scale, bool interleaved_queries = false) {
  const std::size_t dim = values[0].size();
  const std::size_t head_dim = dim / num_heads;
  Rows result(queries.size(), Vector(dim));
  for (std::size_t m = 0; m < num_heads; ++m) {
    const std::size_t begin = m * head_dim;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      Vector scores(keys.size());
      for (std::size_t j = 0; j < keys.size(); ++j) {
        for (std::size_t c = 0; c < head_dim; ++c) {
          scores[j] += queries[i][interleaved_queries ? c * num_heads + m : begin + c] * keys[j][begin + c];
        }
        scores[j] *= scale;
      }
      scores = naive_softmax(scores);
      for (std::size_t j = 0; j < keys.size(); ++j) {
        for (std::size_t c = begin; c < begin + head_dim; ++c) result[i][c] += scores[j] * values[j][c];
      }
    }
  }
  return result;
}

/// A tour with the log-probabilities of all its nodes but the first, which is given.
struct NaiveRollout {
  std::vector<NodeId> order;
  Vector log_probs;
  std::vector<std::array<double, 2>> two_best;  // the largest probabilities of each step; 0: there is only one

  [[nodiscard]] double log_prob() const { return std::accumulate(log_probs.begin(), log_probs.end(), 0.0); }
};

/// Index of the largest probability, the first of equals; what it says of the two best is added to the roll-out.
inline std::size_t greedy_choice(const Vector& p, NaiveRollout& rollout) {
  const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  double second = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (j != best) second = std::max(second, p[j]);
  }
  rollout.two_best.push_back({p[best], second});
  return best;
}

}  // namespace puretour::test
