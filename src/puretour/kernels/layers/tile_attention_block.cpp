// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/tile_attention_block.h"

#include <utility>

#include "puretour/base/error.h"
#include "puretour/kernels/layers/tile_attention.h"
#include "puretour/kernels/layers/tile_heads.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kLinesPerStep = 4;

// Kept from call to call.
struct Workspace {
  HeadWorkspace heads;
  alignas(64) float blocks[2][kBlockSize];  // one is multiplied, one is turned
  // Of a group, as rows of pairs:
  AlignedVector<std::uint32_t> x_rows;
  AlignedVector<std::uint32_t> incoming_rows;  // the gradient of the result
  AlignedVector<std::uint32_t> attended_rows;
  AlignedVector<float> query_sums;  // gradients of two heads: [row][channel]
  // Of all groups, each of which begins at a multiple of sixteen rows:
  AlignedVector<std::uint32_t> gradient_rows;     // of queries, keys and values: [row][pairs of channels]
  AlignedVector<std::uint32_t> gradient_panels;   // the same: [sixteen channels][pair of rows][channel]
  AlignedVector<std::uint32_t> x_columns;         // [channel][pairs of rows]; rows that are missing are zero
  AlignedVector<std::uint32_t> attended_columns;  // [channel][pairs of rows]
  AlignedVector<std::uint32_t> incoming_panels;   // [sixteen channels][pair of rows][channel]; the same
  WeightSums in_sums;                             // [input][output]
  WeightSums out_sums;                            // [input][output]
};

// The rows of a group as blocks of 32, the last of them of sixteen if that is enough.
template <class Use>
PURETOUR_TILE_INLINE void for_blocks_of_rows(std::size_t num_rows, const Use& use) {
  for (std::size_t begin = 0; begin < num_rows; begin += kSide) {
    const std::size_t count = std::min(kSide, num_rows - begin);
    use(begin, count, padded(count));
  }
}

// Products of blocks one after the other. Each is turned, by turn(block) of what it was given with, while the next one
// is multiplied.
template <class Turn>
class Line {
 public:
  PURETOUR_TILE_INLINE Line(Workspace& work, PrefetchQueue& prefetches) : prefetches_(prefetches) {
    next_ = work.blocks[0];
    last_ = work.blocks[1];
  }
  PURETOUR_TILE_INLINE void multiply(const std::uint32_t* left, const Linear& linear, std::size_t first_column,
                                     std::size_t num_rows, const Turn& turn) {
    const BlockGemm product = block_of(left, linear, first_column, next_, num_rows);
    TileBlocks::multiply(product, [&]() PURETOUR_TILE_LAMBDA { prefetches_.fetch(kLinesPerStep); });
    finish();
    TileBlocks::store(product);
    std::swap(next_, last_);
    turn_ = turn;
    is_waiting_ = true;
  }
  PURETOUR_TILE_INLINE void finish() {
    if (is_waiting_) turn_(last_);
    is_waiting_ = false;
  }

 private:
  PrefetchQueue& prefetches_;
  float* next_;
  float* last_;
  Turn turn_;
  bool is_waiting_ = false;
};

enum class Part : std::uint8_t { kQuery, kKey, kValue, kGradient };

// A block of queries, keys, values or gradients of what was attended to, which becomes all forms of it.
struct FillForms {
  PackedHeads* forms = nullptr;
  Part part = Part::kQuery;
  std::size_t first_row = 0;
  std::size_t count = 0;
  float query_factor = 0;
  bool backward = false;

  PURETOUR_TILE_INLINE void operator()(const float* block) const {
    switch (part) {
      case Part::kQuery:
        forms->query_panels.fill(first_row, block, kSide, count, query_factor);
        if (backward) forms->query_pairs.fill(first_row, block, kSide, count);
        break;
      case Part::kKey:
        forms->key_rows.fill(first_row, block, kSide, count);
        if (backward) forms->key_columns.fill(first_row, block, kSide, count);
        break;
      case Part::kValue:
        if (backward) forms->value_rows.fill(first_row, block, kSide, count);
        forms->value_columns.fill(first_row, block, kSide, count);
        break;
      case Part::kGradient:
        forms->gradient_panels.fill(first_row, block, kSide, count, 1);
        forms->gradient_pairs.fill(first_row, block, kSide, count);
        break;
    }
  }
};

