// `puretour reproduce`: the whole paper with one command: the law, the evaluation, the report.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/cli/common.h"
#include "puretour/cli/evaluate_mode.h"
#include "puretour/cli/law_modes.h"
#include "puretour/cli/report_mode.h"
#include "puretour/cli/verbs.h"
#include "puretour/evaluate/data_set.h"
#include "puretour/evaluate/solvers.h"

namespace puretour::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  bool quick = false;
  bool full = false;
  std::string output;
  std::string models = "models";
  std::string tsplib;
  std::string augment = "1";
  std::vector<std::size_t> law_scales;
  std::string law_instances;
  std::vector<std::size_t> scales;
  std::vector<std::size_t> instances;
  std::uint64_t seed = 2025;
  bool plan_only = false;
  bool quiet = false;
  int threads = 0;
};

// What is to be done, in this order.
struct Plan {
  LawOptions law;
  LawOptions propositions;
  EvaluateOptions evaluation;
  std::optional<EvaluateOptions> tsplib;
};

Plan make_plan(const Options& options) {
  Plan plan;
  plan.law.output = options.output + "/law";
  plan.law.seed = options.seed;
  plan.law.scales = options.law_scales;
  if (!options.law_instances.empty()) plan.law.instances = options.law_instances;
  plan.propositions.propositions = true;
  plan.propositions.output = options.output + "/propositions";
  plan.propositions.seed = options.seed;
  plan.propositions.instances = plan.law.instances;
  plan.evaluation.output = options.output + "/evaluation";
  plan.evaluation.seed = options.seed;
  plan.evaluation.augment = options.augment;
  plan.evaluation.solvers = {"nearest", "greedy", "2opt", "lk"};
  plan.evaluation.scales = options.scales;
  plan.evaluation.instances = options.instances;
  if (fs::exists(options.models)) plan.evaluation.models = model_files({options.models});
  if (options.quick) {
    if (options.law_scales.empty()) plan.law.scales = {20, 50, 100, 200, 400};
    if (options.law_instances.empty()) plan.law.instances = "32";
    if (options.law_instances.empty()) plan.propositions.instances = "10";
    if (options.scales.empty()) {
      plan.evaluation.scales = {100, 1000};
      if (options.instances.empty()) plan.evaluation.instances = {32, 2};
    }
  }
  if (!options.tsplib.empty()) {
    plan.tsplib = plan.evaluation;
    plan.tsplib->output = options.output + "/tsplib";
    plan.tsplib->data = {options.tsplib};
  }
  for (LawOptions* law : {&plan.law, &plan.propositions}) {
    law->quiet = options.quiet;
    law->prints = false;
    law->threads = options.threads;
  }
  for (EvaluateOptions* evaluation : {&plan.evaluation, plan.tsplib ? &*plan.tsplib : nullptr}) {
    if (evaluation == nullptr) continue;
    evaluation->quiet = options.quiet;
    evaluation->prints = false;
    evaluation->threads = options.threads;
  }
  return plan;
}

// Seconds of one thread for an instance of so many nodes, from the time of a small one.
class SpeedOfSolvers {
 public:
  explicit SpeedOfSolvers(const EvaluateOptions& evaluation) {
    const Instance instance = generate_instance({}, Distribution::kUniform, kProbeNodes, 1, 0);
    reference_ = seconds_of(*make_solver("eax"), instance);
    for (const std::string& name : evaluation.solvers) {
      heuristics_ += seconds_of(*classical_solver(name).for_nodes(kProbeNodes), instance);
    }
    for (const std::string& file : evaluation.models) {
      const EvaluatedSolver solver =
          network_solver(file, {evaluation.decode, evaluation.augment, evaluation.precision});
      networks_ += seconds_of(*solver.for_nodes(kProbeNodes), instance);
    }
  }

  [[nodiscard]] double of_reference(std::size_t nodes) const { return reference_ * growth(nodes, kSteep); }
  [[nodiscard]] double of_all_solvers(std::size_t nodes) const {
    return heuristics_ * growth(nodes, kFlat) + networks_ * growth(nodes, kSteep);
  }

 private:
  static constexpr std::size_t kProbeNodes = 100;
  static constexpr double kSteep = 1.6;  // EAX from 100 to 5000 nodes; networks are not far from it
  static constexpr double kFlat = 1.2;   // constructions, and searches with so many kicks per node

  static double seconds_of(const Solver& solver, const Instance& instance) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(solver.solve(instance, {}));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  static double growth(std::size_t nodes, double exponent) {
    return std::pow(static_cast<double>(nodes) / kProbeNodes, exponent);
  }

  double reference_ = 0;
  double heuristics_ = 0;
  double networks_ = 0;
};

struct Step {
  std::string name;
  std::string work;
  double seconds = 0;  // of one thread
};

Step evaluation_step(const std::string& name, const std::vector<EvaluationSet>& sets, const EvaluateOptions& evaluation,
                     const SpeedOfSolvers& speed) {
  Step step{name, "", 0};
  std::size_t items = 0;
  for (const EvaluationSet& set : sets) {
    for (const EvaluationItem& item : set.items) {
      ++items;
      step.seconds += speed.of_reference(item.nodes) + speed.of_all_solvers(item.nodes);
    }
  }
  step.work = fmt::format("{} instances, {} networks, {} other solvers", items, evaluation.models.size(),
                          evaluation.solvers.size());
  return step;
}

