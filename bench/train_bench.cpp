// Speed of training: instances per second of the paper's recipes, vanilla and PUPO in turn, and where the time goes.
//
//   build/release/bench/train_bench [MODEL NODES STEPS [float32|bfloat16 [BATCH]]]
//
// Without arguments: the attention model at 50 and 100 nodes, INViT at 100 with one state encoder, Pointerformer at 50,
// in both precisions.
// Medians over the steps after the first; every step of one method is followed by one of the other, so that a busy
// machine is unfair to both alike. SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/isa.h"
#include "puretour/base/parallel.h"
#include "puretour/train/memory.h"
#include "puretour/train/trainer.h"

namespace {

using puretour::train::PhaseSeconds;
using puretour::train::Recipe;
using puretour::train::Trainer;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Candidate {
  explicit Candidate(const Recipe& recipe) : trainer(recipe, options()) {}

  static puretour::train::TrainOptions options() {
    puretour::train::TrainOptions options;
    options.threads = 0;
    return options;
  }

  void step() {
    const auto start = std::chrono::steady_clock::now();
    trainer.step();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  Trainer trainer;
  std::vector<double> seconds;
};

void measure(Recipe recipe, int steps) {
  recipe.warmup_epochs = 0;  // with the roll-outs of the baseline, as in all epochs but the first
  recipe.baseline_instances = 2;
  recipe.method = "vanilla";
  Candidate vanilla(recipe);
  recipe.method = "pupo";
  Candidate pupo(recipe);
  vanilla.trainer.step();
  pupo.trainer.step();
  for (int i = 0; i < steps; ++i) {
    vanilla.step();
    pupo.step();
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < vanilla.seconds.size(); ++i) ratios.push_back(pupo.seconds[i] / vanilla.seconds[i]);
  const double seconds = median(pupo.seconds);
  const PhaseSeconds& p = pupo.trainer.phases();
  const double all = p.instances + p.encode + p.tours + p.baseline + p.weights + p.gradient + p.optimizer;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "| {}-{} {} | {:.1f} | {:.1f} | {:.3f} | {:.0f} % | {:.0f} % | {:.0f} % | {:.2f} % | {:.0f} % | {:.0f} MB |\n",
      recipe.model, recipe.nodes, recipe.precision, static_cast<double>(recipe.batch) / seconds,
      static_cast<double>(recipe.batch * recipe.copies * recipe.tours) / seconds, median(ratios), 100 * p.encode / all,
      100 * p.tours / all, 100 * p.baseline / all, 100 * p.weights / all, 100 * p.gradient / all,
      static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

Recipe invit_with_one_state_encoder(std::size_t nodes) {
  Recipe recipe = puretour::train::paper_recipe("invit", nodes, "pupo");
  recipe.state_views = {35};
  return recipe;
}

}  // namespace

int main(int argc, char** argv) {
  puretour::train::keep_freed_memory();
  const auto build = puretour::build_info();
  fmt::print("{}, {} threads, {}, commit {}\n\n", puretour::cpu_name(), puretour::resolve_threads(0),
             puretour::isa_name(puretour::active_isa()), build.commit);
  fmt::print(
      "| recipe | instances/s | tours/s | PUPO / vanilla | encode | tours | baseline | weights | gradient | peak "
      "memory |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  if (argc >= 4) {
    Recipe recipe = puretour::train::paper_recipe(argv[1], std::strtoul(argv[2], nullptr, 10), "pupo");
    if (argc >= 5) recipe.precision = argv[4];
    if (argc >= 6) recipe.batch = std::strtoul(argv[5], nullptr, 10);
    measure(recipe, std::atoi(argv[3]));
    return 0;
  }
  for (const char* precision : {"float32", "bfloat16"}) {
    const auto with_precision = [&](Recipe recipe) {
      recipe.precision = precision;
      return recipe;
    };
    measure(with_precision(puretour::train::paper_recipe("am", 50, "pupo")), 5);
    measure(with_precision(puretour::train::paper_recipe("am", 100, "pupo")), 3);
    measure(with_precision(invit_with_one_state_encoder(100)), 1);
    measure(with_precision(puretour::train::paper_recipe("pointerformer", 50, "pupo")), 3);
  }
}
