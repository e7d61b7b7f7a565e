// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/tile_attention.h"

#include "puretour/base/error.h"
#include "puretour/kernels/layers/tile_heads.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

constexpr float kLog2E = 1.44269504F;

// Kept from call to call.
HeadWorkspace& workspace_for(std::span<const Group> groups, bool backward) {
  std::size_t num_keys = 0;
  std::size_t num_queries = 0;
  for (const Group& group : groups) {
    num_keys = std::max(num_keys, group.num_keys);
    num_queries = std::max(num_queries, group.num_queries);
  }
  auto& work = scratch<HeadWorkspace>();
  work.reserve(num_queries, num_keys, backward);
  return work;
}

// Some rows of two heads.
template <class SomeRows>
auto part_of(SomeRows rows, std::size_t row, std::size_t head_pair) {
  return rows.data + row * rows.stride + head_pair * kSide;
}

template <class Use>
PURETOUR_TILE_INLINE void for_row_blocks(std::size_t num_rows, const Use& use) {
  for (std::size_t begin = 0; begin < num_rows; begin += kSide) use(begin, std::min(kSide, num_rows - begin));
}

// The groups of a call with two of the heads at a time. Keys in form are kept for groups that share them.
template <class Use>
PURETOUR_TILE_INLINE void for_heads(std::span<const Group> groups, std::size_t num_heads, const Use& use) {
  for (std::size_t pair = 0; pair < num_heads / 2; ++pair) {
    const Group* before = nullptr;
    for (const Group& group : groups) {
      if (group.num_queries == 0) continue;  // no sums begin
      const bool new_keys =
          before == nullptr || before->key_begin != group.key_begin || before->num_keys != group.num_keys;
      use(group, pair, new_keys);
      before = &group;
    }
  }
}

// rows = turned back, times factors; no factors: 1.
PURETOUR_TILE_INLINE void turn_back(const float* turned, const float* factors, const QueryRange& queries, float* rows,
                                    std::size_t stride) {
  queries.for_panels([&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
    __m512 of_panel[kBlock];
    turn_panel(turned + begin, of_panel);
    for (std::size_t q = 0; q < count; ++q) {
      const __m512 factor = _mm512_set1_ps(factors == nullptr ? 1.0F : factors[begin + q]);
      _mm512_storeu_ps(rows + (begin + q) * stride, _mm512_mul_ps(of_panel[q], factor));
    }
  });
}

template <class Heads>
PURETOUR_TILE_TARGET void forward(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                                  Rows values, MutableRows out, HeadWorkspace& work) {
  PackedHeads& forms = work.forms;
  for_heads(groups, shape.num_heads, [&](const Group& group, std::size_t pair, bool new_keys) PURETOUR_TILE_LAMBDA {
    for_row_blocks(new_keys ? group.num_keys : 0, [&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
      forms.key_rows.fill(begin, part_of(keys, group.key_begin + begin, pair), keys.stride, count);
      forms.value_columns.fill(begin, part_of(values, group.key_begin + begin, pair), values.stride, count);
    });
    for_row_blocks(group.num_queries, [&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
      forms.query_panels.fill(begin, part_of(queries, group.query_begin + begin, pair), queries.stride, count,
                              shape.scale * kLog2E);
    });
    for (std::size_t head = 0; head < 2; ++head) {
      for_query_blocks(group, [&](const QueryRange& some) PURETOUR_TILE_LAMBDA {
        attend<Heads>(head, some, work);
        turn_back(work.turned, work.factors, some, part_of(out, group.query_begin + some.begin, pair) + head * kHeadDim,
                  out.stride);
      });
    }
  });
}

// rows[key] = sums[key], or added to it.
PURETOUR_TILE_INLINE void put_sums(const float* sums, std::size_t count, KeyGradients how, float* rows,
                                   std::size_t stride) {
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t c = 0; c < kSide; c += kBlock) {
      __m512 sum = _mm512_load_ps(sums + r * kSide + c);
      if (how == KeyGradients::kAdd) sum = _mm512_add_ps(_mm512_loadu_ps(rows + r * stride + c), sum);
      _mm512_storeu_ps(rows + r * stride + c, sum);
    }
  }
}

struct GradientRows {
  MutableRows queries;
  MutableRows keys;
  MutableRows values;
  MutableRows out;  // no data: not wanted
  KeyGradients how;
};

