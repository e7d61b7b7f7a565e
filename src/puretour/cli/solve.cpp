// `puretour solve`: good tours for any instance.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/base/text.h"
#include "puretour/cli/common.h"
#include "puretour/cli/stop_signals.h"
#include "puretour/cli/verbs.h"
#include "puretour/infer/neural_solver.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/solve/lower_bound.h"
#include "puretour/solve/solver.h"
#include "puretour/tour/line_format.h"

namespace puretour::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::optional<FileFormat> format;
  std::string with = "auto";
  std::optional<double> time_limit;
  std::uint64_t seed = 0;
  std::string initial;
  std::string output;
  std::optional<FileFormat> to;
  SolverSettings settings;
  std::string model;
  std::string decode = "greedy";
  std::string augment = "1";
  std::string precision = "float32";
  NeuralSettings neural;
  std::string device = "cpu";
  bool bound = false;
  bool json = false;
  bool quiet = false;
  int threads = 0;
};

struct Solved {
  std::string name;
  SolveResult result;
  std::optional<PurityHistogram> purity;  // none without coordinates or with a single node
  std::optional<LowerBound> bound;
  std::optional<double> free_length;  // of the edges that are not fixed; none without fixed edges
  std::optional<double> reference;    // length of the tour in the input, which a network is compared with
};

// One line on the terminal with the best length so far of the instance in hand.
class LiveLine {
 public:
  explicit LiveLine(bool quiet) : visible_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~LiveLine() {
    if (drawn_) fmt::print(stderr, "\r\033[K");
  }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& name, const SolveProgress& progress) {
    if (!visible_) return;
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    drawn_ = true;
    fmt::print(stderr, "\r\033[K{}  {}  {:.10g}  {}", name, progress.phase, progress.length,
               format_duration(std::chrono::duration<double>(now - start_).count()));
    std::fflush(stderr);
  }

 private:
  bool visible_;
  bool drawn_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

// Published optima of instances with fixed edges (linhp318) leave these out.
std::optional<double> length_without_fixed_edges(const Instance& instance, double length) {
  if (instance.fixed_edges().empty()) return std::nullopt;
  for (const auto [a, b] : instance.fixed_edges()) length -= instance.distance(a, b);
  return length;
}

nlohmann::ordered_json to_json(const Solved& solved) {
  nlohmann::ordered_json entry = {{"name", solved.name},
                                  {"nodes", solved.result.tour.size()},
                                  {"method", solved.result.method},
                                  {"length", solved.result.length},
                                  {"seconds", solved.result.seconds}};
  if (solved.free_length) entry["length_without_fixed_edges"] = *solved.free_length;
  if (solved.result.unimproved_length) entry["unimproved_length"] = *solved.result.unimproved_length;
  if (solved.reference) {
    entry["reference_length"] = *solved.reference;
    entry["gap_to_reference"] = solved.result.length / *solved.reference - 1;
  }
  if (solved.purity) {
    const auto positive = solved.purity->mean_positive_order();
    entry["prop_0"] = solved.purity->proportion_zero();
    entry["apo_all"] = solved.purity->mean_order();
    entry["apo_non_0"] = positive ? nlohmann::ordered_json(*positive) : nlohmann::ordered_json();
  }
  if (solved.bound) {
    entry["bound"] = solved.bound->length;
    entry["bound_is_proven"] = solved.bound->is_proven;
    entry["gap_to_bound"] = solved.result.length / solved.bound->length - 1;
  }
  return entry;
}

void print_table(const std::vector<Solved>& all, const Options& options) {
  std::vector<std::string> header = {"instance", "nodes", "method", "length", "seconds", "Prop-0", "APO(all)"};
  const auto any_has = [&all](auto member) {
    return std::any_of(all.begin(), all.end(), [&](const Solved& s) { return member(s).has_value(); });
  };
  const bool has_unimproved = any_has([](const Solved& s) { return s.result.unimproved_length; });
  const bool has_reference = any_has([](const Solved& s) { return s.reference; });
  const bool has_fixed_edges = any_has([](const Solved& s) { return s.free_length; });
  if (has_fixed_edges) header.emplace_back("without fixed");
  if (has_unimproved) header.emplace_back("unimproved");
  if (has_reference) header.emplace_back("gap to input");
  if (options.bound) header.insert(header.end(), {"bound", "gap at most"});
  Table table(header);
  for (const Solved& solved : all) {
    std::vector<std::string> row = {solved.name, fmt::format("{}", solved.result.tour.size()), solved.result.method,
                                    fmt::format("{:.10g}", solved.result.length),
                                    fmt::format("{:.2f}", solved.result.seconds)};
    row.push_back(solved.purity ? fmt::format("{:.2f} %", 100 * solved.purity->proportion_zero()) : "-");
    row.push_back(solved.purity ? fmt::format("{:.4f}", solved.purity->mean_order()) : "-");
    if (has_fixed_edges) row.push_back(solved.free_length ? fmt::format("{:.10g}", *solved.free_length) : "-");
    if (has_unimproved) row.push_back(fmt::format("{:.10g}", solved.result.unimproved_length.value_or(0)));
    if (has_reference) {
      row.push_back(solved.reference ? fmt::format("{:.3f} %", 100 * (solved.result.length / *solved.reference - 1))
                                     : "-");
    }
    if (solved.bound) {
      row.push_back(fmt::format("{:.10g}{}", solved.bound->length, solved.bound->is_proven ? "" : " (estimate)"));
      row.push_back(fmt::format("{:.3f} %", 100 * (solved.result.length / solved.bound->length - 1)));
    }
    table.add(std::move(row));
  }
  print(table.text());
}

