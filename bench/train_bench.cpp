// Speed of training: instances per second of the paper's recipes, vanilla and PUPO in turn, and where the time goes.
//
//   build/release/bench/train_bench [MODEL NODES STEPS [float32|bfloat16|libtorch [BATCH]]]
//
// libtorch: float32 with LibTorch's own operations instead of our kernels wherever there is a gradient.
// Without arguments: the attention model at 50 and 100 nodes, INViT at 100 with one state encoder, Pointerformer at 50,
// in both precisions.
//
// GFLOPS are those that the step needs by arithmetic, as a share of what products in L1 reach on all
// threads. Medians over the steps after the first; every step of one method is followed by one of the other, so that a
// busy machine is unfair to both alike.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/isa.h"
#include "puretour/base/parallel.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/models/config.h"
#include "puretour/nn/kernel_functions.h"
#include "puretour/train/memory.h"
#include "puretour/train/trainer.h"

namespace {

using puretour::train::PhaseTime;
using puretour::train::PhaseTimes;
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

  puretour::train::StepSums step() {
    const auto start = std::chrono::steady_clock::now();
    const puretour::train::StepSums sums = trainer.step();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return sums;
  }

  Trainer trainer;
  std::vector<double> seconds;
};

// Operations (a product and a sum are two) of `tokens` tokens in `layers` layers of an encoder.
double encoder_operations(double tokens, double layers, double dim, double hidden) {
  return layers * (tokens * (8 * dim * dim + 4 * dim * hidden) + 4 * tokens * tokens * dim);
}

// What a step needs by arithmetic: a forward pass, twice that for the gradient, and the forward pass of the baseline.
// Products that are computed a second time instead of being stored do not count. Decoders: the larger products only.
double operations_of_step(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.nodes);
  const auto views = static_cast<double>(recipe.batch * recipe.copies);
  const auto tours = static_cast<double>(recipe.tours);
  const bool has_baseline = recipe.baseline == "rollout" || recipe.baseline == "gated";
  double encode = 0;  // per view
  double decode = 0;  // per tour
  const puretour::ModelConfig config = puretour::train::network_config(recipe);
  if (const auto* invit = std::get_if<puretour::InvitConfig>(&config)) {
    const auto dim = static_cast<double>(invit->embedding_dim);
    const auto hidden = static_cast<double>(invit->feed_forward_dim);
    const auto views_of_step = static_cast<double>(invit->state_views.size());
    double step = encoder_operations(static_cast<double>(invit->action_view) + 1,
                                     static_cast<double>(invit->num_action_layers), dim, hidden);
    for (const std::size_t view : invit->state_views) {
      step +=
          encoder_operations(static_cast<double>(view) + 2, static_cast<double>(invit->num_state_layers), dim, hidden);
    }
    step += 2 * static_cast<double>(invit->action_view) * (views_of_step + 1) * dim * 5 * dim;  // keys and values
    decode = n * step;
  } else {
    const bool is_am = recipe.model == "am";
    const double layers = is_am ? 3 : 6;
    const double dim = 128;
    encode = encoder_operations(n, layers, dim, 512) + n * 2 * dim * 4 * dim;
    decode = n * (2 * 2 * dim * dim + (is_am ? 6 : 2) * n * dim);
  }
  return views * (encode + tours * decode) * 3 + (has_baseline ? views * (encode + decode) : 0);
}

// Operations per second of all threads in products that fit L1: what the step could do at best.
double peak_of_products(const std::string& precision, int threads) {
  using puretour::kernels::Linear;
  constexpr std::size_t kRows = 96;
  constexpr std::size_t kWidth = 128;
  constexpr int kTimes = 2000;
  const std::vector<float> weight(kWidth * kWidth, 0.01F);
  const Linear linear =
      puretour::kernels::make_linear(weight, {}, kWidth, kWidth, puretour::kernels::parse_precision(precision));
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    puretour::parallel_for(static_cast<std::size_t>(threads), threads, [&](std::size_t) {
      puretour::kernels::AlignedVector<float> x(kRows * kWidth, 0.5F);
      puretour::kernels::AlignedVector<float> y(kRows * kWidth);
      for (int i = 0; i < kTimes; ++i) linear.apply(x.data(), kRows, y.data());
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kRows * kWidth * kWidth * kTimes * threads / seconds);
  }
  return best;
}