template <class Heads>
PURETOUR_TILE_TARGET void backward(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                                   Rows values, Rows out_gradient, const GradientRows& to, HeadWorkspace& work) {
  PackedHeads& forms = work.forms;
  for_heads(groups, shape.num_heads, [&](const Group& group, std::size_t pair, bool new_keys) PURETOUR_TILE_LAMBDA {
    for_row_blocks(new_keys ? group.num_keys : 0, [&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
      const float* key_rows = part_of(keys, group.key_begin + begin, pair);
      const float* value_rows = part_of(values, group.key_begin + begin, pair);
      forms.key_rows.fill(begin, key_rows, keys.stride, count);
      forms.key_columns.fill(begin, key_rows, keys.stride, count);
      forms.value_rows.fill(begin, value_rows, values.stride, count);
      if (to.out.data != nullptr) forms.value_columns.fill(begin, value_rows, values.stride, count);
    });
    for_row_blocks(group.num_queries, [&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
      const float* query_rows = part_of(queries, group.query_begin + begin, pair);
      const float* incoming = part_of(out_gradient, group.query_begin + begin, pair);
      forms.query_panels.fill(begin, query_rows, queries.stride, count, shape.scale * kLog2E);
      forms.query_pairs.fill(begin, query_rows, queries.stride, count);
      forms.gradient_panels.fill(begin, incoming, out_gradient.stride, count, 1);
      forms.gradient_pairs.fill(begin, incoming, out_gradient.stride, count);
    });
    for (std::size_t head = 0; head < 2; ++head) {
      for_query_blocks(group, [&](const QueryRange& some) PURETOUR_TILE_LAMBDA {
        attend_gradient<Heads>(head, some, shape.scale, to.out.data != nullptr, work);
        const std::size_t first = group.query_begin + some.begin;
        turn_back(work.turned_queries, nullptr, some, part_of(to.queries, first, pair) + head * kHeadDim,
                  to.queries.stride);
        if (to.out.data == nullptr) return;
        turn_back(work.turned, nullptr, some, part_of(to.out, first, pair) + head * kHeadDim, to.out.stride);
      });
    }
    put_sums(work.key_sums, group.num_keys, to.how, part_of(to.keys, group.key_begin, pair), to.keys.stride);
    put_sums(work.value_sums, group.num_keys, to.how, part_of(to.values, group.key_begin, pair), to.values.stride);
  });
}

}  // namespace

bool amx_supports(const AttentionShape& shape) {
  return active_isa() >= Isa::kAvx512Bf16 && shape.head_dim == kHeadDim && shape.num_heads % 2 == 0;
}

void tile_attention(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys, Rows values,
                    MutableRows out) {
  const MatrixUnitInUse unit;
  HeadWorkspace& work = workspace_for(groups, false);
  if (active_isa() >= Isa::kAmx) return forward<TileHeads>(groups, shape, queries, keys, values, out, work);
  forward<RegisterHeads>(groups, shape, queries, keys, values, out, work);
}

void tile_attention_gradient(std::span<const Group> groups, const AttentionShape& shape, Rows queries, Rows keys,
                             Rows values, Rows out_gradient, MutableRows query_gradient, MutableRows key_gradient,
                             MutableRows value_gradient, MutableRows out, KeyGradients key_gradients) {
  const MatrixUnitInUse unit;
  HeadWorkspace& work = workspace_for(groups, true);
  const GradientRows to{query_gradient, key_gradient, value_gradient, out, key_gradients};
  if (active_isa() >= Isa::kAmx) {
    return backward<TileHeads>(groups, shape, queries, keys, values, out_gradient, to, work);
  }
  backward<RegisterHeads>(groups, shape, queries, keys, values, out_gradient, to, work);
}

#else

bool amx_supports(const AttentionShape& /*shape*/) {
  return false;
}

void tile_attention(std::span<const Group>, const AttentionShape&, Rows, Rows, Rows, MutableRows) {
  throw InternalError("tile_attention: this CPU has no instructions for it");
}

void tile_attention_gradient(std::span<const Group>, const AttentionShape&, Rows, Rows, Rows, Rows, MutableRows,
                             MutableRows, MutableRows, MutableRows, KeyGradients) {
  throw InternalError("tile_attention_gradient: this CPU has no instructions for it");
}

#endif

}  // namespace puretour::kernels