// A .tour file holds a tour alone, everything else instances with their tours.
bool wants_tour_file(const Options& options) {
  return !options.to && options.output.ends_with(".tour");
}

// Before the work, not after it: can the tours be written where they are wanted?
void check_output(const Options& options, std::span<const Sample> samples) {
  if (options.output.empty()) return;
  if (!wants_tour_file(options)) {
    const FileFormat format = output_format(options.output, options.to);
    if (format == FileFormat::kTsplib) return;
    for (const Sample& sample : samples) (void)require_planar_points(sample.instance, file_format_name(format));
  } else if (samples.size() != 1) {
    throw InputError(
        fmt::format("{}: a tour file holds one tour, but there are {} instances; write a .txt or .npz file",
                    options.output, samples.size()));
  }
}

void write_tours(std::vector<Sample> samples, const std::vector<Solved>& solved, const Options& options) {
  if (wants_tour_file(options)) {
    write_tour(options.output, solved[0].result.tour, solved[0].name, solved[0].result.length);
    return;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].tour = solved[i].result.tour;
  write_samples(options.output, output_format(options.output, options.to), samples);
}

std::unique_ptr<Solver> solver_for(const Options& options, std::size_t num_instances) {
  if (options.model.empty()) return make_solver(options.with, options.settings);
  if (options.device != "cpu") {
    throw InputError(
        fmt::format("--device is {}, but tours are built on the CPU, where a step is too small for other "
                    "devices; use --device cpu",
                    quote_input(options.device)));
  }
  NeuralSettings settings = options.neural;
  settings.decoding = Decoding::parse(options.decode);
  settings.augmentation = Augmentation::parse(options.augment);
  settings.precision = kernels::parse_precision(options.precision);
  // Several instances have a thread each.
  settings.threads = num_instances == 1 ? options.threads : 1;
  return make_neural_solver(read_checkpoint(options.model), settings);
}

void solve(const Options& options) {
  check_standard_input_is_used_once(options.files);
  std::vector<Sample> samples;
  std::vector<std::string> names;
  for (const std::string& file : options.files) {
    std::vector<Sample> read = read_samples(file, options.format);
    for (std::size_t i = 0; i < read.size(); ++i) {
      names.push_back(display_name(read[i].instance, file, i, read.size()));
      samples.push_back(std::move(read[i]));
    }
  }
  check_output(options, samples);
  const auto solver = solver_for(options, samples.size());
  std::optional<Tour> initial;
  if (!options.initial.empty()) {
    if (samples.size() != 1) {
      throw InputError(fmt::format("--initial goes with one instance, but the input holds {}", samples.size()));
    }
    initial = read_tour(options.initial, samples[0].instance.size());
  }

  const std::atomic<bool>& stop_requested = catch_stop_signals();
  std::vector<Solved> solved(samples.size());
  {
    const bool many = samples.size() > 1;
    LiveLine line(options.quiet || many);
    Progress progress("instances", samples.size(), options.quiet || !many);
    parallel_for(samples.size(), options.threads, [&](std::size_t i) {
      const Instance& instance = samples[i].instance;
      SolveOptions solve_options;
      solve_options.deadline = (options.time_limit ? Deadline::after_seconds(*options.time_limit) : Deadline())
                                   .with_stop_flag(&stop_requested);
      solve_options.seed = options.seed;
      // A tour that the file already has is a start, too; but a network shall show what it can do itself.
      if (options.model.empty()) {
        solve_options.initial = initial ? initial : samples[i].tour;
      } else {
        solve_options.initial = initial;
        if (samples[i].tour) solved[i].reference = tour_length(instance, *samples[i].tour);
      }
      solve_options.progress = [&](const SolveProgress& p) { line.show(names[i], p); };
      solved[i].name = names[i];
      solved[i].result = solver->solve(instance, solve_options);
      solved[i].free_length = length_without_fixed_edges(instance, solved[i].result.length);
      if (instance.has_points() && instance.size() >= 2) {
        solved[i].purity.emplace();
        solved[i].purity->add(tour_orders(instance.points(), solved[i].result.tour.order()));
      }
      if (options.bound) solved[i].bound = held_karp_bound(instance, solved[i].result.tour);
      progress.advance();
    });
  }
  if (stop_requested && !options.quiet) fmt::print(stderr, "puretour: stopped early; this is the best found so far\n");
  if (!options.output.empty()) write_tours(std::move(samples), solved, options);
  // Tours on standard output leave no room for a table.
  if (options.output == "-") return;
  if (options.json) {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    for (const Solved& s : solved) document.push_back(to_json(s));
    print_json(document);
  } else {
    print_table(solved, options);
  }
}

}  // namespace