void print_plan(const Plan& plan, const Options& options) {
  // Bad options are found here, before anything takes time.
  const std::vector<LawType> types = types_of(plan.law);
  const std::vector<EvaluationSet> random = sets_of(plan.evaluation);
  const std::vector<EvaluationSet> tsplib = plan.tsplib ? sets_of(*plan.tsplib) : std::vector<EvaluationSet>();
  const SpeedOfSolvers speed(plan.evaluation);
  Step law{"the law", "", 0};
  std::size_t instances = 0;
  for (const LawType& type : types) {
    instances += type.num_instances;
    law.seconds += static_cast<double>(type.num_instances) * speed.of_reference(type.scale);
  }
  law.work = fmt::format("{} instances of {} types", instances, types.size());
  std::vector<Step> steps = {law, {"the propositions", "23200 small instances at most", 10}};
  steps.push_back(evaluation_step("random instances", random, plan.evaluation, speed));
  if (plan.tsplib) steps.push_back(evaluation_step("TSPLIB", tsplib, *plan.tsplib, speed));
  const int threads = resolve_threads(options.threads);
  Table table({"step", "work", "about"});
  double total = 0;
  for (const Step& step : steps) {
    total += step.seconds / threads;
    table.add({step.name, step.work, format_duration(step.seconds / threads)});
  }
  table.add({"the report", "", "1 s"});
  print(fmt::format("{}\nAbout {} with {} threads, if nothing of it is in {} yet; what is there is not done again.\n",
                    table.text(), format_duration(total), threads, options.output));
  if (plan.evaluation.models.empty()) {
    print(fmt::format("There are no networks in {}: their places in the report will say so.\n", options.models));
  }
  print("\n");
}

// Folders of training runs beside the networks: the report shows their speed and learning curves.
std::vector<std::string> training_runs(const std::string& models) {
  std::vector<std::string> runs;
  if (!fs::is_directory(models)) return runs;
  for (const auto& entry : fs::directory_iterator(models)) {
    if (fs::exists(entry.path() / "recipe.toml") && fs::exists(entry.path() / "timing.jsonl") &&
        fs::exists(entry.path() / "log.jsonl")) {
      runs.push_back(entry.path().string());
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

void reproduce(Options options) {
  if (options.quick == options.full) {
    throw InputError("say either --quick (a few minutes) or --full (everything, for hours)");
  }
  if (options.output.empty()) options.output = options.quick ? "out/quick" : "out/full";
  const Plan plan = make_plan(options);
  print_plan(plan, options);
  if (options.plan_only) return;

  const auto timed = [](const std::string& title, const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    const bool is_done = work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    print(fmt::format("{:<18} {}\n", title, is_done ? format_duration(seconds) : "stopped"));
    return is_done;
  };
  const auto law = [](const auto& run, const LawOptions& law_options) {
    run(law_options);
    return true;
  };
  const bool is_done =
      timed("the law", [&] { return law(run_law_experiment, plan.law); }) &&
      timed("the propositions", [&] { return law(check_propositions_of_the_paper, plan.propositions); }) &&
      timed("random instances", [&] { return evaluate(plan.evaluation); }) &&
      (!plan.tsplib || timed("TSPLIB", [&] { return evaluate(*plan.tsplib); }));
  if (!is_done) return;

  std::vector<std::string> results = {plan.law.output, plan.propositions.output, plan.evaluation.output};
  if (plan.tsplib) results.push_back(plan.tsplib->output);
  for (const std::string& run : training_runs(options.models)) results.push_back(run);
  const std::string page = options.output + "/report.html";
  const std::vector<Headline> numbers = write_report(results, page);
  print("\n");
  print_headlines(numbers);
  print(fmt::format("\nThe report: {}\n", fs::absolute(page).lexically_normal().string()));
}

}  // namespace

void add_reproduce(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("reproduce", "The paper with one command: law, evaluation, report");
  verb->add_flag("--quick", options->quick, "A part of everything, in a few minutes");
  verb->add_flag("--full", options->full, "Everything as in the paper; can be stopped and goes on");
  verb->add_option("-o,--output", options->output, "Folder for all results; default: out/quick or out/full");
  verb->add_option("--models", options->models, "Folder of networks, which may be empty")->capture_default_str();
  verb->add_option("--tsplib", options->tsplib, "Folder of TSPLIB files, to be evaluated, too");
  verb->add_option("--augment", options->augment, "Networks: best over copies, see puretour evaluate --help")
      ->capture_default_str();
  verb->add_option("--law-scales", options->law_scales, "Other sizes of the law experiment")->delimiter(',');
  verb->add_option("--law-instances", options->law_instances,
                   "Other numbers of instances of the law and the propositions");
  verb->add_option("--scales", options->scales, "Other sizes of the evaluation")->delimiter(',');
  verb->add_option("--instances", options->instances, "Other numbers of instances of the evaluation")->delimiter(',');
  add_whole_number(*verb, "--seed", options->seed, "Seed of everything", 0);
  verb->add_flag("--plan", options->plan_only, "Print the plan with its time, and do nothing");
  verb->add_flag("-q,--quiet", options->quiet, "No progress lines");
  add_threads_option(*verb, options->threads);
  verb->footer(
      "\nThe plan and an estimate of its time come first; the estimate is from solving one instance of 100 nodes with\n"
      "everything that takes part. At the end stand the five numbers that matter and the place of the report. Every\n"
      "solved instance is on disk at once: after a kill, run it again and it resumes.\n\n"
      "Examples:\n"
      "  puretour reproduce --quick\n"
      "  puretour reproduce --full --tsplib tsplib -o out/full\n"
      "  puretour reproduce --full --plan");
  verb->callback([options] { reproduce(*options); });
}

}  // namespace puretour::cli
