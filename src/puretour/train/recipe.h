// Everything that decides what a training run computes, as one flat list of named values.
//
// The list of fields is the single source for files (a flat subset of TOML), options of the command and what is stored
// beside the weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "puretour/kernels/gemm/bfloat16.h"
#include "puretour/models/config.h"

namespace puretour::train {

struct Recipe {
  // What is trained, on what, and how steps are weighted.
  std::string model = "am";
  std::size_t nodes = 50;
  std::string method = "vanilla";
  std::size_t seed = 1234;
  std::string precision = "float32";
  std::string initial_weights;  // path of a network to start from; empty: random weights
  std::string weights = "none";

  // The network; fields that a network does not have are ignored.
  std::size_t embedding_dim = 128;
  std::size_t num_heads = 8;
  std::size_t num_layers = 3;
  std::size_t feed_forward_dim = 512;
  double tanh_clip = 10;
  std::size_t num_action_layers = 2;
  std::size_t action_view = 15;
  std::vector<std::size_t> state_views = {35, 50};
  bool aggregate_whole_graph = false;

  // The amount of work.
  std::size_t epochs = 100;
  std::size_t steps = 2500;
  std::size_t batch = 512;
  std::size_t copies = 1;
  std::size_t tours = 1;

  // The optimiser.
  std::string optimizer = "adam";
  double learning_rate = 1e-4;
  std::string learning_rate_schedule = "exponential";
  double learning_rate_decay = 1;
  std::size_t learning_rate_warmup = 0;
  double learning_rate_final = 0;
  double weight_decay = 0;
  double clip_norm = 1;

  // What the length of a tour is compared with.
  std::string baseline = "rollout";
  bool normalise_advantage = false;
  std::size_t warmup_epochs = 1;
  double exponential_beta = 0.8;
  double significance = 0.05;
  double gate_tolerance = 1e-3;
  std::size_t baseline_instances = 10000;

  // The teacher.
  std::size_t questions = 8;
  double own_states = 0.75;
  std::size_t own_states_warmup = 1000;
  std::size_t taught_steps = 0;
  std::string data;  // path of solved instances; empty: fresh ones

  // PUPO and the paper's ablation.
  double discount = 0.9;
  bool clamp_weights = false;
  double norm_penalty = 0;

  // Watching.
  std::size_t validation_instances = 1000;
  std::size_t validation_steps = 0;
  std::size_t log_steps = 50;

  bool operator==(const Recipe&) const = default;
};

/// One value of a recipe.
struct RecipeField {
  using Member = std::variant<std::string Recipe::*, std::size_t Recipe::*, double Recipe::*, bool Recipe::*,
                              std::vector<std::size_t> Recipe::*>;
  std::string key;  // "learning_rate"
  Member member;
  double low = 0;                    // least number allowed
  double high = 0;                   // largest
  std::vector<std::string> choices;  // of a text
  std::string help;
};

std::span<const RecipeField> recipe_fields();

/// The value as it stands in a file: "adam" in quotes, 0.0001, true, [35, 50].
std::string field_text(const Recipe& recipe, const RecipeField& field);

/// Sets the value from text, with or without quotes and brackets. Throws InputError "WHERE: ..." that says what is
/// possible.
void set_field(Recipe& recipe, const RecipeField& field, std::string_view text, const std::string& where);

/// What the paper and the original programs prescribe. Throws InputError for an unknown model or method.
Recipe paper_recipe(const std::string& model, std::size_t nodes, const std::string& method);

/// Every field with a line of its own and what it means.
std::string recipe_text(const Recipe& recipe);

/// Reads "key = value" lines with # comments. What the text does not name is as in the paper's recipe for its model,
/// nodes and method. Throws InputError "SOURCE:LINE: ...".
Recipe parse_recipe(std::string_view text, const std::string& source);

/// Throws InputError if the values do not go together.
void check_recipe(const Recipe& recipe);

/// The network of a recipe.
ModelConfig network_config(const Recipe& recipe);

kernels::Precision product_precision(const Recipe& recipe);

}  // namespace puretour::train
