// SPDX-License-Identifier: MIT
#include "puretour/train/validation.h"

#include <memory>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/solve/solver.h"
#include "puretour/train/batch.h"

namespace puretour::train {

std::vector<Sample> make_validation_set(const Recipe& recipe, int threads, bool quiet, const Deadline& deadline) {
  const std::size_t count = recipe.validation_instances;
  // The set does not depend on the seed of the run, so that runs can be compared.
  constexpr std::uint64_t kSeed = 0;
  const Batch batch = make_batch(kSeed, Purpose::kValidation, 0, 0, count, recipe.nodes, 1);
  const auto solver = make_solver("auto");
  std::vector<Sample> samples(count);
  Progress progress("validation instances solved", count, quiet);
  parallel_for(count, threads, [&](std::size_t i) {
    const auto points = batch.instance(i);
    samples[i].instance = Instance(std::vector<Point>(points.begin(), points.end()));
    SolveOptions options;
    options.deadline = deadline;
    samples[i].tour = solver->solve(samples[i].instance, options).tour;
    progress.advance();
  });
  if (deadline.expired()) throw InputError("stopped while the validation instances were solved; nothing was trained");
  return samples;
}

Validation validate(const Policy& policy, const std::vector<Sample>& set, int threads) {
  std::vector<double> lengths(set.size());
  std::vector<double> gaps(set.size());
  std::vector<PurityHistogram> purities(set.size());
  parallel_for_blocks(set.size(), policy.rollouts_together(), threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::unique_ptr<EncodedInstance>> encoded;
    std::vector<RolloutTask> tasks(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      encoded.push_back(policy.encode(set[i].instance.points(), {}));  // as a solver does
      tasks[i - begin].instance = encoded.back().get();
    }
    std::size_t i = begin;
    for (Rollout& rollout : policy.roll_out_together(tasks)) {
      const Instance& instance = set[i].instance;
      const Tour tour(std::move(rollout.order));
      lengths[i] = tour_length(instance, tour);
      gaps[i] = lengths[i] / tour_length(instance, *set[i].tour) - 1;
      purities[i].add(tour_orders(instance.points(), tour.order()));
      ++i;
    }
  });
  Validation result;
  PurityHistogram all;
  const auto count = static_cast<double>(set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    result.length += lengths[i] / count;
    result.gap += gaps[i] / count;
    all.add(purities[i]);
  }
  result.proportion_zero = all.proportion_zero();
  result.mean_order = all.mean_order();
  result.mean_positive_order = all.mean_positive_order().value_or(0);
  return result;
}

}  // namespace puretour::train
