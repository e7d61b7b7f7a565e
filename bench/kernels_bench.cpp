// Speed of the kernels by themselves, on one thread: where the time of a training step goes, kernel by kernel.
//
//   build/release/bench/kernels_bench [float32|bfloat16 [PART OF A KERNEL'S NAME]]
//
// Sizes are those of the paper's networks: width 128, 512 hidden values, 8 heads. GFLOPS count the products that a
// result needs, not those that a gradient computes a second time. Best of several runs: other programs only slow down.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/isa.h"
#include "puretour/base/rng.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/gemm/vnni.h"
#include "puretour/kernels/layers/attention_block.h"
#include "puretour/kernels/layers/feed_forward.h"
#include "puretour/kernels/layers/normalise.h"
#include "puretour/kernels/simd/aligned.h"

namespace {

using puretour::kernels::AlignedVector;
using puretour::kernels::Group;
using puretour::kernels::Linear;
using puretour::kernels::Precision;

constexpr std::size_t kDim = 128;
constexpr std::size_t kHidden = 512;
constexpr std::size_t kRows = 38400;  // much more than L2 holds, as in training

AlignedVector<float> random_values(std::size_t count, float size = 1) {
  puretour::Rng rng(7);
  AlignedVector<float> values(count);
  for (float& value : values) value = size * (2 * static_cast<float>(rng.uniform()) - 1);
  return values;
}

Linear layer(std::size_t inputs, std::size_t outputs, Precision precision) {
  const AlignedVector<float> weight = random_values(inputs * outputs, 0.1F);
  return puretour::kernels::make_linear(weight, {}, outputs, inputs, precision);
}

std::string wanted_part;  // of the names of kernels; empty: all

// Operations per second, best of several runs.
void measure(const std::string& name, double operations, const std::function<void()>& work) {
  if (name.find(wanted_part) == std::string::npos) return;
  work();
  double best = 1e9;
  for (int run = 0; run < 15; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  fmt::print("| {} | {:.1f} | {:.0f} |\n", name, best * 1e9 / kRows, operations / best / 1e9);
}

std::vector<Group> groups_of(std::size_t size) {
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin + size <= kRows; begin += size) groups.push_back({begin, size, begin, size});
  return groups;
}

}  // namespace

