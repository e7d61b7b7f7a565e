// The training loop, the same for all networks and methods.
//
// A step: fresh instances -> encode with a graph -> sampled tours, without one -> lengths -> baseline -> weights of the
// steps -> log-probabilities of all steps at once, with a graph -> gradient -> clip -> Adam. With a teacher: fresh or
// solved instances -> encode -> sampled tours -> best completions -> log-probabilities of the taught steps -> gradient.
//
// A run lives in a folder:
//   recipe.toml             what is computed
//   validation.txt          instances with optimal tours
//   log.jsonl               a line for every few steps and for every validation;
//                           the same for the same recipe, bit by bit
//   timing.jsonl            speed; not the same
//   state-STEP.safetensors  the last two checkpoints of everything
//   model.safetensors       the network, for `puretour solve --model`
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "puretour/nn/network.h"
#include "puretour/train/adam.h"
#include "puretour/train/baseline.h"
#include "puretour/train/batch.h"
#include "puretour/train/communicator.h"
#include "puretour/train/recipe.h"
#include "puretour/train/teacher.h"
#include "puretour/train/training_state.h"
#include "puretour/train/validation.h"

namespace puretour::train {

/// Weights of the steps of the tours of a batch, in the order of the tours' nodes: fills the last argument. PUPO's by
/// default; put your own here.
using StepWeights = std::function<void(const Batch&, const BatchTours&, std::span<float>)>;

struct TrainOptions {
  int threads = 1;
  std::string device = "cpu";
  ProcessPlace place;
  StepWeights weights;  // empty: as the method of the recipe says
};

/// What each part of the work took.
struct PhaseTime {
  double seconds = 0;
  double processor_seconds = 0;  // of all threads
};
struct PhaseTimes {
  PhaseTime instances;
  PhaseTime encode;
  PhaseTime tours;
  PhaseTime labels;  // of a teacher
  PhaseTime baseline;
  PhaseTime weights;
  PhaseTime gradient;
  PhaseTime optimizer;
};

/// A network in training, without any files.
class Trainer {
 public:
  /// From the beginning, or from a state (whose recipe counts).
  Trainer(const Recipe& recipe, const TrainOptions& options);
  Trainer(const TrainingState& state, const TrainOptions& options);
  ~Trainer();

  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] std::uint64_t num_steps() const { return step_; }
  [[nodiscard]] std::uint64_t num_steps_in_all() const { return recipe_.epochs * recipe_.steps; }
  [[nodiscard]] bool is_finished() const { return step_ >= num_steps_in_all(); }
  /// Of the step that comes next.
  [[nodiscard]] std::size_t epoch() const { return step_ / recipe_.steps; }
  [[nodiscard]] double learning_rate() const;
  /// Of questions from the network's own tours, at the step that comes next.
  [[nodiscard]] double own_share() const;

  /// One step of the optimiser; after the last of an epoch the baseline is brought up to date. Throws NumericError if
  /// the gradient is not finite: then the weights are as before.
  StepSums step();

  /// Whether the last step ended an epoch and a new baseline was taken over.
  [[nodiscard]] bool replaced_baseline() const { return replaced_baseline_; }

  /// `sums` and `log_bytes` are left to the caller.
  [[nodiscard]] TrainingState state() const;
  /// The chain of trainings whose result the weights started from, oldest first: a JSON list of notes.
  [[nodiscard]] const std::string& ancestry() const { return ancestry_; }
  /// The network as it is now, by default as a user of the finished one would run it.
  [[nodiscard]] std::unique_ptr<Policy> policy(kernels::Precision precision = kernels::Precision::kFloat) const;
  [[nodiscard]] nn::Network& network() { return *network_; }
  [[nodiscard]] Communicator& communicator() { return *communicator_; }
  [[nodiscard]] const PhaseTimes& phases() const { return phases_; }
  [[nodiscard]] int num_threads() const { return threads_; }

 private:
  void prepare(const TrainOptions& options);
  void take_initial_weights();
  [[nodiscard]] Batch next_batch() const;
  [[nodiscard]] std::vector<std::vector<nn::Tensor>> encode(const Batch& batch);
  // One step without the optimiser's part: gradients of the parameters.
  StepSums reinforce();
  StepSums imitate();
  void finish_step(StepSums& sums);
  [[nodiscard]] BatchTours sample_tours(const Batch& batch, const std::vector<std::vector<nn::Tensor>>& encoded) const;
  double add_gradients(const std::vector<std::vector<nn::Tensor>>& encoded, const nn::Tensor& tours,
                       const nn::Tensor& coefficients);
  void add_up_gradients();
  void share_gradients();

  Recipe recipe_;
  int threads_ = 1;
  torch::Device device_ = torch::kCPU;
  StepWeights step_weights_;
  std::unique_ptr<Communicator> communicator_;
  std::shared_ptr<nn::Network> network_;
  // The batch is cut into shares, each of which has a copy of the network (the first has the network itself) and is
  // worked on by one thread. Their number is fixed, so that the result does not depend on the number of threads.
  std::unique_ptr<nn::BatchGroup> group_;
  std::shared_ptr<nn::PackCache> packs_;  // of the weights of this step
  std::vector<std::shared_ptr<nn::Network>> copies_;
  std::unique_ptr<Adam> adam_;
  std::unique_ptr<Baseline> baseline_;
  std::unique_ptr<SolvedInstances> solved_;  // null: fresh instances
  std::string ancestry_ = "[]";              // how the initial weights came about
  std::uint64_t step_ = 0;
  bool replaced_baseline_ = false;
  PhaseTimes phases_;
};

}  // namespace puretour::train