// The same network with a teacher, with all questions in the network's own states, as later in training.
Recipe teacher_of(const Recipe& recipe) {
  Recipe teacher = puretour::train::paper_recipe(recipe.model, recipe.nodes, "teacher");
  teacher.precision = recipe.precision;
  teacher.state_views = recipe.state_views;
  teacher.own_states_warmup = 0;
  return teacher;
}

void measure(Recipe recipe, int steps) {
  recipe.warmup_epochs = 0;  // with the roll-outs of the baseline, as in all epochs but the first
  recipe.baseline_instances = 2;
  recipe.method = "vanilla";
  recipe.weights = "none";
  Candidate vanilla(recipe);
  recipe.method = "pupo";
  recipe.weights = "paper";
  Candidate pupo(recipe);
  Candidate teacher(teacher_of(recipe));
  for (Candidate* candidate : {&vanilla, &pupo, &teacher}) candidate->trainer.step();
  double taught = 0;
  for (int i = 0; i < steps; ++i) {
    vanilla.step();
    pupo.step();
    taught += static_cast<double>(teacher.step().decisions);
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < vanilla.seconds.size(); ++i) ratios.push_back(pupo.seconds[i] / vanilla.seconds[i]);
  const double seconds = median(pupo.seconds);
  const double speed = operations_of_step(recipe) / seconds;
  const double peak = peak_of_products(recipe.precision, puretour::resolve_threads(0));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{}-{} {}: {:.1f} instances/s (best step {:.1f}), {:.1f} tours/s, PUPO / vanilla {:.3f}, {:.0f} GFLOPS = {:.0f} "
      "% of {:.0f}, {:.0f} MB\n",
      recipe.model, recipe.nodes, recipe.precision, static_cast<double>(recipe.batch) / seconds,
      static_cast<double>(recipe.batch) / *std::min_element(pupo.seconds.begin(), pupo.seconds.end()),
      static_cast<double>(recipe.batch * recipe.copies * recipe.tours) / seconds, median(ratios), speed / 1e9,
      100 * speed / peak, peak / 1e9, static_cast<double>(usage.ru_maxrss) / 1024);

  double teacher_seconds = 0;
  for (const double s : teacher.seconds) teacher_seconds += s;
  const double decisions =
      static_cast<double>(recipe.batch * recipe.copies * recipe.tours * (recipe.nodes - 1)) / seconds;
  const PhaseTimes& t = teacher.trainer.phases();
  fmt::print("decisions/s: PUPO {:.0f}, teacher {:.0f} = {:.2f} times, of its time {:.0f} % for labels\n", decisions,
             taught / teacher_seconds, taught / teacher_seconds / decisions,
             100 * t.labels.seconds / (t.encode.seconds + t.tours.seconds + t.labels.seconds + t.gradient.seconds));

  const PhaseTimes& p = pupo.trainer.phases();
  const std::vector<std::pair<const char*, PhaseTime>> phases = {
      {"instances", p.instances}, {"encode", p.encode},     {"tours", p.tours},        {"baseline", p.baseline},
      {"weights", p.weights},     {"gradient", p.gradient}, {"optimizer", p.optimizer}};
  double all = 0;
  for (const auto& [name, time] : phases) all += time.seconds;
  fmt::print("\n| phase | share of the time | busy threads |\n|---|---|---|\n");
  for (const auto& [name, time] : phases) {
    fmt::print("| {} | {:.1f} % | {:.2f} |\n", name, 100 * time.seconds / all, time.processor_seconds / time.seconds);
  }
  fmt::print("\n");
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
  if (argc >= 4) {
    Recipe recipe = puretour::train::paper_recipe(argv[1], std::strtoul(argv[2], nullptr, 10), "pupo");
    if (argc >= 5) {
      const std::string precision = argv[4];
      puretour::nn::want_kernels(precision != "libtorch");
      recipe.precision = precision == "libtorch" ? "float32" : precision;
    }
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
