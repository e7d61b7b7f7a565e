// What a network looks like: its sizes and constants, and from them the names and shapes of its weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "puretour/models/tensor.h"

namespace puretour {

/// Attention Model (Kool, van Hoof, Welling, ICLR 2019). The defaults are those of the published weights.
struct AmConfig {
  std::size_t embedding_dim = 128;
  std::size_t num_heads = 8;           // divides embedding_dim
  std::size_t num_layers = 3;          // of the encoder
  std::size_t feed_forward_dim = 512;  // hidden layer of the encoder's feed-forward parts
  double tanh_clip = 10;               // scores lie in -clip .. clip
  bool operator==(const AmConfig&) const = default;
};

/// Pointerformer (Jin et al., AAAI 2023) with 24 features per node and one averaged pointer, as published.
struct PointerformerConfig {
  std::size_t embedding_dim = 128;
  std::size_t num_heads = 8;   // of the encoder, and pointers of the decoder
  std::size_t num_layers = 6;  // reversible blocks
  std::size_t feed_forward_dim = 512;
  double tanh_clip = 50;
  bool operator==(const PointerformerConfig&) const = default;
};

/// INViT (Fang et al., ICML 2024): nested views of the nearest unvisited nodes.
struct InvitConfig {
  std::size_t embedding_dim = 128;
  std::size_t num_heads = 8;
  std::size_t feed_forward_dim = 512;
  std::size_t num_state_layers = 2;             // layers of each state encoder
  std::size_t num_action_layers = 2;            // layers of the action encoder
  std::size_t action_view = 15;                 // nearest unvisited nodes that can be chosen
  std::vector<std::size_t> state_views = {35};  // one state encoder for each; none is smaller than action_view
  bool aggregate_whole_graph = false;           // state views have a token for the mean of all unvisited nodes
  bool local_mask = false;                      // only nodes up to ten times as far as the nearest can be chosen
  double tanh_clip = 10;
  bool operator==(const InvitConfig&) const = default;
};

using ModelConfig = std::variant<AmConfig, PointerformerConfig, InvitConfig>;

/// "am", "pointerformer", "invit".
std::string_view architecture_name(const ModelConfig& config);

/// One line of JSON with every field; parse_model_config reads it back.
std::string model_config_text(const ModelConfig& config);

/// Throws ModelError, with `source` in front, for a missing, unknown or impossible field.
ModelConfig parse_model_config(std::string_view text, const std::string& source);

/// What a weight is for: decides how it is initialised and whether it is trained.
enum class WeightRole {
  kMatrix,       // weight of a linear map
  kBias,         // its bias
  kScale,        // factor of a normalisation
  kShift,        // offset of a normalisation
  kRunningMean,  // statistics of a batch normalisation: not trained
  kRunningVar,   // the same; never negative
  kPlaceholder,  // learned stand-in for nodes that are not there yet
};

struct WeightSpec {
  std::string name;
  Shape shape;
  WeightRole role = WeightRole::kMatrix;
};

/// All weights in the order in which the original programs create them; the names are theirs.
std::vector<WeightSpec> weight_specs(const ModelConfig& config);

/// Values that training changes: all but the running statistics.
std::size_t num_parameters(const ModelConfig& config);

}  // namespace puretour
