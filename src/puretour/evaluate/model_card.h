// What a trained network is, as far as its file tells: for tables that compare networks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "puretour/models/checkpoint.h"

namespace puretour {

struct ModelCard {
  std::string name;                                 // of the file, without .safetensors
  std::string architecture;                         // "am", "pointerformer", "invit"
  std::optional<std::size_t> nodes;                 // of its training instances
  std::string method;                               // "vanilla", "pupo", or "" if the file does not tell
  std::optional<std::uint64_t> training_instances;  // seen
  std::size_t parameters = 0;
  double norm_sum = 0;    // sum of the Frobenius norms of all trained matrices
  double norm_joint = 0;  // Frobenius norm of all of them together
  std::string sha256;     // of the file
  std::string program;    // that trained it

  /// The paper's name of the network: "AM-50", "PF-100", "INViT-50"; empty if the training size is not known.
  [[nodiscard]] std::string slot() const;
};

/// The value of `key` in the text of a recipe ("key = value  # remark"), without quotes; empty if it is not there.
std::string recipe_value(std::string_view recipe, std::string_view key);

/// `bytes` is the file that holds `checkpoint`.
ModelCard make_model_card(const Checkpoint& checkpoint, std::string_view bytes, const std::string& name);

}  // namespace puretour
