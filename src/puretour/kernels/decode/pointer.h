// The last part of every decoder: clipped scores of all keys and the log-probability of the chosen one, forward and
// backward.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "puretour/kernels/layers/group_attention.h"

namespace puretour::kernels {

struct PointerShape {
  std::size_t dim = 1;
  float scale = 1;  // of the products query . key
  float clip = 1;   // scores are clip * tanh(scale * query . key - distance)
  float floor = 0;  // added to the probability before its logarithm is taken
};

/// What belongs to a group besides its rows.
struct PointerGroup {
  Group rows;
  /// Per query: the number of a key of the group that the query sees, or -1 if what was chosen is none of them: its
  /// log-probability is minus infinity.
  const std::int32_t* chosen = nullptr;
  /// Null, or six coordinates of the keys (6 x num_keys), and per query the number of the key whose distance from a key
  /// is subtracted.
  const float* coordinates = nullptr;
  const std::int32_t* here = nullptr;
  /// Null, or where to write per query whether no key that it sees has a higher score than the chosen one.
  std::uint8_t* is_best = nullptr;
};

/// log_probs[i] of query i. Precision::kBfloat16 rounds the factors of products where that is faster on this CPU.
void pointer_log_probs(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                       float* log_probs, Precision precision = Precision::kFloat);

/// From the gradients of the log-probabilities: writes those of the queries, adds those of the keys. Writes the
/// log-probabilities too, if they are wanted (not null).
void pointer_gradient(std::span<const PointerGroup> groups, const PointerShape& shape, Rows queries, Rows keys,
                      const float* log_prob_gradients, MutableRows query_gradient, MutableRows key_gradient,
                      Precision precision = Precision::kFloat, float* log_probs = nullptr);

}  // namespace puretour::kernels
