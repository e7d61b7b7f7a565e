// SPDX-License-Identifier: MIT
#include "puretour/kernels/feed_forward.h"

#include <vector>

#include "puretour/base/parallel.h"
#include "puretour/kernels/rows.h"

namespace puretour::kernels {
namespace {

// Whole tiles of the product; the hidden values of a block stay in the second cache.
constexpr std::size_t kRowBlock = 48;

}  // namespace

void FeedForward::apply(const float* x, std::size_t num_rows, float* out, int threads) const {
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<float> hidden((end - begin) * first.outputs());
    first.apply(x + begin * first.inputs(), end - begin, hidden.data());
    activation == Activation::kRelu ? relu(hidden.data(), hidden.size()) : gelu(hidden.data(), hidden.size());
    second.apply(hidden.data(), end - begin, out + begin * second.outputs());
  });
}

void apply_linear(const Linear& linear, const float* x, std::size_t num_rows, float* out, int threads) {
  parallel_for_blocks(num_rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    linear.apply(x + begin * linear.inputs(), end - begin, out + begin * linear.outputs());
  });
}

}  // namespace puretour::kernels
