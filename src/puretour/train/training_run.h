// A training run in its folder: checkpoints, logs, validation, and going on where it stopped.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "puretour/train/trainer.h"

namespace puretour::train {

struct RunOptions {
  TrainOptions train;
  std::filesystem::path folder;
  std::uint64_t checkpoint_steps = 1000;
  double checkpoint_minutes = 10;
  std::optional<std::uint64_t> stop_after;            // pause after this step of the run
  const std::atomic<bool>* stop_requested = nullptr;  // looked at after every step
  bool quiet = false;
};

enum class RunEnd : std::uint8_t { kFinished, kPaused };

/// Begins the run, or goes on with it if the folder holds it already. Throws InputError if the folder holds another
/// run, ModelError if its checkpoint is damaged, NumericError if training breaks down; the last checkpoint stays.
RunEnd run_training(const Recipe& recipe, const RunOptions& options);

}  // namespace puretour::train