int main(int argc, char** argv) {
  const Precision precision = puretour::kernels::parse_precision(argc > 1 ? argv[1] : "bfloat16");
  if (argc > 2) wanted_part = argv[2];
  fmt::print("{}, {}, one thread\n\n", puretour::cpu_name(), puretour::isa_name(puretour::active_isa()));
  fmt::print("| kernel | ns per row | GFLOPS |\n|---|---|---|\n");
  const AlignedVector<float> x = random_values(kRows * kDim);
  const AlignedVector<float> incoming = random_values(kRows * kDim, 0.01F);
  AlignedVector<float> out(kRows * 3 * kDim);
  AlignedVector<float> outgoing(kRows * kDim);
  const double row = kRows;

  if (precision == Precision::kBfloat16) {
    // What products reach whose factors are rounded and in L2: no other kernel can be faster.
    constexpr std::size_t kPairs = kDim / 2;
    const std::size_t stride = puretour::kernels::padded_stride(kPairs);
    AlignedVector<std::uint32_t> left(96 * stride);
    AlignedVector<std::uint32_t> right(kPairs * kHidden);
    AlignedVector<float> products(96 * kHidden);
    puretour::kernels::round_pair(x.data(), x.data() + kDim, left.size(), left.data());
    puretour::kernels::round_pair(x.data(), x.data() + 3 * kDim, right.size(), right.data());
    measure("products of 96 rows, 128 -> 512", row * 2 * kDim * kHidden, [&] {
      for (std::size_t r = 0; r < kRows; r += 96) {
        puretour::kernels::gemm_bf16({left.data(), stride, right.data(), puretour::kernels::kBlock,
                                      kPairs * puretour::kernels::kBlock, kPairs, nullptr, 0, products.data(), kHidden,
                                      96, kHidden});
      }
    });
  }
  const Linear project = layer(kDim, 3 * kDim, precision);
  measure("linear 128 -> 384", row * 2 * kDim * 3 * kDim, [&] { project.apply(x.data(), kRows, out.data()); });
  AlignedVector<float> sums(kHidden * kDim);
  const auto add_product = precision == Precision::kFloat ? puretour::kernels::add_transposed_product
                                                          : puretour::kernels::add_transposed_product_bfloat16;
  measure("weight gradient 128 x 128", row * 2 * kDim * kDim,
          [&] { add_product(incoming.data(), kDim, kDim, x.data(), kDim, kDim, kRows, sums.data(), kDim); });

  const puretour::kernels::FeedForward feed_forward{layer(kDim, kHidden, precision), layer(kHidden, kDim, precision)};
  const puretour::kernels::TransposedFeedForward feed_forward_back{layer(kHidden, kDim, precision),
                                                                   layer(kDim, kHidden, precision)};
  const double feed_forward_operations = row * 4 * kDim * kHidden;
  AlignedVector<float> second_sums(kHidden * kDim);
  AlignedVector<float> biases(kHidden);
  AlignedVector<float> second_biases(kDim);
  measure("feed-forward", feed_forward_operations,
          [&] { feed_forward.apply(x.data(), kRows, outgoing.data(), 1, x.data()); });
  measure("feed-forward, gradient", 2 * feed_forward_operations, [&] {
    puretour::kernels::feed_forward_gradient(feed_forward, feed_forward_back, x.data(), kRows, incoming.data(), true,
                                             outgoing.data(),
                                             {sums.data(), biases.data(), second_sums.data(), second_biases.data()});
  });

  for (const std::size_t size : {37, 50, 100}) {
    const std::vector<Group> groups = groups_of(size);
    const puretour::kernels::AttentionBlock block{
        layer(kDim, 3 * kDim, precision), layer(kDim, kDim, precision), {8, 16, 0.25F}};
    const puretour::kernels::TransposedAttentionBlock back{layer(3 * kDim, kDim, precision),
                                                           layer(kDim, kDim, precision)};
    const double operations = row * (8 * kDim * kDim + 4.0 * static_cast<double>(size) * kDim);
    measure(fmt::format("attention block of {} rows", size), operations,
            [&] { puretour::kernels::attention_block(block, groups, x.data(), x.data(), outgoing.data()); });
    measure(fmt::format("attention block of {} rows, gradient", size), 2 * operations, [&] {
      puretour::kernels::attention_block_gradient(block, back, groups, x.data(), incoming.data(), true, outgoing.data(),
                                                  {sums.data(), nullptr, second_sums.data(), nullptr});
    });
    const puretour::kernels::AttentionShape shape{8, 16, 0.25F};
    const float* qkv = out.data();
    AlignedVector<float> gradients(kRows * 3 * kDim);
    measure(fmt::format("attention of {} rows", size), row * 4.0 * static_cast<double>(size) * kDim, [&] {
      puretour::kernels::group_attention(groups, shape, {qkv, 3 * kDim}, {qkv + kDim, 3 * kDim},
                                         {qkv + 2 * kDim, 3 * kDim}, {outgoing.data(), kDim}, precision);
    });
    measure(fmt::format("attention of {} rows, gradient", size), row * 8.0 * static_cast<double>(size) * kDim, [&] {
      puretour::kernels::group_attention_gradient(groups, shape, {qkv, 3 * kDim}, {qkv + kDim, 3 * kDim},
                                                  {qkv + 2 * kDim, 3 * kDim}, {incoming.data(), kDim},
                                                  {gradients.data(), 3 * kDim}, {gradients.data() + kDim, 3 * kDim},
                                                  {gradients.data() + 2 * kDim, 3 * kDim}, precision);
    });
  }

  const AlignedVector<float> scale = random_values(kDim);
  AlignedVector<float> shift(kDim);
  measure("layer norm", 0, [&] {
    puretour::kernels::add_layer_norm(x.data(), nullptr, kRows, kDim, scale.data(), shift.data(), 1e-5F, nullptr,
                                      outgoing.data());
  });
  measure("layer norm, gradient", 0, [&] {
    puretour::kernels::layer_norm_gradient(x.data(), incoming.data(), kRows, kDim, scale.data(), 1e-5F, outgoing.data(),
                                           biases.data(), second_biases.data());
  });
}
