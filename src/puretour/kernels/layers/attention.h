// Multi-head attention of all rows to all rows, in memory that grows with the number of rows only.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "puretour/kernels/gemm/bfloat16.h"

namespace puretour::kernels {

struct AttentionShape {
  std::size_t num_heads = 1;
  std::size_t head_dim = 1;
  float scale = 1;  // queries are multiplied by it
  [[nodiscard]] std::size_t dim() const { return num_heads * head_dim; }
};

/// Rows of queries, keys or values: heads one after the other in each row.
struct AttentionRows {
  const float* data = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;  // floats from one row to the next
};

/// out[i] = for every head the mean of the values, weighted by softmax over j of scale * query[i] . key[j]. Rows of
/// `out` (dim each) follow each other without gaps. Needs about 2 dim floats per key besides; the result does not
/// depend on the number of threads.
void attention(const AttentionRows& queries, const AttentionRows& keys, const AttentionRows& values,
               const AttentionShape& shape, float* out, int threads = 1);

/// The same for rows that hold query, key and value (dim each). Precision::kBfloat16 rounds the factors of products
/// where that is faster on this CPU.
void self_attention(const float* qkv, std::size_t num_rows, const AttentionShape& shape, float* out, int threads = 1,
                    Precision precision = Precision::kFloat);

}  // namespace puretour::kernels