void add_solve(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("solve", "Find short tours: optimal for small instances, very good for large ones");
  verb->add_option("FILE", options->files, "Files of instances; - is standard input")->required();
  add_format_option(*verb, "--from", options->format, "Format of the files, if neither name nor content tells");
  CLI::Option* with =
      verb->add_option("--with", options->with,
                       "auto, lk (local search), eax (genetic algorithm), lkh (external), nearest, greedy, 2opt")
          ->capture_default_str();
  CLI::Option* model =
      verb->add_option("--model", options->model, "Checkpoint of a network that builds the tours")->excludes(with);
  verb->add_option("--decode", options->decode,
                   "model: greedy, sample:K (best of K random tours) or multistart[:K] (best of K starts)")
      ->needs(model)
      ->capture_default_str();
  verb->add_option("--temperature", options->neural.temperature, "model: of sampling; lower is greedier")
      ->needs(model)
      ->check(positive_number())
      ->capture_default_str();
  verb->add_option("--augment", options->augment,
                   "model: best over copies of the instance: 8 (symmetries) or mix:K (random)")
      ->needs(model)
      ->capture_default_str();
  verb->add_flag("--improve", options->neural.improve, "model: run the local search on the network's tour")
      ->needs(model);
  verb->add_flag("--raw-coordinates", options->neural.raw_coordinates,
                 "model: show it the coordinates as they are, not scaled to the unit square")
      ->needs(model);
  verb->add_option("--precision", options->precision,
                   "model: of products with weights: float32, or bfloat16 (faster by avx512bf16 and amx)")
      ->needs(model)
      ->capture_default_str();
  verb->add_option("--device", options->device, "model: cpu; training also knows cuda")
      ->needs(model)
      ->capture_default_str();
  verb->add_option("--time-limit", options->time_limit, "Seconds per instance, all phases included")
      ->type_name("SECONDS")
      ->check(positive_number());
  verb->add_option("--seed", options->seed, "Same seed, same tour, unless the time limit cuts the search")
      ->capture_default_str();
  verb->add_option("--initial", options->initial, "Tour file to start from; the result is never longer");
  verb->add_flag("--bound", options->bound, "Also compute a lower bound, which certifies how good the tour is");
  verb->add_option("-o,--output", options->output, "Write the tour (.tour), or instances with tours (.txt, .npz)");
  add_format_option(*verb, "--to", options->to, "Format of the output, if the name does not tell");
  verb->add_option("--kicks", options->settings.max_kicks, "lk: stop after this many kicks");
  verb->add_option("--population", options->settings.population, "eax: tours in the population; default by size")
      ->check(CLI::Range(2, 100000));
  verb->add_option("--runs", options->settings.runs, "eax: runs at most, until two agree; default by size")
      ->check(CLI::Range(1, 1000));
  verb->add_option("--lkh-binary", options->settings.lkh_binary, "lkh: the program to call")->capture_default_str();
  verb->add_flag("-q,--quiet", options->quiet, "No progress line");
  add_json_flag(*verb, options->json);
  add_threads_option(*verb, options->threads);
  add_isa_option(*verb);
  verb->footer(
      "\nLengths are in the metric of the instance (TSPLIB rounding included). Ctrl-C stops the search and keeps the "
      "best\n"
      "tour found. Several instances are solved in parallel, one per thread.\n"
      "A network sees coordinates scaled to the unit square, the aspect ratio kept; tours in the input are not used by "
      "it\n"
      "but compared with its own.\n"
      "\nExamples:\n  puretour solve berlin52.tsp -o berlin52.tour\n"
      "  puretour solve cities.txt --time-limit 5 -o solved.txt\n"
      "  puretour solve large.tsp --time-limit 60 --bound\n"
      "  puretour solve cities.txt --model am.safetensors --decode sample:1280\n"
      "  puretour solve berlin52.tsp --model am.safetensors --augment 8 --improve --time-limit 10");
  verb->callback([options] { solve(*options); });
}

}  // namespace puretour::cli
