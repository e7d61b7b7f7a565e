// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/encoder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "puretour/kernels/layers/group_chunks.h"
#include "puretour/kernels/layers/normalise.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// The rows of a block a few at a time, whole groups for attention.
template <class Use>
void for_chunks(const EncoderBlock& block, std::span<const Group> groups, std::size_t num_rows, const Use& use) {
  if (block.attention != nullptr) return for_group_chunks(groups, use);
  for (std::size_t begin = 0; begin < num_rows; begin += kChunkRows) {
    use(GroupChunk{begin, std::min(kChunkRows, num_rows - begin), {}});
  }
}

void apply(const EncoderBlock& block, const GroupChunk& chunk, const float* x, const float* residual, float* out,
           PrefetchQueue& prefetches) {
  if (block.attention != nullptr) return attention_block(*block.attention, chunk.groups, x, residual, out, prefetches);
  block.feed_forward->apply(x, chunk.num_rows, out, residual, prefetches);
}

// The rows behind a chunk that the next one is made of, at most.
struct NextRows {
  std::size_t first;
  std::size_t count;

  NextRows(const GroupChunk& chunk, std::size_t num_rows)
      : first(chunk.first_row + chunk.num_rows), count(std::min(kChunkRows, num_rows - first)) {}
};

// A normalisation with the statistics of the batch.
struct Norm {
  const NormStatistics& statistics;
  std::vector<float> factor;  // root * scale
  const float* shift = nullptr;

  Norm(const NormParameters& parameters, const NormStatistics& s) : statistics(s), shift(parameters.shift) {
    for (std::size_t c = 0; c < s.root.size(); ++c) factor.push_back(s.root[c] * parameters.scale[c]);
  }
  [[nodiscard]] bool is_there() const { return shift != nullptr; }

  // The rows as they are, or normalised in `memory`.
  const float* apply(const float* rows, std::size_t count, std::size_t dim, AlignedVector<float>& memory) const {
    if (!is_there()) return rows;
    float* normalised = ensure_size(memory, count * dim);
    scale_rows(rows, count, dim, statistics.mean.data(), factor.data(), shift, normalised);
    return normalised;
  }
};

// Sums over rows of two things that a normalisation needs the means of: in this share, then in the whole batch.
struct Moments {
  std::vector<double> sums;  // the first, the second, the number of rows

  Moments(std::size_t dim, std::size_t num_rows) : sums(2 * dim + 1) { sums.back() = static_cast<double>(num_rows); }
  [[nodiscard]] std::size_t dim() const { return sums.size() / 2; }
  double* first() { return sums.data(); }
  double* second() { return sums.data() + dim(); }
  [[nodiscard]] double mean_of_first(std::size_t c) const { return sums[c] / sums.back(); }
  [[nodiscard]] double mean_of_second(std::size_t c) const { return sums[dim() + c] / sums.back(); }
};

NormStatistics statistics_of(const Moments& moments, float epsilon) {
  NormStatistics result;
  result.num_rows = moments.sums.back();
  for (std::size_t c = 0; c < moments.dim(); ++c) {
    const double mean = moments.mean_of_first(c);
    const double variance = std::max(0.0, moments.mean_of_second(c) - mean * mean);
    result.mean.push_back(static_cast<float>(mean));
    result.variance.push_back(static_cast<float>(variance));
    result.root.push_back(static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon))));
  }
  return result;
}

// Of a chunk, kept from call to call.
struct Workspace {
  AlignedVector<float> normalised;
  AlignedVector<float> incoming;  // gradients
};

// The backward pass. The gradient of n[s] is all that block s hands back; that of t[s] takes the moments of all rows of
// it, and is computed when its rows are read for the block before.
class Backward {
 public:
  Backward(const Encoder& encoder, std::span<const Group> groups, std::size_t num_rows, std::span<const float* const> t,
           std::span<const NormStatistics> statistics, const EncoderGradient& sums, const AddUp& add_up)
      : encoder_(encoder), groups_(groups), num_rows_(num_rows), t_(t), sums_(sums), add_up_(add_up) {
    for (std::size_t s = 0; s < encoder.norms.size(); ++s) norms_.emplace_back(encoder.norms[s], statistics[s]);
  }

