// SPDX-License-Identifier: MIT
#include "puretour/kernels/pointer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "puretour/kernels/aligned.h"
#include "puretour/kernels/matrix.h"
#include "puretour/kernels/panels.h"
#include "puretour/kernels/rows.h"

namespace puretour::kernels {
namespace {

struct Workspace {
  AlignedVector<float> keys_by_channel;  // panels of dim x keys
  AlignedVector<float> keys_by_row;      // panels of keys x dim
  AlignedVector<float> scores;           // queries x padded keys, clipped
  AlignedVector<float> weights;          // one row: exp(score - largest)

  Workspace(std::span<const PointerGroup> groups, std::size_t dim) {
    std::size_t most_queries = 0;
    std::size_t most_keys = 0;
    for (const PointerGroup& g : groups) {
      most_queries = std::max(most_queries, g.rows.num_queries);
      most_keys = std::max(most_keys, g.rows.num_keys);
    }
    keys_by_channel.resize(padded(most_keys) * dim);
    keys_by_row.resize(most_keys * padded(dim));
    scores.resize(most_queries * padded(most_keys));
    weights.resize(padded(most_keys));
  }
};

void compute_scores(const PointerGroup& group, const PointerShape& shape, Rows queries, Rows keys, bool new_keys,
                    Workspace& work) {
  const Group& rows = group.rows;
  const std::size_t stride = padded(rows.num_keys);
  if (new_keys) {
    pack_rows_as_columns(keys.data + rows.key_begin * keys.stride, keys.stride, rows.num_keys, shape.dim,
                         work.keys_by_channel.data());
  }
  multiply(queries.data + rows.query_begin * queries.stride, rows.num_queries, queries.stride,
           {work.keys_by_channel.data(), shape.dim, shape.dim * kBlock, stride}, nullptr, work.scores.data(), stride);
  for (std::size_t q = 0; q < rows.num_queries; ++q) {
    float* row = work.scores.data() + q * stride;
    scale(row, rows.num_keys, shape.scale);
    if (group.coordinates != nullptr) {
      float here[kDistanceDims];
      for (std::size_t k = 0; k < kDistanceDims; ++k) {
        here[k] = group.coordinates[k * rows.num_keys + static_cast<std::size_t>(group.here[q])];
      }
      subtract_distances(row, group.coordinates, rows.num_keys, here, rows.num_keys);
    }
    clipped_tanh(row, rows.num_keys, shape.clip);
  }
}

// Leaves exp(score - largest) of the keys that query q sees in work.weights.
void compute_weights(const Group& rows, std::size_t q, Workspace& work, float* largest, float* sum) {
  std::copy_n(work.scores.data() + q * padded(rows.num_keys), rows.num_keys, work.weights.data());
  if (rows.ranks != nullptr) {
    mask_below(work.weights.data(), rows.ranks, rows.first_rank + static_cast<std::int32_t>(q), rows.num_keys);
  }
  exponentials(work.weights.data(), rows.num_keys, largest, sum);
}

bool same_keys(const Group& a, const Group& b) {
  return a.key_begin == b.key_begin && a.num_keys == b.num_keys;
}

}  // namespace

void pointer_log_probs(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                       float* log_probs) {
  Workspace work(groups, shape.dim);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& rows = groups[g].rows;
    compute_scores(groups[g], shape, queries, keys, g == 0 || !same_keys(rows, groups[g - 1].rows), work);
    for (std::size_t q = 0; q < rows.num_queries; ++q) {
      if (groups[g].chosen[q] < 0) {
        log_probs[rows.query_begin + q] = -std::numeric_limits<float>::infinity();
        continue;
      }
      float largest = 0;
      float sum = 0;
      compute_weights(rows, q, work, &largest, &sum);
      const float score = work.scores[q * padded(rows.num_keys) + static_cast<std::size_t>(groups[g].chosen[q])];
      const float log_prob = score - largest - std::log(sum);
      log_probs[rows.query_begin + q] = shape.floor == 0 ? log_prob : std::log(std::exp(log_prob) + shape.floor);
    }
  }
}

void pointer_gradient(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                      const float* log_prob_gradients, MutableRows query_gradient, MutableRows key_gradient) {
  Workspace work(groups, shape.dim);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& rows = groups[g].rows;
    const std::size_t stride = padded(rows.num_keys);
    const bool new_keys = g == 0 || !same_keys(rows, groups[g - 1].rows);
    compute_scores(groups[g], shape, queries, keys, new_keys, work);
    if (new_keys) {
      pack_rows(keys.data + rows.key_begin * keys.stride, keys.stride, rows.num_keys, shape.dim,
                work.keys_by_row.data());
    }
    for (std::size_t q = 0; q < rows.num_queries; ++q) {
      float largest = 0;
      float sum = 0;
      float* row = work.scores.data() + q * stride;
      if (groups[g].chosen[q] < 0) {
        std::fill_n(row, rows.num_keys, 0.0F);
        continue;
      }
      compute_weights(rows, q, work, &largest, &sum);
      const auto chosen = static_cast<std::size_t>(groups[g].chosen[q]);
      const float probability = work.weights[chosen] / sum;
      float incoming = log_prob_gradients[rows.query_begin + q];
      if (shape.floor != 0) incoming *= probability / (probability + shape.floor);
      // Of scale * tanh, by way of its value.
      const auto slope = [&](float score) { return (shape.clip - score * score / shape.clip) * shape.scale; };
      const float of_chosen = incoming * (1 - probability) * slope(row[chosen]);
      clipped_score_gradient(row, work.weights.data(), rows.num_keys, -incoming / sum, shape.clip, shape.scale);
      row[chosen] = of_chosen;
    }
    multiply(work.scores.data(), rows.num_queries, stride,
             {work.keys_by_row.data(), rows.num_keys, rows.num_keys * kBlock, shape.dim}, nullptr,
             query_gradient.data + rows.query_begin * query_gradient.stride, query_gradient.stride);
    add_transposed_product(work.scores.data(), stride, rows.num_keys, queries.data + rows.query_begin * queries.stride,
                           queries.stride, shape.dim, rows.num_queries,
                           key_gradient.data + rows.key_begin * key_gradient.stride, key_gradient.stride);
  }
}

}  // namespace puretour::kernels