// out[row] = block[row] + residual[row] for some rows of 32 columns; no residual: none.
struct WriteRows {
  float* out = nullptr;
  const float* residual = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;

  PURETOUR_TILE_INLINE void operator()(const float* block) const {
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t c = 0; c < kSide; c += kBlock) {
        __m512 sum = _mm512_load_ps(block + r * kSide + c);
        if (residual != nullptr) sum = _mm512_add_ps(sum, _mm512_loadu_ps(residual + r * stride + c));
        _mm512_storeu_ps(out + r * stride + c, sum);
      }
    }
  }
};

// out[r] = rows[r] . linear + residual[r], 32 columns at a time.
PURETOUR_TILE_INLINE void project(const std::uint32_t* rows, std::size_t num_rows, const Linear& linear,
                                  const float* residual, float* out, PrefetchQueue& prefetches, Workspace& work) {
  const std::size_t columns = linear.outputs();
  const std::size_t stride = padded_stride(linear.bf16.num_pairs());
  Line<WriteRows> line(work, prefetches);
  for (std::size_t c = 0; c < columns; c += kSide) {
    for_blocks_of_rows(num_rows, [&](std::size_t r, std::size_t count, std::size_t height) PURETOUR_TILE_LAMBDA {
      const std::size_t at = r * columns + c;
      line.multiply(rows + r * stride, linear, c, height,
                    {out + at, residual == nullptr ? nullptr : residual + at, columns, count});
    });
  }
  line.finish();
}

constexpr float kLog2E = 1.44269504F;

PURETOUR_TILE_TARGET void forward_group(const AttentionBlock& block, std::size_t num_rows, const float* x,
                                        const float* residual, float* out, PrefetchQueue& prefetches, Workspace& work) {
  const std::size_t dim = block.shape.dim();
  const std::size_t stride = padded_stride(dim / 2);
  const Group group{0, num_rows, 0, num_rows};
  std::uint32_t* x_rows = ensure_size(work.x_rows, padded_to_side(num_rows) * stride);
  std::uint32_t* attended_rows = ensure_size(work.attended_rows, padded_to_side(num_rows) * stride);
  work.heads.reserve(num_rows, num_rows, false);
  round_rows(x, dim, num_rows, dim, x_rows, stride, dim / 2);
  for (std::size_t first = 0; first < dim; first += kSide) {
    Line<FillForms> line(work, prefetches);
    for (const Part part : {Part::kQuery, Part::kKey, Part::kValue}) {
      for_blocks_of_rows(num_rows, [&](std::size_t r, std::size_t count, std::size_t height) PURETOUR_TILE_LAMBDA {
        line.multiply(x_rows + r * stride, block.project_in, static_cast<std::size_t>(part) * dim + first, height,
                      {&work.heads.forms, part, r, count, block.shape.scale * kLog2E, false});
      });
    }
    line.finish();
    for (std::size_t head = 0; head < 2; ++head) {
      for_query_blocks(group, [&](const QueryRange& queries) PURETOUR_TILE_LAMBDA {
        attend<TileHeads>(head, queries, work.heads);
        std::uint32_t* rows = attended_rows + queries.begin * stride + (first + head * kHeadDim) / 2;
        queries.for_panels([&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
          __m512 of_panel[kBlock];
          turn_panel(work.heads.turned + begin, of_panel);
          for (std::size_t q = 0; q < count; ++q) {
            store_half_row(rows + (begin + q) * stride,
                           _mm512_mul_ps(of_panel[q], _mm512_set1_ps(work.heads.factors[begin + q])));
          }
        });
      });
    }
  }
  project(attended_rows, num_rows, block.project_out, residual, out, prefetches, work);
}

