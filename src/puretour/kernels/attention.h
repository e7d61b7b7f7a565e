// Multi-head attention of all rows to all rows, in memory that grows with the number of rows only.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace puretour::kernels {

struct AttentionShape {
  std::size_t num_heads = 1;
  std::size_t head_dim = 1;
  float scale = 1;  // queries are multiplied by it
  [[nodiscard]] std::size_t dim() const { return num_heads * head_dim; }
};

/// out[i] = for every head the mean of the values, weighted by softmax over j of scale * query[i] . key[j]. Row i of
/// `qkv` holds query, key and value (dim each, heads one after the other), row i of `out` the heads' results (dim).
/// Needs about 2 dim floats per row besides; the result does not depend on the number of threads.
void self_attention(const float* qkv, std::size_t num_rows, const AttentionShape& shape, float* out, int threads = 1);

}  // namespace puretour::kernels
