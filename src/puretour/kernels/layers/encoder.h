// A stack of attention and feed-forward blocks with batch normalisations, forward and backward.
//
// A normalisation needs the moments of the whole batch, so every block is a pass over all rows. All else happens while
// a few rows are in the cache: they are normalised on the way into a block, and the moments for the next normalisation
// are taken on the way out. Normalised values are never written to memory; the backward pass computes them again.
//
// With t[0] the input and n[s] = normalisation s of t[s], or t[s] where there is none:
//
//   Residual::kInput:   t[s + 1] = n[s] + block s of n[s]
//   Residual::kEarlier: t[s + 1] = t[s - 1] + block s of n[s], where t[-1] = t[0]
//
// and the output is n of the last.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/kernels/simd/aligned.h"

namespace puretour::kernels {

/// A block with its weights for both ways: attention within groups, or a feed-forward block; the other one is null.
struct EncoderBlock {
  std::shared_ptr<const AttentionBlock> attention;
  std::shared_ptr<const TransposedAttentionBlock> transposed_attention;
  std::shared_ptr<const FeedForward> feed_forward;
  std::shared_ptr<const TransposedFeedForward> transposed_feed_forward;
};

/// Of a batch normalisation, or null: none.
struct NormParameters {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

struct Encoder {
  enum class Residual : std::uint8_t { kInput, kEarlier };

  std::size_t dim = 0;
  std::vector<EncoderBlock> blocks;   // at least one
  std::vector<NormParameters> norms;  // one before every block and one behind the last
  Residual residual = Residual::kInput;
  float epsilon = 1e-5F;
};

/// Of the rows of the whole batch, for one normalisation; empty where there is none.
struct NormStatistics {
  std::vector<float> mean;
  std::vector<float> variance;  // divided by the number of rows
  std::vector<float> root;      // 1 / sqrt(variance + epsilon)
  double num_rows = 0;
};

/// Replaces values by their sums over all shares of the batch.
using AddUp = std::function<void(std::span<double>)>;

/// t[0] (num_rows x dim) is the input; writes t[1], ..., one for every block, and `out`, unless it is null because
/// there is no normalisation behind the last block: then the last t is the output. `groups` share out all rows.
/// Returns the statistics of the normalisations.
std::vector<NormStatistics> encode(const Encoder& encoder, std::span<const Group> groups, std::size_t num_rows,
                                   std::span<float* const> t, float* out, const AddUp& add_up);

/// Where the gradients of the weights of this share are added.
struct EncoderGradient {
  struct Norm {
    float* scale = nullptr;
    float* shift = nullptr;
  };
  std::vector<AttentionBlockGradient> attention;  // per block; what is not of its kind is not used
  std::vector<FeedForwardGradient> feed_forward;  // per block
  std::vector<Norm> norms;
};

/// From the gradient of the output: writes that of the input, adds those of the weights.
void encode_gradient(const Encoder& encoder, std::span<const Group> groups, std::size_t num_rows,
                     std::span<const float* const> t, std::span<const NormStatistics> statistics,
                     const float* out_gradient, float* in_gradient, const EncoderGradient& sums, const AddUp& add_up);

}  // namespace puretour::kernels
