// Multi-head attention of small groups with products of bfloat16: as group_attention(), many times faster where the CPU
// has instructions for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "puretour/kernels/layers/group_attention.h"

namespace puretour::kernels {

/// Whether this CPU has the instructions, for heads of this size.
bool amx_supports(const AttentionShape& shape);

/// As group_attention() and group_attention_gradient(). Queries, keys, values, weights and their gradients are rounded
/// to bfloat16 where they are factors of a product; sums and the softmax are in float.
void tile_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                    MutableRows out);
void tile_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                             Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                             MutableRows value_gradient, MutableRows out, KeyGradients key_gradients);

}  // namespace puretour::kernels
