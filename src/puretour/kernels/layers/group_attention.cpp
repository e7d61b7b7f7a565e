// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/group_attention.h"

#include <algorithm>

#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/gemm/panels.h"
#include "puretour/kernels/layers/tile_attention.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"

namespace puretour::kernels {
namespace {

// The memory of one head of one group, kept from group to group. Products are computed for whole blocks of keys: what
// lies behind the last key is left over from another group, and never used.
struct Workspace {
  AlignedVector<float> queries;            // scaled
  AlignedVector<float> keys_by_channel;    // panels of head_dim x keys
  AlignedVector<float> keys_by_row;        // panels of keys x head_dim
  AlignedVector<float> values_by_row;      // panels of keys x head_dim
  AlignedVector<float> values_by_channel;  // panels of head_dim x keys
  AlignedVector<float> weights;            // queries x padded keys
  AlignedVector<float> weight_gradients;   // queries x padded keys
  AlignedVector<float> sums;               // per query

  Workspace(std::span<const Group> groups, std::size_t head_dim) {
    std::size_t most_queries = 0;
    std::size_t most_keys = 0;
    for (const Group& g : groups) {
      most_queries = std::max(most_queries, g.num_queries);
      most_keys = std::max(most_keys, g.num_keys);
    }
    const std::size_t key_width = padded(most_keys);
    const std::size_t width = padded(head_dim);
    queries.resize(most_queries * head_dim);
    keys_by_channel.resize(key_width * head_dim);
    values_by_channel.resize(key_width * head_dim);
    keys_by_row.resize(most_keys * width);
    values_by_row.resize(most_keys * width);
    weights.resize(most_queries * key_width);
    weight_gradients.resize(most_queries * key_width);
    sums.resize(most_queries);
  }
};

// Leaves exp(score - largest) in weights, and their sums.
void compute_weights(const Group& group, const AttentionShape& shape, Rows queries, Rows keys, std::size_t head,
                     Workspace& work) {
  const std::size_t first = head * shape.head_dim;
  const std::size_t stride = padded(group.num_keys);
  for (std::size_t q = 0; q < group.num_queries; ++q) {
    const float* query = queries.data + (group.query_begin + q) * queries.stride + first;
    for (std::size_t c = 0; c < shape.head_dim; ++c) work.queries[q * shape.head_dim + c] = query[c] * shape.scale;
  }
  pack_rows_as_columns(keys.data + group.key_begin * keys.stride + first, keys.stride, group.num_keys, shape.head_dim,
                       work.keys_by_channel.data());
  multiply(work.queries.data(), group.num_queries, shape.head_dim,
           {work.keys_by_channel.data(), shape.head_dim, shape.head_dim * kBlock, stride}, nullptr, work.weights.data(),
           stride);
  for (std::size_t q = 0; q < group.num_queries && group.ranks != nullptr; ++q) {
    mask_below(work.weights.data() + q * stride, group.ranks, group.first_rank + static_cast<std::int32_t>(q),
               group.num_keys);
  }
  exponentials_of_rows(work.weights.data(), group.num_queries, stride, group.num_keys, work.sums.data());
}

}  // namespace

void group_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                     MutableRows out, Precision precision) {
  if (precision == Precision::kBfloat16 && amx_supports(shape)) {
    return tile_attention(groups, shape, queries, keys, values, out);
  }
  Workspace work(groups, shape.head_dim);
  for (const Group& group : groups) {
    const std::size_t stride = padded(group.num_keys);
    for (std::size_t head = 0; head < shape.num_heads; ++head) {
      const std::size_t first = head * shape.head_dim;
      compute_weights(group, shape, queries, keys, head, work);
      pack_rows(values.data + group.key_begin * values.stride + first, values.stride, group.num_keys, shape.head_dim,
                work.values_by_row.data());
      float* result = out.data + group.query_begin * out.stride + first;
      multiply(work.weights.data(), group.num_queries, stride,
               {work.values_by_row.data(), group.num_keys, group.num_keys * kBlock, shape.head_dim}, nullptr, result,
               out.stride);
      for (std::size_t q = 0; q < group.num_queries; ++q) {
        const float factor = 1 / work.sums[q];
        for (std::size_t c = 0; c < shape.head_dim; ++c) result[q * out.stride + c] *= factor;
      }
    }
  }
}

void group_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                              Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                              MutableRows value_gradient, Precision precision, MutableRows out,
                              KeyGradients key_gradients) {
  if (precision == Precision::kBfloat16 && amx_supports(shape)) {
    return tile_attention_gradient(groups, shape, queries, keys, values, out_gradient, query_gradient, key_gradient,
                                   value_gradient, out, key_gradients);
  }
  if (key_gradients == KeyGradients::kWrite) {
    for (const Group& group : groups) {
      for (std::size_t r = group.key_begin; r < group.key_begin + group.num_keys; ++r) {
        std::fill_n(key_gradient.data + r * key_gradient.stride, shape.dim(), 0.0F);
        std::fill_n(value_gradient.data + r * value_gradient.stride, shape.dim(), 0.0F);
      }
    }
  }
  if (out.data != nullptr) group_attention(groups, shape, queries, keys, values, out, precision);
  Workspace work(groups, shape.head_dim);
  for (const Group& group : groups) {
    const std::size_t stride = padded(group.num_keys);
    for (std::size_t head = 0; head < shape.num_heads; ++head) {
      const std::size_t first = head * shape.head_dim;
      compute_weights(group, shape, queries, keys, head, work);
      pack_rows_as_columns(values.data + group.key_begin * values.stride + first, values.stride, group.num_keys,
                           shape.head_dim, work.values_by_channel.data());
      const float* incoming = out_gradient.data + group.query_begin * out_gradient.stride + first;
      multiply(incoming, group.num_queries, out_gradient.stride,
               {work.values_by_channel.data(), shape.head_dim, shape.head_dim * kBlock, stride}, nullptr,
               work.weight_gradients.data(), stride);
      for (std::size_t q = 0; q < group.num_queries; ++q) {
        softmax_gradient(work.weights.data() + q * stride, work.weight_gradients.data() + q * stride, group.num_keys,
                         1 / work.sums[q], shape.scale);
      }
      pack_rows(keys.data + group.key_begin * keys.stride + first, keys.stride, group.num_keys, shape.head_dim,
                work.keys_by_row.data());
      multiply(work.weight_gradients.data(), group.num_queries, stride,
               {work.keys_by_row.data(), group.num_keys, group.num_keys * kBlock, shape.head_dim}, nullptr,
               query_gradient.data + group.query_begin * query_gradient.stride + first, query_gradient.stride);
      add_transposed_product(work.weight_gradients.data(), stride, group.num_keys,
                             queries.data + group.query_begin * queries.stride + first, queries.stride, shape.head_dim,
                             group.num_queries, key_gradient.data + group.key_begin * key_gradient.stride + first,
                             key_gradient.stride);
      add_transposed_product(work.weights.data(), stride, group.num_keys, incoming, out_gradient.stride, shape.head_dim,
                             group.num_queries, value_gradient.data + group.key_begin * value_gradient.stride + first,
                             value_gradient.stride);
    }
  }
}

}  // namespace puretour::kernels