// Where the rows of the groups of a call are.
struct Layout {
  std::size_t num_rows = 0;   // of all groups, each whole tiles of sixteen; together whole tiles of 32
  std::size_t num_pairs = 0;  // of rows
  std::size_t column_stride = 0;

  explicit Layout(std::span<const Group> groups) {
    for (const Group& group : groups) num_rows += padded(group.num_queries);
    num_rows = padded_to_side(num_rows);
    num_pairs = num_rows / 2;
    column_stride = padded_stride(num_pairs + kTilePairs);  // columns of a group are written 32 rows at a time
  }
};

// Rows of all channels as panels, at row `first_row` of the layout; rows that are missing of the last sixteen are zero.
PURETOUR_TILE_INLINE void put_panels(const float* rows, std::size_t num_rows, std::size_t dim, std::size_t first_row,
                                     const Layout& layout, std::uint32_t* panels) {
  const __m512i order = interleaving();
  const __m512 zero = _mm512_setzero_ps();
  for (std::size_t r = 0; r < padded(num_rows); r += 2) {
    for (std::size_t c = 0; c < dim; c += kBlock) {
      const float* from = rows + r * dim + c;
      store_pair(panels + (c / kBlock * layout.num_pairs + (first_row + r) / 2) * kBlock,
                 r < num_rows ? _mm512_loadu_ps(from) : zero, r + 1 < num_rows ? _mm512_loadu_ps(from + dim) : zero,
                 order);
    }
  }
}

// Clears the rows of panels from first_row on.
void clear_rows(std::size_t first_row, std::size_t num_channels, const Layout& layout, std::uint32_t* panels) {
  for (std::size_t c = 0; c < num_channels; c += kBlock) {
    std::uint32_t* panel = panels + c * layout.num_pairs;
    std::fill(panel + first_row / 2 * kBlock, panel + layout.num_pairs * kBlock, 0);
  }
}

// Gradients of two heads as rows and panels of `channel` and the next ones; rows that are missing of the last sixteen
// are zero in panels.
PURETOUR_TILE_INLINE void put_gradients(const float* sums, std::size_t num_rows, std::size_t channel,
                                        std::size_t first_row, std::size_t row_stride, const Layout& layout,
                                        Workspace& work) {
  const __m512i order = interleaving();
  std::uint32_t* rows = work.gradient_rows.data() + first_row * row_stride + channel / 2;
  std::uint32_t* panel = work.gradient_panels.data() + (channel / kBlock * layout.num_pairs + first_row / 2) * kBlock;
  for (std::size_t r = 0; r < padded(num_rows); r += 2) {
    __m512 values[2][2] = {};  // [row][half]
    for (std::size_t i = 0; i < 2 && r + i < num_rows; ++i) {
      for (std::size_t half = 0; half < 2; ++half) {
        values[i][half] = _mm512_load_ps(sums + (r + i) * kSide + half * kBlock);
      }
    }
    store_row(rows + r * row_stride, values[0][0], values[0][1]);
    store_row(rows + (r + 1) * row_stride, values[1][0], values[1][1]);
    store_pair(panel + r / 2 * kBlock, values[0][0], values[1][0], order);
    store_pair(panel + (layout.num_pairs + r / 2) * kBlock, values[0][1], values[1][1], order);
  }
}

