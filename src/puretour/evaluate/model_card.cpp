// SPDX-License-Identifier: MIT
#include "puretour/evaluate/model_card.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "puretour/base/sha256.h"

namespace puretour {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\"");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"") - begin + 1);
}

}  // namespace

std::string recipe_value(std::string_view recipe, std::string_view key) {
  while (!recipe.empty()) {
    const std::size_t end = std::min(recipe.find('\n'), recipe.size());
    std::string_view line = recipe.substr(0, end);
    recipe.remove_prefix(std::min(end + 1, recipe.size()));
    line = line.substr(0, line.find('#'));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == key) {
      return std::string(trimmed(line.substr(equals + 1)));
    }
  }
  return {};
}

std::string ModelCard::slot() const {
  if (!nodes) return {};
  const char* short_name = architecture == "am" ? "AM" : architecture == "pointerformer" ? "PF" : "INViT";
  return fmt::format("{}-{}", short_name, *nodes);
}

ModelCard make_model_card(const Checkpoint& checkpoint, std::string_view bytes, const std::string& name) {
  ModelCard card;
  card.name = name;
  card.architecture = architecture_name(checkpoint.config);
  card.parameters = num_parameters(checkpoint.config);
  card.sha256 = sha256_hex(bytes);
  const auto note = [&](const std::string& key) {
    const auto found = checkpoint.notes.find(key);
    return found == checkpoint.notes.end() ? std::string() : found->second;
  };
  const std::string recipe = note("training_recipe");
  card.nodes = number_in<std::size_t>(recipe_value(recipe, "nodes"));
  card.method = recipe_value(recipe, "method");
  card.training_instances = number_in<std::uint64_t>(note("training_instances"));
  card.program = note("program");
  double squares = 0;
  for (const WeightSpec& spec : weight_specs(checkpoint.config)) {
    if (spec.shape.size() < 2) continue;  // as in the paper: matrices only
    double of_matrix = 0;
    for (const float value : checkpoint.weights.at(spec.name).values) {
      of_matrix += static_cast<double>(value) * static_cast<double>(value);
    }
    card.norm_sum += std::sqrt(of_matrix);
    squares += of_matrix;
  }
  card.norm_joint = std::sqrt(squares);
  return card;
}

}  // namespace puretour
