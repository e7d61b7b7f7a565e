// Everything that a run needs to go on as if it had never stopped, in one file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "puretour/models/tensor.h"
#include "puretour/train/baseline.h"
#include "puretour/train/recipe.h"

namespace puretour::train {

/// Sums over the steps since the last line of the log.
struct StepSums {
  std::uint64_t steps = 0;
  double length = 0;
  double advantage = 0;
  double loss = 0;
  double gradient_norm = 0;
  double weight_mean = 0;
  double weight_min = 0;  // not sums, but the extremes
  double weight_max = 0;
  // Of a teacher; `loss` is then the cross-entropy:
  std::uint64_t decisions = 0;
  std::uint64_t correct = 0;  // decisions where no other node was more probable
  std::uint64_t skipped = 0;  // decisions whose right node the network cannot choose
  double nats = 0;            // minus the log-probabilities of the right nodes
  bool operator==(const StepSums&) const = default;
};

struct TrainingState {
  Recipe recipe;
  std::uint64_t step = 0;  // done
  TensorMap weights;
  TensorMap moments;  // of the optimiser
  Baseline::State baseline;
  StepSums sums;
  std::uint64_t log_bytes = 0;  // length of the log at this moment
  std::string ancestry = "[]";  // how the initial weights came about: see ancestry_of()
  bool operator==(const TrainingState&) const = default;
};

std::string format_state(const TrainingState& state);

/// Throws ModelError, with `source` in front: any altered byte is found.
TrainingState parse_state(std::string_view bytes, const std::string& source);

/// Writes FOLDER/state-STEP.safetensors, then removes all but the two newest.
void write_state(const std::filesystem::path& folder, const TrainingState& state);

/// The state files of a folder, oldest first.
std::vector<std::filesystem::path> state_files(const std::filesystem::path& folder);

/// The newest one, or nothing. Throws ModelError if it is damaged, and says how to go on.
std::optional<TrainingState> newest_state(const std::filesystem::path& folder);

}  // namespace puretour::train
