// SPDX-License-Identifier: MIT
#include "puretour/models/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/text.h"
#include "puretour/models/safetensors.h"

namespace puretour {
namespace {

// Metadata keys of a file. The version changes when older programs would misread newer files.
constexpr const char* kVersionKey = "puretour_checkpoint";
constexpr const char* kVersion = "1";
constexpr const char* kConfigKey = "model";
// Notes are kept apart from our own keys.
constexpr std::string_view kNotePrefix = "note.";

// The first few of many differences, and how many more there are.
std::string summary(const std::vector<std::string>& differences) {
  constexpr std::size_t kShown = 6;
  const auto end = differences.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, differences.size()));
  std::string text = fmt::format("{}", fmt::join(differences.begin(), end, "; "));
  if (differences.size() > kShown) text += fmt::format("; and {} more", differences.size() - kShown);
  return text;
}

void compare(const WeightSpec& spec, const Tensor& tensor, std::vector<std::string>& differences) {
  if (tensor.shape != spec.shape) {
    differences.push_back(
        fmt::format("{} is {}, should be {}", spec.name, shape_text(tensor.shape), shape_text(spec.shape)));
    return;
  }
  if (tensor.values.size() != num_values(tensor.shape)) {
    differences.push_back(
        fmt::format("{} has {} values, should have {}", spec.name, tensor.values.size(), num_values(tensor.shape)));
    return;
  }
  const auto bad = std::find_if(tensor.values.begin(), tensor.values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != tensor.values.end()) {
    differences.push_back(fmt::format("{}[{}] is {}", spec.name, bad - tensor.values.begin(), *bad));
    return;
  }
  if (spec.role != WeightRole::kRunningVar) return;
  const auto negative = std::find_if(tensor.values.begin(), tensor.values.end(), [](float v) { return v < 0; });
  if (negative != tensor.values.end()) {
    differences.push_back(
        fmt::format("{}[{}] is {}, a negative variance", spec.name, negative - tensor.values.begin(), *negative));
  }
}

}  // namespace

void check_weights(const ModelConfig& config, const TensorMap& weights, const std::string& source) {
  std::vector<std::string> differences;
  std::set<std::string> known;
  for (const WeightSpec& spec : weight_specs(config)) {
    known.insert(spec.name);
    const auto found = weights.find(spec.name);
    if (found == weights.end()) {
      differences.push_back(fmt::format("{} ({}) is missing", spec.name, shape_text(spec.shape)));
    } else {
      compare(spec, found->second, differences);
    }
  }
  for (const auto& [name, tensor] : weights) {
    if (!known.contains(name)) {
      differences.push_back(fmt::format("{} ({}) is unknown", quote_input(name), shape_text(tensor.shape)));
    }
  }
  if (!differences.empty()) {
    throw ModelError(fmt::format("{}: the weights are not those of the model {}: {}", source, architecture_name(config),
                                 summary(differences)));
  }
}

std::string format_checkpoint(const Checkpoint& checkpoint) {
  check_weights(checkpoint.config, checkpoint.weights, "checkpoint");
  Safetensors file;
  file.metadata[kVersionKey] = kVersion;
  file.metadata[kConfigKey] = model_config_text(checkpoint.config);
  for (const auto& [key, note] : checkpoint.notes) file.metadata[std::string(kNotePrefix) + key] = note;
  for (const auto& [name, tensor] : checkpoint.weights) file.tensors[name] = to_stored(tensor);
  return format_safetensors(file);
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& source) {
  const Safetensors file = parse_safetensors(bytes, source);
  const auto version = file.metadata.find(kVersionKey);
  const auto config = file.metadata.find(kConfigKey);
  if (version == file.metadata.end() || config == file.metadata.end()) {
    throw ModelError(fmt::format(
        "{}: a safetensors file, but no checkpoint of PureTour: its metadata do not describe the model; for published "
        "weights use \"puretour models import\"",
        source));
  }
  if (version->second != kVersion) {
    throw ModelError(fmt::format("{}: checkpoint version {}, but this program knows version {} only", source,
                                 quote_input(version->second), kVersion));
  }
  if (!file.has_checksum) throw ModelError(fmt::format("{}: the checksum is missing; the file was altered", source));
  Checkpoint checkpoint;
  checkpoint.config = parse_model_config(config->second, source);
  for (const auto& [name, stored] : file.tensors) checkpoint.weights[name] = to_tensor(stored, name, source);
  check_weights(checkpoint.config, checkpoint.weights, source);
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(kNotePrefix)) checkpoint.notes[key.substr(kNotePrefix.size())] = value;
  }
  return checkpoint;
}

Checkpoint read_checkpoint(const std::string& path) {
  return parse_checkpoint(read_file(path), path);
}

}  // namespace puretour