PURETOUR_TILE_TARGET void backward_group(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                                         const Layout& layout, std::size_t first_row, std::size_t num_rows,
                                         const float* x, const float* incoming, bool residual_is_x, float* outgoing,
                                         PrefetchQueue& prefetches, Workspace& work) {
  const std::size_t dim = block.shape.dim();
  const std::size_t stride = padded_stride(dim / 2);
  const std::size_t gradient_stride = padded_stride(3 * dim / 2);
  const Group group{0, num_rows, 0, num_rows};
  round_rows(x, dim, num_rows, dim, work.x_rows.data(), stride, dim / 2);
  round_rows(incoming, dim, num_rows, dim, work.incoming_rows.data(), stride, dim / 2);
  round_columns(x, dim, num_rows, dim, work.x_columns.data() + first_row / 2, layout.column_stride);
  put_panels(incoming, num_rows, dim, first_row, layout, work.incoming_panels.data());
  for (std::size_t first = 0; first < dim; first += kSide) {
    Line<FillForms> line(work, prefetches);
    for (const Part part : {Part::kQuery, Part::kKey, Part::kValue}) {
      for_blocks_of_rows(num_rows, [&](std::size_t r, std::size_t count, std::size_t height) PURETOUR_TILE_LAMBDA {
        line.multiply(work.x_rows.data() + r * stride, block.project_in, static_cast<std::size_t>(part) * dim + first,
                      height, {&work.heads.forms, part, r, count, block.shape.scale * kLog2E, true});
      });
    }
    for_blocks_of_rows(num_rows, [&](std::size_t r, std::size_t count, std::size_t height) PURETOUR_TILE_LAMBDA {
      line.multiply(work.incoming_rows.data() + r * stride, transposed.project_out, first, height,
                    {&work.heads.forms, Part::kGradient, r, count, 1, true});
    });
    line.finish();
    for (std::size_t head = 0; head < 2; ++head) {
      for_query_blocks(group, [&](const QueryRange& queries) PURETOUR_TILE_LAMBDA {
        attend_gradient<TileHeads>(head, queries, block.shape.scale, true, work.heads);
        queries.for_panels([&](std::size_t begin, std::size_t count) PURETOUR_TILE_LAMBDA {
          __m512 of_panel[kBlock];
          turn_panel(work.heads.turned_queries + begin, of_panel);
          float* rows = work.query_sums.data() + (queries.begin + begin) * kSide + head * kHeadDim;
          for (std::size_t q = 0; q < count; ++q) _mm512_store_ps(rows + q * kSide, of_panel[q]);
        });
        std::uint32_t* columns = work.attended_columns.data() + (first + head * kHeadDim) * layout.column_stride +
                                 (first_row + queries.begin) / 2;
        for (std::size_t c = 0; c < kHeadDim; ++c) {
          const float* turned = work.heads.turned + c * kQueryBlock;
          store_row(columns + c * layout.column_stride, _mm512_load_ps(turned),
                    queries.count > kBlock ? _mm512_load_ps(turned + kBlock) : _mm512_setzero_ps());
        }
      });
    }
    put_gradients(work.query_sums.data(), num_rows, first, first_row, gradient_stride, layout, work);
    put_gradients(work.heads.key_sums, num_rows, dim + first, first_row, gradient_stride, layout, work);
    put_gradients(work.heads.value_sums, num_rows, 2 * dim + first, first_row, gradient_stride, layout, work);
  }
  project(work.gradient_rows.data() + first_row * gradient_stride, num_rows, transposed.project_in,
          residual_is_x ? incoming : nullptr, outgoing, prefetches, work);
}

