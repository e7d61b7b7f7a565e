// The networks with gradients: what all architectures share.
//
// None of them has a recurrent state: given a tour, the distribution of every step follows from the encoded instance,
// the first and the last node and the set of visited nodes. So one function gives the distributions of any number of
// steps at once. A roll-out calls it for one step after the other, `score` once for all steps of given tours.
//
// Dimensions: B instances, N nodes, G tours per instance, S steps.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/kernels/layers/encoder.h"
#include "puretour/models/checkpoint.h"
#include "puretour/nn/batch_group.h"
#include "puretour/nn/pack_cache.h"
#include "puretour/nn/taught_steps.h"
#include "puretour/nn/torch.h"

namespace puretour::nn {

/// What the distributions of some steps depend on.
struct Steps {
  Tensor first;               // (B, G, S) int64: first node of the tour
  Tensor last;                // (B, G, S) int64: node before the step
  Tensor visited;             // (B, G, S, N) bool: before the step
  bool from_nothing = false;  // before the first of these steps no node is visited: first and last mean nothing there
};

/// Whether batch normalisation in training mode moves its running statistics.
enum class Statistics : std::uint8_t { kUpdate, kKeep };

struct RolloutRequest {
  std::int64_t num_tours = 1;  // G
  Tensor starts;               // (B, G) int64: start nodes; undefined: the network's choice, or else node 0
  bool sample = false;         // draw nodes; else take the most probable one (the lowest on ties)
  double temperature = 1;      // of sampling
  /// Of sampling; none: Torch's own.
  Optional<torch::Generator> generator;
};

struct TourBatch {
  Tensor tours;      // (B, G, N) int64
  Tensor log_probs;  // (B, G, N): of each node when it was its turn; 0 for a start that the network does not choose
};

class Network : public torch::nn::Module {
 public:
  [[nodiscard]] const ModelConfig& config() const { return config_; }

  /// False if the start node is given from outside.
  [[nodiscard]] virtual bool chooses_start() const = 0;

  /// What is computed once per instance; the meaning of the tensors is the network's own. points: (B, N, 2).
  [[nodiscard]] virtual std::vector<Tensor> encode(const Tensor& points, Statistics statistics) = 0;

  /// What step_log_probs() needs, from what encode() gives.
  [[nodiscard]] virtual std::vector<Tensor> decoder_inputs(const std::vector<Tensor>& encoded) { return encoded; }

  /// Log-probabilities (B, G, S, N) of all nodes; minus infinity for those that cannot be chosen. `inputs` come from
  /// decoder_inputs().
  [[nodiscard]] virtual Tensor step_log_probs(const std::vector<Tensor>& inputs, const Steps& steps) = 0;

  /// Log-probabilities (B, G, N) of every step of the tours (B, G, N), in one pass with gradients. In training mode the
  /// running statistics of batch normalisations move.
  [[nodiscard]] Tensor score(const Tensor& points, const Tensor& tours);
  /// The same for instances that are encoded already.
  [[nodiscard]] virtual Tensor score_encoded(const std::vector<Tensor>& encoded, const Tensor& tours);
  /// The sum of these log-probabilities times coefficients (B, G, N) that have no gradient: what a policy gradient is
  /// the gradient of, and cheaper than taking it of score_encoded().
  [[nodiscard]] virtual Tensor weighted_score(const std::vector<Tensor>& encoded, const Tensor& tours,
                                              const Tensor& coefficients);
  /// The same for some of the steps, and how many of them the network would have chosen itself.
  [[nodiscard]] virtual TaughtScore taught_score(const std::vector<Tensor>& encoded, const TaughtSteps& steps);

  /// Which of the tensors of encode() are the node embeddings (B, N, d) that decoding starts from; none if the network
  /// has no encoder.
  [[nodiscard]] virtual std::optional<std::size_t> embedding_part() const = 0;

  /// Tours without gradients; statistics do not move.
  [[nodiscard]] TourBatch roll_out(const Tensor& points, const RolloutRequest& request);

  /// From now on this network works on a share of a batch: in training mode its batch normalisations are over the
  /// shares of all members, and its methods must be called inside group.run(). A null pointer ends that.
  void join(BatchGroup* group, std::size_t member) {
    group_ = group;
    member_ = member;
  }

  /// Of the products with weights and of attention, where kernels compute them.
  void set_precision(kernels::Precision precision) { precision_ = precision; }

  /// Kernels take packed weights from there; whoever changes the weights must clear it.
  void use_packs(std::shared_ptr<PackCache> packs) { packs_ = std::move(packs); }

  /// Becomes a network with the parameters of another one of the same configuration, in the same memory, but with
  /// gradients and statistics of its own.
  void share_parameters(const Network& other);
  /// Takes over the running statistics.
  void copy_statistics(const Network& other);

