// SPDX-License-Identifier: MIT
#include "puretour/train/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/models/safetensors.h"

namespace puretour::train {
namespace {

constexpr std::string_view kWeights = "model.";
constexpr std::string_view kMoments = "adam.";
constexpr std::string_view kBaseline = "baseline.";
constexpr const char* kSetLengths = "baseline_set_lengths";

void put(Safetensors& file, std::string_view prefix, const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) file.tensors[std::string(prefix) + name] = to_stored(tensor);
}

TensorMap take(const Safetensors& file, std::string_view prefix, const std::string& source) {
  TensorMap tensors;
  for (const auto& [name, stored] : file.tensors) {
    if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = to_tensor(stored, name, source);
  }
  return tensors;
}

StoredTensor doubles(const std::vector<double>& values) {
  StoredTensor stored{Dtype::kF64, {values.size()}, std::string(values.size() * sizeof(double), '\0')};
  if (!values.empty()) std::memcpy(stored.bytes.data(), values.data(), stored.bytes.size());
  return stored;
}

}  // namespace

std::string format_state(const TrainingState& state) {
  Safetensors file;
  put(file, kWeights, state.weights);
  put(file, kMoments, state.moments);
  put(file, kBaseline, state.baseline.weights);
  file.tensors[kSetLengths] = doubles(state.baseline.set_lengths);
  const StepSums& sums = state.sums;
  const nlohmann::ordered_json numbers = {{"step", state.step},
                                          {"log_bytes", state.log_bytes},
                                          {"baseline_set", state.baseline.set_number},
                                          {"moving_mean", state.baseline.moving_mean},
                                          {"has_moving_mean", state.baseline.has_moving_mean},
                                          {"sums",
                                           {sums.steps, sums.length, sums.advantage, sums.loss, sums.gradient_norm,
                                            sums.weight_mean, sums.weight_min, sums.weight_max}},
                                          {"teacher_sums", {sums.decisions, sums.correct, sums.skipped, sums.nats}}};
  file.metadata["kind"] = "puretour training state";
  file.metadata["recipe"] = recipe_text(state.recipe);
  file.metadata["numbers"] = numbers.dump();
  file.metadata["ancestry"] = state.ancestry;
  return format_safetensors(file);
}

TrainingState parse_state(std::string_view bytes, const std::string& source) {
  const Safetensors file = parse_safetensors(bytes, source);
  if (!file.has_checksum || !file.metadata.contains("recipe") || !file.metadata.contains("numbers") ||
      !file.tensors.contains(kSetLengths)) {
    throw ModelError(fmt::format("{}: this is no training state", source));
  }
  TrainingState state;
  state.recipe = parse_recipe(file.metadata.at("recipe"), source);
  if (file.metadata.contains("ancestry")) state.ancestry = file.metadata.at("ancestry");
  state.weights = take(file, kWeights, source);
  state.moments = take(file, kMoments, source);
  state.baseline.weights = take(file, kBaseline, source);
  const StoredTensor& lengths = file.tensors.at(kSetLengths);
  if (lengths.dtype != Dtype::kF64) throw ModelError(fmt::format("{}: {} is not of type F64", source, kSetLengths));
  state.baseline.set_lengths.resize(lengths.bytes.size() / sizeof(double));
  if (!lengths.bytes.empty()) {
    std::memcpy(state.baseline.set_lengths.data(), lengths.bytes.data(), lengths.bytes.size());
  }
  try {
    const auto numbers = nlohmann::json::parse(file.metadata.at("numbers"));
    state.step = numbers.at("step");
    state.log_bytes = numbers.at("log_bytes");
    state.baseline.set_number = numbers.at("baseline_set");
    state.baseline.moving_mean = numbers.at("moving_mean");
    state.baseline.has_moving_mean = numbers.at("has_moving_mean");
    const auto& sums = numbers.at("sums");
    state.sums = {sums.at(0), sums.at(1), sums.at(2), sums.at(3), sums.at(4), sums.at(5), sums.at(6), sums.at(7)};
    if (numbers.contains("teacher_sums")) {  // states of earlier versions have none
      const auto& of_teacher = numbers.at("teacher_sums");
      state.sums.decisions = of_teacher.at(0);
      state.sums.correct = of_teacher.at(1);
      state.sums.skipped = of_teacher.at(2);
      state.sums.nats = of_teacher.at(3);
    }
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(fmt::format("{}: {}", source, error.what()));
  }
  return state;
}

std::vector<std::filesystem::path> state_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("state-") && name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void write_state(const std::filesystem::path& folder, const TrainingState& state) {
  write_file((folder / fmt::format("state-{:012}.safetensors", state.step)).string(), format_state(state));
  std::vector<std::filesystem::path> files = state_files(folder);
  constexpr std::size_t kKept = 2;
  while (files.size() > kKept) {
    std::filesystem::remove(files.front());
    files.erase(files.begin());
  }
}

std::optional<TrainingState> newest_state(const std::filesystem::path& folder) {
  const auto files = state_files(folder);
  if (files.empty()) return std::nullopt;
  const std::string path = files.back().string();
  try {
    return parse_state(read_file(path), path);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}; remove the file to go on from {}", error.what(),
                                 files.size() > 1 ? files[files.size() - 2].string() : "the beginning"));
  }
}

}  // namespace puretour::train
