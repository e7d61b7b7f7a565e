// SPDX-License-Identifier: MIT
#include "puretour/nn/pointerformer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "puretour/nn/decoder_function.h"
#include "puretour/nn/kernel_functions.h"

namespace puretour::nn {
namespace {

// The tensors of an encoded instance, and what is added for decoding step by step.
enum Part : std::size_t { kEmbedding, kFeatures, kShares };
// What the decoder needs of a node, side by side: see kernels/decode/tour_decoder.h.
enum Share : std::int64_t { kKey, kLast, kVisited, kFirst, kGraph, kNumShares };

constexpr double kMomentum = 0.19;  // two updates with 0.1: 1 - 0.9^2
constexpr double kProbabilityFloor = 1e-8;

// Their weight has the number of nodes in it.
std::string name_of_shares(std::int64_t num_nodes) {
  return fmt::format("shares of {} nodes", num_nodes);
}

// Angles, then coordinates of the eight symmetric images: (B, N, 24).
Tensor features_of(const Tensor& points) {
  const Tensor x = points.select(-1, 0);
  const Tensor y = points.select(-1, 1);
  const std::vector<Tensor> first = {x, 1 - x, x, 1 - x, y, 1 - y, y, 1 - y};
  const std::vector<Tensor> second = {y, y, 1 - y, 1 - y, x, x, 1 - x, 1 - x};
  const Tensor firsts = torch::stack(first, -1);    // (B, N, 8)
  const Tensor seconds = torch::stack(second, -1);  // (B, N, 8)
  return torch::cat({torch::atan(seconds / firsts), torch::stack({firsts, seconds}, -1).flatten(-2)}, -1);
}

}  // namespace

std::vector<Tensor> Pointerformer::encode(const Tensor& points, Statistics statistics) {
  const Tensor features = features_of(points);  // (B, N, 24)
  EncoderBlocks encoder;
  encoder.num_heads = config_.num_heads;
  encoder.activation = kernels::Activation::kGelu;
  encoder.residual = kernels::Encoder::Residual::kEarlier;
  encoder.momentum = kMomentum;
  for (std::size_t l = 0; l < config_.num_layers; ++l) {
    const std::string block = fmt::format("encoder.sequence.reversible_blocks.{}.", l);
    EncoderBlock attention;
    attention.name = block + "attention";
    attention.in_weight = weight(block + "f_block.mha.in_proj_weight");
    attention.out_weight = weight(block + "f_block.mha.out_proj.weight");
    EncoderBlock feed_forward;
    feed_forward.name = block + "feed-forward";
    feed_forward.first = block + "g_block.feed_forward";
    feed_forward.second = block + "g_block.output_dense";
    encoder.blocks.insert(encoder.blocks.end(), {attention, feed_forward});
    encoder.norms.insert(encoder.norms.end(),
                         {block + "f_block.mixing_layer_norm", block + "g_block.output_layer_norm"});
  }
  encoder.norms.emplace_back();
  const Tensor e = run_encoder(linear("encoder.init_projection_layer", features), encoder, statistics);  // (B, N, d)
  return {e, features};
}

DecoderWeights Pointerformer::decoder_weights(std::int64_t num_nodes) const {
  // All parts of the query go through one more layer: folded into theirs, it costs a product per node, not per step.
  const Tensor query_map = weight("decoder.wq.weight");
  const auto folded = [&](const char* name) { return linear("query map", weight(name).t(), query_map).t(); };
  DecoderWeights result;
  result.shares = torch::cat({weight("decoder.Wk.weight"), folded("decoder.Wq_last.weight"),
                              folded("decoder.W_visited.weight") / static_cast<double>(num_nodes)});
  result.graph = folded("decoder.Wq_graph.weight");
  result.first = folded("decoder.Wq_first.weight");
  result.shares_packing = packing(name_of_shares(num_nodes));
  result.graph_packing = packing("graph");
  result.first_packing = packing("first");
  result.out_packing = precision();
  return result;
}

std::vector<Tensor> Pointerformer::decoder_inputs(const std::vector<Tensor>& encoded) {
  const Tensor& e = encoded[kEmbedding];
  const DecoderWeights weights = decoder_weights(e.size(1));
  const Tensor all = torch::cat({weights.shares, weights.first, weights.graph});
  return {e, encoded[kFeatures], linear("all " + name_of_shares(e.size(1)), e, all)};
}

Tensor Pointerformer::step_log_probs(const std::vector<Tensor>& inputs, const Steps& steps) {
  const std::vector<Tensor> shares = inputs[kShares].chunk(kNumShares, -1);  // (B, N, d) each
  const Tensor last = steps.last.flatten(1);                                 // (B, GS)
  const Tensor visited = steps.visited.flatten(1, 2);                        // (B, GS, N)
  const Tensor query = gather_rows(shares[kLast], last) + gather_rows(shares[kFirst], steps.first.flatten(1)) +
                       shares[kGraph].mean(1, true) +
                       visited.to(shares[kVisited].dtype()).matmul(shares[kVisited]);  // (B, GS, d)
  // The exact form of cdist: the other one loses digits, which the clip magnifies fifty times.
  constexpr std::int64_t kWithoutMatrixProducts = 2;
  const Tensor distance =
      torch::cdist(gather_rows(inputs[kFeatures], last), inputs[kFeatures], 2.0, kWithoutMatrixProducts);
  const Tensor pointer = query.matmul(shares[kKey].transpose(-1, -2)) * score_scale();  // (B, GS, N)
  const Tensor scores = torch::tanh(pointer - distance / std::sqrt(2.0)) * config_.tanh_clip;
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const Tensor probabilities = torch::softmax(scores.masked_fill(visited, kMinusInfinity), -1);
  return torch::log(probabilities + kProbabilityFloor).masked_fill(visited, kMinusInfinity).view(steps.visited.sizes());
}

double Pointerformer::score_scale() const {
  return 1 / (static_cast<double>(config_.num_heads) * std::sqrt(static_cast<double>(config_.embedding_dim)));
}

DecoderForm Pointerformer::decoder_form() const {
  const std::size_t dim = config_.embedding_dim;
  DecoderForm form;
  form.shares.last = kLast * dim;
  form.shares.visited = kVisited * dim;
  form.shares.score_key = kKey * dim;
  form.pointer = {dim, static_cast<float>(score_scale()), static_cast<float>(config_.tanh_clip),
                  static_cast<float>(kProbabilityFloor)};
  form.first_step = 1;
  return form;
}

namespace {

// The distance of the features, divided by sqrt(2), is that of the coordinates, doubled, and the first four angles: the
// other angles are pi / 2 minus these, and each difference of coordinates occurs eight times.
Tensor coordinates_of(const Tensor& features) {
  return torch::cat({features.narrow(2, 8, 2) * 2, features.narrow(2, 0, 4)}, 2).transpose(1, 2);
}

}  // namespace

Tensor Pointerformer::score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours) {
  const Tensor& e = encoded[kEmbedding];
  if (!kernels_support(e) || tours.size(2) == 1) return Network::score_encoded(encoded, tours);
  const Tensor log_probs =
      kernel_tour_log_probs(e, decoder_weights(e.size(1)), tours, coordinates_of(encoded[kFeatures]), decoder_form());
  return torch::constant_pad_nd(log_probs, {1, 0}, 0);
}

Tensor Pointerformer::weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours,
                                     const Tensor& coefficients) {
  const Tensor& e = encoded[kEmbedding];
  if (!kernels_support(e) || tours.size(2) == 1) return Network::weighted_score(encoded, tours, coefficients);
  return kernel_weighted_tour_log_probs(e, decoder_weights(e.size(1)), tours, coordinates_of(encoded[kFeatures]),
                                        decoder_form(), coefficients.narrow(2, 1, tours.size(2) - 1));
}

TaughtScore Pointerformer::taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps) {
  const Tensor& e = encoded[kEmbedding];
  if (!kernels_support(e)) return Network::taught_score(encoded, steps);
  return kernel_taught_score(e, decoder_weights(e.size(1)), steps, coordinates_of(encoded[kFeatures]), decoder_form());
}

}  // namespace puretour::nn