PURETOUR_TILE_TARGET void backward(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                                   std::span<const Group> groups, const float* x, const float* out_gradient,
                                   bool residual_is_x, float* x_gradient, PrefetchQueue& prefetches, Workspace& work) {
  const std::size_t dim = block.shape.dim();
  const Layout layout(groups);
  std::size_t most_rows = 0;
  for (const Group& group : groups) most_rows = std::max(most_rows, group.num_queries);
  ensure_size(work.x_rows, padded_to_side(most_rows) * padded_stride(dim / 2));
  ensure_size(work.incoming_rows, padded_to_side(most_rows) * padded_stride(dim / 2));
  ensure_size(work.query_sums, padded_to_side(most_rows) * kSide);
  work.heads.reserve(most_rows, most_rows, true);
  ensure_size(work.gradient_rows, (layout.num_rows + kSide) * padded_stride(3 * dim / 2));
  ensure_size(work.gradient_panels, layout.num_pairs * 3 * dim);
  ensure_size(work.x_columns, layout.column_stride * dim);
  ensure_size(work.attended_columns, layout.column_stride * dim);
  ensure_size(work.incoming_panels, layout.num_pairs * dim);
  std::size_t first_row = 0;
  for (const Group& group : groups) {
    const std::size_t at = group.query_begin * dim;
    backward_group(block, transposed, layout, first_row, group.num_queries, x + at, out_gradient + at, residual_is_x,
                   x_gradient + at, prefetches, work);
    first_row += padded(group.num_queries);
  }
  if (first_row < layout.num_rows) {  // sixteen rows behind the last group; it has cleared its columns there itself
    clear_rows(first_row, dim, layout, work.incoming_panels.data());
    clear_rows(first_row, 3 * dim, layout, work.gradient_panels.data());
  }
  const auto fetch = [&]() PURETOUR_TILE_LAMBDA { prefetches.fetch(2); };
  for (std::size_t c = 0; c < 3 * dim; c += kSide) {
    work.in_sums.add<TileBlocks>(work.x_columns.data(), layout.column_stride,
                                 work.gradient_panels.data() + c * layout.num_pairs, layout.num_pairs, c, fetch);
  }
  for (std::size_t c = 0; c < dim; c += kSide) {
    work.out_sums.add<TileBlocks>(work.attended_columns.data(), layout.column_stride,
                                  work.incoming_panels.data() + c * layout.num_pairs, layout.num_pairs, c, fetch);
  }
}

}  // namespace

bool amx_supports(const AttentionBlock& block) {
  return active_isa() >= Isa::kAmx && amx_supports(block.shape) && is_in_blocks(block.project_in) &&
         is_in_blocks(block.project_out);
}

void tile_attention_block(const AttentionBlock& block, std::span<const Group> groups, const float* x,
                          const float* residual, float* out, PrefetchQueue& prefetches) {
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  for (const Group& group : groups) {
    const std::size_t at = group.query_begin * block.shape.dim();
    const float* added = residual == nullptr ? nullptr : residual + at;
    forward_group(block, group.num_queries, x + at, added, out + at, prefetches, work);
  }
}

void begin_tile_attention_block_gradient(const AttentionBlock& block) {
  auto& work = scratch<Workspace>();
  work.in_sums.begin(block.project_in.inputs(), block.project_in.outputs());
  work.out_sums.begin(block.project_out.inputs(), block.project_out.outputs());
}

void tile_attention_block_gradient(const AttentionBlock& block, const TransposedAttentionBlock& transposed,
                                   std::span<const Group> groups, const float* x, const float* out_gradient,
                                   bool residual_is_x, float* x_gradient, PrefetchQueue& prefetches) {
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  backward(block, transposed, groups, x, out_gradient, residual_is_x, x_gradient, prefetches, work);
}

void end_tile_attention_block_gradient(const AttentionBlockGradient& sums) {
  const auto& work = scratch<Workspace>();
  work.in_sums.add_turned_to(sums.in_weight);
  work.out_sums.add_turned_to(sums.out_weight);
}

#else

bool amx_supports(const AttentionBlock& /*block*/) {
  return false;
}

void tile_attention_block(const AttentionBlock&, std::span<const Group>, const float*, const float*, float*,
                          PrefetchQueue&) {
  throw InternalError("tile_attention_block: this CPU has no instructions for it");
}

void begin_tile_attention_block_gradient(const AttentionBlock&) {}

void tile_attention_block_gradient(const AttentionBlock&, const TransposedAttentionBlock&, std::span<const Group>,
                                   const float*, const float*, bool, float*, PrefetchQueue&) {
  throw InternalError("tile_attention_block_gradient: this CPU has no instructions for it");
}

void end_tile_attention_block_gradient(const AttentionBlockGradient&) {}

#endif

}  // namespace puretour::kernels