  /// Parameters and statistics as in a checkpoint. set_weights throws ModelError as check_weights does.
  void set_weights(const TensorMap& weights);
  [[nodiscard]] TensorMap weights() const;

  /// Random values as the original programs draw them, from Torch's own generator and in their order.
  void initialise();
  /// Values of the same distributions, the same on every machine and with every LibTorch.
  void initialise(Rng& rng);

 protected:
  explicit Network(ModelConfig config);

  [[nodiscard]] kernels::Precision precision() const { return precision_; }
  [[nodiscard]] Packing packing(std::string name) const { return {precision_, packs_.get(), std::move(name)}; }

  /// The parameter or statistic of this name.
  [[nodiscard]] const Tensor& weight(const std::string& name) const { return weights_.at(name); }

  /// NAME.weight and, where it exists, NAME.bias.
  [[nodiscard]] Tensor linear(const std::string& name, const Tensor& x) const;
  /// With a weight that is made of parameters; `name` stands for it among all weights of the network.
  [[nodiscard]] Tensor linear(const std::string& name, const Tensor& x, const Tensor& weight,
                              const Tensor& bias = {}) const;
  /// residual + two linear layers by name, with an activation between them.
  [[nodiscard]] Tensor add_feed_forward(const Tensor& residual, const std::string& first, const std::string& second,
                                        kernels::Activation activation, const Tensor& x) const;
  /// A block of an encoder, by the names of its weights or with weights that are made of parameters.
  struct EncoderBlock {
    std::string name;   // stands for the weights
    Tensor in_weight;   // attention: (3d, d), queries, keys and values. Undefined: a feed-forward block
    Tensor out_weight;  // attention
    std::string first;  // feed-forward: names of the two layers
    std::string second;
  };
  struct EncoderBlocks {
    std::vector<EncoderBlock> blocks;
    std::vector<std::string> norms;  // batch normalisations before every block and behind the last; empty: none
    kernels::Encoder::Residual residual = kernels::Encoder::Residual::kInput;
    kernels::Activation activation = kernels::Activation::kRelu;
    std::size_t num_heads = 1;
    double momentum = 0;  // of the running statistics
  };
  /// See kernels/layers/encoder.h. x: (B, N, d). Normalisations are over all rows: by batch statistics in training mode, by
  /// running ones otherwise.
  [[nodiscard]] Tensor run_encoder(const Tensor& x, const EncoderBlocks& encoder, Statistics statistics);

  [[nodiscard]] Tensor layer_norm(const std::string& name, const Tensor& x, double epsilon) const;

 private:
  /// residual + projected attention of all nodes of an instance to all of them: x (B, N, d), in_weight (3d, d) gives
  /// queries, keys and values side by side. `name` stands for the weights.
  [[nodiscard]] Tensor add_self_attention(const std::string& name, const Tensor& residual, const Tensor& x,
                                          const Tensor& in_weight, const Tensor& out_weight,
                                          std::size_t num_heads) const;
  /// Log-probabilities (B, G, S, N) of all nodes at all steps of the tours, from the first step that is a choice on.
  [[nodiscard]] Tensor all_log_probs(const std::vector<Tensor>& encoded, const Tensor& tours);
  [[nodiscard]] Tensor run_encoder_by_kernels(const Tensor& x, const EncoderBlocks& encoder, Statistics statistics);
  [[nodiscard]] Tensor batch_norm(const std::string& name, const Tensor& x, Statistics statistics, double momentum);
  /// Moves the running statistics towards those of a batch.
  void move_statistics(const std::string& name, const Tensor& mean, const Tensor& variance, double num_rows,
                       double momentum);
  void initialise_with(const std::function<void(Tensor& values, double bound)>& fill_uniform);

  ModelConfig config_;
  BatchGroup* group_ = nullptr;
  std::size_t member_ = 0;
  kernels::Precision precision_ = kernels::Precision::kFloat;
  std::shared_ptr<PackCache> packs_;       // null: weights are packed for every call
  std::map<std::string, Tensor> weights_;  // the tensors of the module tree by their full names
};

/// A network with the weights of a checkpoint, or with untouched ones (zeros) for a configuration.
std::shared_ptr<Network> make_network(const Checkpoint& checkpoint);
std::shared_ptr<Network> make_network(const ModelConfig& config);

/// Rows `nodes` (B, K) of `values` (B, N, D): (B, K, D).
Tensor gather_rows(const Tensor& values, const Tensor& nodes);

/// Lengths (B, G) of closed tours (B, G, N) of points (B, N, 2).
Tensor tour_lengths(const Tensor& points, const Tensor& tours);

/// (..., K, H * D) -> (..., H, K, D): heads are slices of the last dimension.
Tensor split_heads(const Tensor& x, std::int64_t num_heads);
/// The way back.
Tensor merge_heads(const Tensor& x);

}  // namespace puretour::nn
