// What the length of a sampled tour is compared with.
//
//   none         0
//   exponential  moving mean of the lengths, the current batch included
//   rollout      greedy tour of a frozen copy of the network; after an epoch the copy is replaced if the network is
//                better on a fixed set (paired t-test), and then the set, too. Exponential during the first epochs
//                (Kool et al.)
//   gated        greedy tour of a frozen copy on the same view; replaced if the network's best tours of fresh instances
//                are shorter by more than a tolerance (Fang et al.)
//   shared       mean of the tours of the instance (Kwon et al.; Jin et al.)
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "puretour/infer/policy.h"
#include "puretour/train/batch.h"
#include "puretour/train/recipe.h"

namespace puretour::train {

/// P(T <= t) for Student's distribution.
double student_t_cdf(double t, double degrees_of_freedom);

/// p of the one-sided paired t-test for "the first values are smaller"; 1 if their mean is not.
double paired_t_test(std::span<const double> first, std::span<const double> second);

class Baseline {
 public:
  /// What has to survive an interruption.
  struct State {
    TensorMap weights;                // of the frozen copy; empty without one
    std::uint64_t set_number = 0;     // rollout: of the set of the comparison
    std::vector<double> set_lengths;  // rollout: of the copy's tours of the set
    double moving_mean = 0;
    bool has_moving_mean = false;
    bool operator==(const State&) const = default;
  };

  /// `initial`: weights of the frozen copy before training.
  Baseline(const Recipe& recipe, const TensorMap& initial, int threads);
  Baseline(const Recipe& recipe, State state, int threads);
  ~Baseline();

  [[nodiscard]] const State& state() const { return state_; }

  /// One value for each tour, in place: lengths become advantages. `number`: of the training batch. `mean_length`: of
  /// the whole batch, where the given part is that of one process.
  void subtract(const Batch& batch, std::uint64_t number, std::size_t epoch, double mean_length, std::size_t tours,
                std::span<double> lengths);

  /// After epoch number `epoch`: replaces the frozen copy if `network`, whose weights are these, is better. Tells
  /// whether.
  bool update(const Policy& network, const TensorMap& weights, std::size_t epoch);

 private:
  [[nodiscard]] bool has_copy() const { return recipe_.baseline == "rollout" || recipe_.baseline == "gated"; }
  [[nodiscard]] bool is_moving_mean(std::size_t epoch) const;
  // Greedy lengths of a set; of the views of an instance the shortest counts.
  [[nodiscard]] std::vector<double> lengths_on_set(const Policy& policy, std::uint64_t number, bool of_baseline) const;
  void set_copy(const TensorMap& weights);

  Recipe recipe_;
  int threads_;
  State state_;
  std::unique_ptr<Policy> copy_;
};

}  // namespace puretour::train