  void run(const float* out_gradient, float* in_gradient) {
    const std::size_t dim = encoder_.dim;
    const std::size_t size = num_rows_ * dim;
    const std::size_t last = encoder_.blocks.size();
    const bool earlier = encoder_.residual == Encoder::Residual::kEarlier;
    // Of n[s + 1], n[s] and, with residuals from earlier, t[s + 2]: they change places with every block.
    // Not from scratch(): others may use that while this share waits for sums.
    thread_local AlignedVector<float> memory[3];
    float* of_next = ensure_size(memory[0], size);
    float* of_this = ensure_size(memory[1], size);
    float* of_later = earlier ? ensure_size(memory[2], size) : nullptr;
    std::copy_n(out_gradient, size, of_next);
    take_moments_of_output(of_next);
    for (std::size_t s = last; s-- > 0;) {
      // t[s + 3], whose memory is that of n[s], is there from the third block from the end on.
      const float* residual = earlier && s + 3 <= last ? of_this : nullptr;
      pass_back(s, of_next, residual, of_this);
      if (earlier) {
        std::swap(of_later, of_next);  // of_later: t[s + 1]; of_next: t[s + 2]
        std::swap(of_next, of_this);   // of_next: n[s]; of_this: t[s + 2]
      } else {
        std::swap(of_next, of_this);
      }
    }
    gradient_of_rows(0, 0, num_rows_, of_next, in_gradient);
    if (!earlier) return;
    add(in_gradient, of_later, size);                // t[1], by block 0
    if (last >= 2) add(in_gradient, of_this, size);  // t[2], by block 1
  }

 private:
  // From the gradient of n[s] to that of t[s], for some rows.
  void gradient_of_rows(std::size_t s, std::size_t first_row, std::size_t count, const float* of_n, float* of_t) const {
    const std::size_t dim = encoder_.dim;
    const Norm& norm = norms_[s];
    if (!norm.is_there()) {
      if (of_t != of_n) std::copy_n(of_n, count * dim, of_t);
      return;
    }
    batch_norm_gradient(t_[s] + first_row * dim, of_n, count, dim, norm.statistics.mean.data(),
                        norm.statistics.root.data(), gradient_mean_.data(), product_mean_.data(), norm.factor.data(),
                        of_t);
  }

  void pass_back(std::size_t s, float* of_next, const float* residual, float* of_this) {
    const std::size_t dim = encoder_.dim;
    const EncoderBlock& block = encoder_.blocks[s];
    const bool residual_is_x = encoder_.residual == Encoder::Residual::kInput;
    Moments moments(dim, num_rows_);
    auto& work = scratch<Workspace>();
    std::optional<AttentionBlockGradientPass> attention;
    std::optional<FeedForwardGradientPass> feed_forward;
    if (block.attention != nullptr) {
      attention.emplace(*block.attention, *block.transposed_attention, residual_is_x, sums_.attention[s]);
    } else {
      feed_forward.emplace(*block.feed_forward, *block.transposed_feed_forward, residual_is_x, sums_.feed_forward[s]);
    }
    for_chunks(block, groups_, num_rows_, [&](const GroupChunk& chunk) {
      const std::size_t first = chunk.first_row * dim;
      const std::size_t size = chunk.num_rows * dim;
      // With residuals from earlier blocks the gradient of t[s + 1] is needed once more.
      float* incoming = residual_is_x ? ensure_size(work.incoming, size) : of_next + first;
      gradient_of_rows(s + 1, chunk.first_row, chunk.num_rows, of_next + first, incoming);
      if (residual != nullptr) add(incoming, residual + first, size);
      const float* x = norms_[s].apply(t_[s] + first, chunk.num_rows, dim, work.normalised);
      float* outgoing = of_this + first;
      const NextRows next(chunk, num_rows_);
      PrefetchQueue prefetches;
      prefetches.writes(outgoing, size);
      prefetches.reads(of_next + next.first * dim, next.count * dim);
      prefetches.reads(t_[s + 1] + next.first * dim, next.count * dim);
      prefetches.reads(t_[s] + next.first * dim, next.count * dim);
      if (attention) attention->add(chunk.groups, x, incoming, outgoing, prefetches);
      if (feed_forward) feed_forward->add(x, chunk.num_rows, incoming, outgoing, prefetches);
      add_moments(s, chunk.first_row, chunk.num_rows, outgoing, moments);
    });
    if (attention) attention->end();
    if (feed_forward) feed_forward->end();
    finish_moments(s, moments);
  }

  void take_moments_of_output(const float* gradient) {
    const std::size_t last = encoder_.blocks.size();
    Moments moments(encoder_.dim, num_rows_);
    add_moments(last, 0, num_rows_, gradient, moments);
    finish_moments(last, moments);
  }

