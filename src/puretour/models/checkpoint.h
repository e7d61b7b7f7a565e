// A trained network in a file: configuration, weights, and where they come from.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "puretour/models/config.h"
#include "puretour/models/tensor.h"

namespace puretour {

struct Checkpoint {
  ModelConfig config;
  TensorMap weights;                         // exactly the weights of the configuration
  std::map<std::string, std::string> notes;  // free text by key: source, training, licence, ...
};

/// Throws ModelError, with `source` in front, unless names and shapes are those of the configuration and all values are
/// finite (variances not negative). The message says what differs: missing, unknown, of another shape, not finite.
void check_weights(const ModelConfig& config, const TensorMap& weights, const std::string& source);

/// The bytes of a safetensors file (see docs/models.md for its metadata). Throws ModelError as check_weights does.
std::string format_checkpoint(const Checkpoint& checkpoint);

/// Throws ModelError, with `source` in front, for every file that format_checkpoint did not write just so: the checksum
/// finds each altered byte.
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& source);

/// Reads and parses a file. Throws InputError if it cannot be read, ModelError if it is no checkpoint.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace puretour
