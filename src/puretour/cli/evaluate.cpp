// `puretour evaluate`: networks and classical solvers on data sets, measured against reference tours.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

#include "puretour/base/build_info.h"
#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/base/text.h"
#include "puretour/cli/common.h"
#include "puretour/cli/evaluate_mode.h"
#include "puretour/cli/law_modes.h"
#include "puretour/cli/stop_signals.h"
#include "puretour/cli/verbs.h"
#include "puretour/evaluate/data_set.h"
#include "puretour/evaluate/evaluation.h"
#include "puretour/evaluate/solvers.h"
#include "puretour/evaluate/summary.h"
#include "puretour/report/evaluation_figures.h"

namespace puretour::cli {
namespace {

// What is done and how long the rest will take: a line that is redrawn on a terminal, a line per minute in a log.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : visible_(!quiet), is_terminal_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (drawn_ && is_terminal_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const EvaluationProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (!visible_ || now < next_) return;
    next_ = now + (is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::minutes(1));
    drawn_ = true;
    const std::string left =
        progress.seconds_left ? fmt::format("about {} left", format_duration(*progress.seconds_left)) : "measuring";
    fmt::print(stderr, "{}{} of {} tours, {}{}", is_terminal_ ? "\r\033[K" : "puretour: ", progress.done,
               progress.total, left, is_terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  std::mutex mutex_;
  bool visible_;
  bool is_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() +
      (isatty(STDERR_FILENO) != 0 ? std::chrono::seconds(1) : std::chrono::minutes(1));
};

std::vector<EvaluationSet> random_sets(const EvaluateOptions& options) {
  LawOptions law;
  law.distributions = options.distributions;
  const std::vector<Distribution> distributions = distributions_of(law);
  std::vector<std::size_t> scales = options.scales;
  if (scales.empty()) scales.assign(std::begin(kPaperScales), std::end(kPaperScales));
  if (options.instances.size() > 1 && options.instances.size() != scales.size()) {
    throw InputError(fmt::format("--instances has {} numbers for {} scales; give one, or one for each scale",
                                 options.instances.size(), scales.size()));
  }
  std::vector<EvaluationSet> sets;
  for (std::size_t s = 0; s < scales.size(); ++s) {
    if (scales[s] < kMinRandomNodes || scales[s] > kMaxRandomNodes) {
      throw InputError(fmt::format("--scales: {} is outside {} .. {}", scales[s], kMinRandomNodes, kMaxRandomNodes));
    }
    const std::size_t count = options.instances.empty()       ? usual_instances(scales[s])
                              : options.instances.size() == 1 ? options.instances[0]
                                                              : options.instances[s];
    if (count == 0) throw InputError("--instances: 0 instances of a type cannot be evaluated; give 1 or more");
    for (const Distribution distribution : distributions) {
      sets.push_back(random_set(distribution, scales[s], count, options.seed));
    }
  }
  return sets;
}

std::vector<EvaluatedSolver> solvers_of(const EvaluateOptions& options) {
  std::vector<EvaluatedSolver> solvers;
  for (const std::string& file : model_files(options.models)) {
    solvers.push_back(network_solver(file, {options.decode, options.augment, options.precision}));
  }
  for (const std::string& name : options.solvers) solvers.push_back(classical_solver(name));
  if (solvers.empty()) {
    throw InputError(options.models.empty()
                         ? "there is nothing to evaluate; name networks with --models or solvers with --solvers"
                         : fmt::format("{}: there is no network (.safetensors) in this folder; add --solvers, or train "
                                       "one: puretour train --help",
                                       options.models[0]));
  }
  return solvers;
}

// In percent, and never "-0.00", which rounding noise would give.
std::string hundredths(double share) {
  const std::string text = fmt::format("{:.2f}", 100 * share);
  return text == "-0.00" ? "0.00" : text;
}

std::string percent(double share) {
  return hundredths(share) + " %";
}

void print_tables(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  Table table(
      {"set", "solver", "tours", "gap", "95 % interval", "length", "seconds", "Prop-0", "APO(all)", "APO(non-0)"});
  for (const SummaryRow& row : summarise(sets, solvers)) {
    if (row.num_items == 0) continue;
    const auto positive = row.orders.mean_positive_order();
    table.add({sets[row.set].set.name, solvers[row.solver].name, fmt::format("{}", row.num_items),
               percent(row.gap->mean), fmt::format("{} .. {}", hundredths(row.gap->low), hundredths(row.gap->high)),
               fmt::format("{:.6g}", row.mean_length), fmt::format("{:.3f}", row.mean_seconds),
               percent(row.orders.proportion_zero()), fmt::format("{:.4f}", row.orders.mean_order()),
               positive ? fmt::format("{:.4f}", *positive) : "-"});
  }
  print(table.text());
  const std::vector<MethodPair> pairs = method_pairs(sets, solvers);
  if (pairs.empty()) return;
  Table paired(
      {"PUPO against vanilla", "set", "tours", "gap difference, points", "95 % interval", "shorter", "longer"});
  for (const MethodPair& pair : pairs) {
    paired.add({fmt::format("{}: {} - {}", pair.slot, solvers[pair.pupo].name, solvers[pair.vanilla].name),
                pair.set ? sets[*pair.set].set.name : "all, equal weights", fmt::format("{}", pair.num_items),
                fmt::format("{:+.3f}", 100 * pair.difference.mean),
                fmt::format("{:+.3f} .. {:+.3f}", 100 * pair.difference.low, 100 * pair.difference.high),
                fmt::format("{}", pair.num_shorter), fmt::format("{}", pair.num_longer)});
  }
  print("\n" + paired.text());
}

}  // namespace

std::vector<EvaluationSet> sets_of(const EvaluateOptions& options) {
  std::vector<EvaluationSet> sets;
  for (const std::string& data : options.data) {
    if (auto set = random_set_of_text(data, options.seed)) {
      sets.push_back(*std::move(set));
      continue;
    }
    for (EvaluationSet& set : data == "random" ? random_sets(options) : folder_sets(data)) {
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

bool evaluate(const EvaluateOptions& options) {
  const std::vector<EvaluatedSolver> solvers = solvers_of(options);
  EvaluationRun run;
  run.folder = options.output;
  run.seed = options.seed;
  run.reference_solver = options.reference;
  run.reference_seconds = options.reference_seconds;
  run.threads = options.threads;
  const std::atomic<bool>& stop_requested = catch_stop_signals();
  run.deadline = Deadline().with_stop_flag(&stop_requested);
  std::vector<EvaluatedSet> sets;
  {
    ProgressLine line(options.quiet);
    run.progress = [&](const EvaluationProgress& progress) { line.show(progress); };
    sets = run_evaluation(sets_of(options), solvers, run);
  }
  write_complete_sets(sets, options.output);
  EvaluationNotes notes;
  notes.program = program_name();
  notes.machine = cpu_name();
  notes.decoding = options.decode;
  if (options.precision != "float32") notes.decoding += ", " + options.precision;
  notes.augmentation = options.augment;
  notes.reference_solver =
      options.reference + (options.reference_seconds ? fmt::format(", {:g} s", *options.reference_seconds) : "");
  notes.seed = options.seed;
  notes.threads = resolve_threads(options.threads);
  const std::string document = evaluation_json(sets, solvers, notes);
  std::vector<NewFile> files = {{"evaluate.json", document},
                                {"gaps.md", gaps_markdown(sets, solvers)},
                                {"instances.csv", instances_csv(sets, solvers)},
                                {"types.csv", types_csv(sets, solvers)}};
  if (auto picture = gaps_svg(sets, solvers)) files.push_back({"gaps.svg", *std::move(picture)});
  write_results(options.output, files);
  if (stop_requested && !options.quiet) {
    fmt::print(stderr, "puretour: stopped early; run it again and it resumes\n");
  }
  if (!options.prints) return !stop_requested;
  if (options.json) {
    print(document);
  } else {
    print_tables(sets, solvers);
    std::vector<std::string> names(files.size());
    std::transform(files.begin(), files.end(), names.begin(), [](const NewFile& file) { return file.path; });
    print(fmt::format("\nin {}: {}\n", options.output, fmt::join(names, ", ")));
  }
  return !stop_requested;
}

void add_evaluate(CLI::App& app) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = app.add_subcommand("evaluate", "Gaps, times and purity of networks and solvers on data sets");
  verb->add_option("--models", options->models, "Checkpoints of networks, or folders of them");
  verb->add_option("--solvers", options->solvers, "Classical solvers: nearest, greedy, 2opt, lk, eax, auto, lkh")
      ->delimiter(',');
  verb->add_option("--data", options->data,
                   "'random' (16 types), types like uniform-100:64, folders of TSPLIB files or instances")
      ->capture_default_str();
  verb->add_option("--scales", options->scales, "random: numbers of nodes; default: 100,1000,5000,10000")
      ->delimiter(',');
  verb->add_option("--distributions", options->distributions,
                   "random: uniform, clustered, explosion, implosion; default: all")
      ->delimiter(',');
  verb->add_option("--instances", options->instances,
                   "random: instances of each type, one number or one for each scale; default: 500,50,5,5")
      ->delimiter(',');
  verb->add_option("--decode", options->decode, "models: greedy, sample:K or multistart[:K]")->capture_default_str();
  verb->add_option("--augment", options->augment,
                   "models: best over copies: 8, mix:K, or by-size (64, 32, 16, 8 copies as INViT was tested)")
      ->capture_default_str();
  verb->add_option("--precision", options->precision, "models: of products with weights: float32 or bfloat16")
      ->capture_default_str();
  verb->add_option("--reference", options->reference, "Solver of the reference tours")->capture_default_str();
  verb->add_option("--reference-seconds", options->reference_seconds, "Time limit of each reference tour")
      ->type_name("SECONDS")
      ->check(positive_number());
  add_whole_number(*verb, "--seed", options->seed, "Seed of the instances and of all solvers", 0);
  verb->add_option("-o,--output", options->output, "Folder for results; an evaluation that is there goes on")
      ->required();
  verb->add_flag("-q,--quiet", options->quiet, "No progress line");
  add_json_flag(*verb, options->json);
  add_threads_option(*verb, options->threads);
  add_isa_option(*verb);
  verb->footer(
      "\nGaps are to reference tours by our own solver, kept in DIR/data with method, time and a lower bound; for "
      "TSPLIB\n"
      "also to the published lengths, if the folder has a file 'solutions' with lines 'NAME : LENGTH'. TSPLIB lengths "
      "are\n"
      "rounded as TSPLIB says; instances of EUC_2D and CEIL_2D with at most 10,000 nodes are taken. Every tour is on "
      "disk\n"
      "at once: after a kill, run it again and it resumes. Networks of one kind that were trained with and "
      "without\n"
      "PUPO are compared instance by instance, with bootstrap intervals.\n\n"
      "Examples:\n"
      "  puretour evaluate --models models --solvers nearest,2opt,lk -o out/evaluation\n"
      "  puretour evaluate --models models --scales 100,1000 --instances 64,8 -o out/small\n"
      "  puretour evaluate --models am.safetensors --data tsplib --augment 8 -o out/tsplib\n"
      "  puretour evaluate --solvers greedy,2opt,lk --data uniform-200:32 clustered-200:32 -o out/classical\n"
      "  puretour report out/evaluation -o report.html");
  verb->callback([options] { evaluate(*options); });
}

}  // namespace puretour::cli