  // Of the gradients of n[s].
  void add_moments(std::size_t s, std::size_t first_row, std::size_t count, const float* gradient,
                   Moments& moments) const {
    const Norm& norm = norms_[s];
    if (!norm.is_there()) return;
    add_gradient_moments(t_[s] + first_row * encoder_.dim, gradient, count, encoder_.dim, norm.statistics.mean.data(),
                         norm.statistics.root.data(), moments.first(), moments.second());
  }

  void finish_moments(std::size_t s, Moments& moments) {
    if (!norms_[s].is_there()) return;
    const std::size_t dim = encoder_.dim;
    for (std::size_t c = 0; c < dim; ++c) {
      sums_.norms[s].shift[c] += static_cast<float>(moments.first()[c]);
      sums_.norms[s].scale[c] += static_cast<float>(moments.second()[c]);
    }
    add_up_(moments.sums);
    gradient_mean_.resize(dim);
    product_mean_.resize(dim);
    for (std::size_t c = 0; c < dim; ++c) {
      gradient_mean_[c] = static_cast<float>(moments.mean_of_first(c));
      product_mean_[c] = static_cast<float>(moments.mean_of_second(c));
    }
  }

  const Encoder& encoder_;
  std::span<const Group> groups_;
  std::size_t num_rows_;
  std::span<const float* const> t_;
  const EncoderGradient& sums_;
  const AddUp& add_up_;
  std::vector<Norm> norms_;
  // Of the gradients of the n that came last, and of their products with the normalised rows.
  std::vector<float> gradient_mean_;
  std::vector<float> product_mean_;
};

}  // namespace

std::vector<NormStatistics> encode(const Encoder& encoder, std::span<const Group> groups, std::size_t num_rows,
                                   std::span<float* const> t, float* out, const AddUp& add_up) {
  assert(!encoder.blocks.empty() && encoder.norms.size() == encoder.blocks.size() + 1);
  const std::size_t dim = encoder.dim;
  std::vector<NormStatistics> statistics(encoder.norms.size());
  Moments moments(dim, num_rows);
  const auto finish = [&](std::size_t s) {
    if (encoder.norms[s].scale == nullptr) return;
    add_up(moments.sums);
    statistics[s] = statistics_of(moments, encoder.epsilon);
  };
  if (encoder.norms[0].scale != nullptr) {
    add_column_moments(t[0], num_rows, dim, moments.first(), moments.second());
    finish(0);
  }
  for (std::size_t s = 0; s < encoder.blocks.size(); ++s) {
    const Norm norm(encoder.norms[s], statistics[s]);
    moments = Moments(dim, num_rows);
    auto& work = scratch<Workspace>();
    for_chunks(encoder.blocks[s], groups, num_rows, [&](const GroupChunk& chunk) {
      const std::size_t first = chunk.first_row * dim;
      const float* x = norm.apply(t[s] + first, chunk.num_rows, dim, work.normalised);
      const float* residual =
          encoder.residual == Encoder::Residual::kInput ? x : t[std::max<std::size_t>(s, 1) - 1] + first;
      const NextRows next(chunk, num_rows);
      PrefetchQueue prefetches;
      prefetches.writes(t[s + 1] + first, chunk.num_rows * dim);
      prefetches.reads(t[s] + next.first * dim, next.count * dim);
      apply(encoder.blocks[s], chunk, x, residual, t[s + 1] + first, prefetches);
      if (encoder.norms[s + 1].scale != nullptr) {
        add_column_moments(t[s + 1] + first, chunk.num_rows, dim, moments.first(), moments.second());
      }
    });
    finish(s + 1);
  }
  if (out != nullptr) {
    const Norm norm(encoder.norms.back(), statistics.back());
    scale_rows(t[encoder.blocks.size()], num_rows, dim, norm.statistics.mean.data(), norm.factor.data(), norm.shift,
               out);
  }
  return statistics;
}

void encode_gradient(const Encoder& encoder, std::span<const Group> groups, std::size_t num_rows,
                     std::span<const float* const> t, std::span<const NormStatistics> statistics,
                     const float* out_gradient, float* in_gradient, const EncoderGradient& sums, const AddUp& add_up) {
  Backward(encoder, groups, num_rows, t, statistics, sums, add_up).run(out_gradient, in_gradient);
}

}  // namespace puretour::kernels
