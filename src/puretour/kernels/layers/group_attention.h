// Multi-head attention of many small groups, forward and backward: what networks in training spend their time on.
//
// A group is an instance, a tour or a view. Its scores never leave the cache; the backward pass computes them again
// instead of reading them from memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/kernels/layers/attention.h"

namespace puretour::kernels {

/// Rows of queries that look at rows of keys (and at the values of the same numbers).
struct Group {
  std::size_t query_begin = 0;
  std::size_t num_queries = 0;
  std::size_t key_begin = 0;
  std::size_t num_keys = 0;  // at least one
  /// Null: every query sees every key. Else query number q of the group sees the keys j with ranks[j] >= first_rank +
  /// q, of which there must be one. With ranks = places of the nodes in a tour these are the nodes not visited before.
  const std::int32_t* ranks = nullptr;
  std::int32_t first_rank = 0;
};

/// Rows of a matrix of which some columns are used: `data` points to the first of them.
struct Rows {
  const float* data = nullptr;
  std::size_t stride = 0;
};
struct MutableRows {
  float* data = nullptr;
  std::size_t stride = 0;
};

/// out[i] = attention of query i to the keys that it sees, heads side by side. Precision::kBfloat16 rounds the factors
/// of products where that is faster on this CPU.
void group_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                     MutableRows out, Precision precision = Precision::kFloat);

/// What happens to the gradients of keys and values: added to what is there, as groups may share keys, or written over
/// it, where every group has keys of its own.
enum class KeyGradients : std::uint8_t { kAdd, kWrite };

/// From the gradient of `out`: writes that of the queries, adds or writes those of keys and values. Writes `out` too,
/// if it is given: cheaper than computing it once more.
void group_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                              Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                              MutableRows value_gradient, Precision precision = Precision::kFloat, MutableRows out = {},
                              KeyGradients key_gradients = KeyGradients::kAdd);

}  // namespace puretour::kernels
