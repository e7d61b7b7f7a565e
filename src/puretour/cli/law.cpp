// `puretour law`: the law experiment, and the same statistics for tours in files.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>

#include "puretour/base/build_info.h"
#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/base/text.h"
#include "puretour/cli/common.h"
#include "puretour/cli/law_modes.h"
#include "puretour/cli/verbs.h"
#include "puretour/law/experiment.h"
#include "puretour/law/paper_table.h"
#include "puretour/law/regularity.h"
#include "puretour/report/law_figures.h"
#include "puretour/report/png.h"

namespace puretour::cli {
namespace {

// Where nobody sees the progress line, one line after a minute says how long it will take.
class Projection {
 public:
  void show(std::size_t done, std::size_t total) {
    const std::lock_guard lock(mutex_);
    if (first_done_ == 0) first_done_ = done;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (shown_ || seconds < 60 || done == first_done_) return;
    shown_ = true;
    const double rate = static_cast<double>(done - first_done_) / seconds;
    fmt::print(stderr, "puretour: {} of {} instances done, about {} to go\n", done, total,
               format_duration(static_cast<double>(total - done) / rate));
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t first_done_ = 0;
  bool shown_ = false;
};

nlohmann::ordered_json fit_json(const std::optional<ExponentialFit>& fit) {
  if (!fit) return {};
  return {{"alpha", fit->alpha},
          {"beta", fit->beta},
          {"fit_error", fit->mean_squared_error},
          {"r_squared", fit->r_squared}};
}

std::vector<std::string> table_row(const std::string& name, const LawRow& row) {
  const auto positive = row.pooled.num_edges() > 0 ? row.pooled.mean_positive_order() : std::nullopt;
  std::vector<std::string> fields = {name, fmt::format("{}", row.type.num_instances)};
  fields.push_back(row.fit ? fmt::format("{:.4f}", row.fit->alpha) : "-");
  fields.push_back(row.fit ? fmt::format("{:.4f}", row.fit->beta) : "-");
  fields.push_back(row.fit ? fmt::format("{:.1e}", row.fit->mean_squared_error) : "-");
  fields.push_back(row.pooled.num_edges() > 0 ? fmt::format("{:.2f} %", 100 * row.pooled.proportion_zero()) : "-");
  fields.push_back(row.pooled.num_edges() > 0 ? fmt::format("{:.4f}", row.pooled.mean_order()) : "-");
  fields.push_back(positive ? fmt::format("{:.4f}", *positive) : "-");
  return fields;
}

std::vector<std::string> table_header() {
  return {"", "tours", "alpha", "beta", "fit error", "Prop-0", "APO(all)", "APO(non-0)"};
}

// The samples of a file. A TSPLIB file holds no tour: with --tours it is NAME.tour in that folder for NAME.tsp.
std::vector<Sample> samples_with_tours(const std::string& file, const LawOptions& options) {
  std::vector<Sample> samples = read_samples(file, options.format);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    const std::string name = display_name(sample.instance, file, i, samples.size());
    if (!sample.tour && !options.tours.empty() && samples.size() == 1) {
      const auto tour = std::filesystem::path(options.tours) / std::filesystem::path(file).stem().concat(".tour");
      sample.tour = read_tour(tour.string(), sample.instance.size());
    }
    if (!sample.tour) {
      throw InputError(fmt::format(
          "{}: has no tour; solve it first: puretour solve {} -o solved.txt (or -o NAME.tour, and name its folder here "
          "with --tours)",
          name, file));
    }
    if (!sample.instance.has_points()) {
      throw InputError(fmt::format("{}: has no coordinates, so there is no purity", name));
    }
  }
  return samples;
}

// Statistics of tours that are there already: one row for each file, one for all.
void measure_files(const LawOptions& options) {
  check_standard_input_is_used_once(options.files);
  std::vector<std::string> header = table_header();
  header.insert(header.begin() + 2, "nodes");
  header.insert(header.end(), {"ties", "shared"});
  Table table(header);
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  const auto report = [&](const std::string& name, std::span<const LawSample> samples, const Regularity& regularity) {
    const LawRow row = make_law_row({}, samples);
    std::vector<std::string> cells = table_row(name, row);
    cells.insert(cells.begin() + 2, fmt::format("{}", regularity.num_nodes));
    cells.push_back(fmt::format("{:.1f} %", 100 * regularity.share_tied_edges()));
    cells.push_back(fmt::format("{:.1f} %", 100 * regularity.share_sharing()));
    table.add(std::move(cells));
    document[name] = to_json(row);
    document[name]["tied_edges"] = regularity.share_tied_edges();
    document[name]["nodes_at_shared_places"] = regularity.share_sharing();
  };
  std::vector<LawSample> all;
  Regularity regularity_of_all;
  for (const std::string& file : options.files) {
    const std::vector<Sample> samples = samples_with_tours(file, options);
    std::vector<LawSample> of_file(samples.size());
    std::vector<Regularity> parts(samples.size());
    parallel_for(samples.size(), options.threads, [&](std::size_t i) {
      const auto points = samples[i].instance.points();
      of_file[i].orders.add(tour_orders(points, samples[i].tour->order()));
      parts[i] = measure_regularity(points, samples[i].tour->order());
    });
    Regularity regularity;
    for (const Regularity& part : parts) regularity.add(part);
    all.insert(all.end(), of_file.begin(), of_file.end());
    regularity_of_all.add(regularity);
    report(file, of_file, regularity);
  }
  if (options.files.size() > 1) report(fmt::format("all {} tours", all.size()), all, regularity_of_all);
  if (options.json) {
    print_json(document);
  } else {
    print(table.text());
  }
}

void run_mode(const LawOptions& options) {
  if (options.propositions && options.sensitivity) {
    throw InputError("give either --propositions or --sensitivity, not both");
  }
  if (!options.tours.empty() && options.files.empty()) {
    throw InputError("--tours is for files to measure; name them, or leave it out");
  }
  if (options.propositions || options.sensitivity) {
    if (options.solver != LawOptions().solver) {
      throw InputError("--with is for the experiment; leave it out here, where the solvers are given");
    }
    if (!options.files.empty()) {
      throw InputError(fmt::format("--{} makes instances of its own; leave out {}",
                                   options.propositions ? "propositions" : "sensitivity", options.files[0]));
    }
    options.propositions ? check_propositions_of_the_paper(options) : measure_sensitivity(options);
  } else if (!options.files.empty()) {
    if (!options.output.empty()) throw InputError("give either files to measure or -o for the experiment, not both");
    measure_files(options);
  } else if (options.output.empty()) {
    throw InputError("give a folder with -o for the experiment, or files with tours to measure");
  } else {
    run_law_experiment(options);
  }
}

}  // namespace

std::optional<std::size_t> number_of_instances(const LawOptions& options) {
  const std::string& text = options.instances;
  if (text == "paper") return {};
  const bool digits = !text.empty() && text.size() < 8 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t count = digits ? std::stoul(text) : 0;
  if (count == 0) {
    throw InputError(fmt::format("--instances is {}; give 'paper' or a whole number from 1 on", quote_input(text)));
  }
  return count;
}

std::vector<Distribution> distributions_of(const LawOptions& options) {
  std::vector<Distribution> distributions;
  for (const std::string& name : options.distributions) distributions.push_back(distribution_from_name(name));
  if (distributions.empty()) {
    distributions = {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion,
                     Distribution::kImplosion};
  }
  return distributions;
}

std::vector<LawType> types_of(const LawOptions& options) {
  std::vector<std::size_t> scales = options.scales;
  if (scales.empty()) {
    for (const PaperFit& fit : paper_fits()) {
      if (scales.empty() || scales.back() != fit.scale) scales.push_back(fit.scale);
    }
  }
  for (const std::size_t scale : scales) {
    if (scale < 5 || scale > 100000) {
      throw InputError(fmt::format("--scales: {} is outside 5 .. 100000", scale));
    }
  }
  return law_types(scales, distributions_of(options), number_of_instances(options).value_or(0));
}

void run_law_experiment(const LawOptions& options) {
  const std::vector<LawType> types = types_of(options);
  LawRun run;
  run.folder = options.output + "/samples";
  run.seed = options.seed;
  run.solver = options.solver;
  run.threads = options.threads;
  std::size_t total = 0;
  for (const LawType& type : types) total += type.num_instances;
  std::vector<std::vector<LawSample>> samples;
  const auto start = std::chrono::steady_clock::now();
  {
    Progress progress("instances", total, options.quiet);
    Projection projection;
    const bool projects = !options.quiet && isatty(STDERR_FILENO) == 0;
    std::size_t shown = 0;
    std::mutex mutex;
    run.progress = [&](std::size_t done, std::size_t all) {
      if (projects) projection.show(done, all);
      const std::lock_guard lock(mutex);
      if (done > shown) progress.advance(done - std::exchange(shown, done));
    };
    samples = run_law(types, run);
  }
  std::vector<LawRow> rows(types.size());
  parallel_for(types.size(), options.threads, [&](std::size_t t) { rows[t] = make_law_row(types[t], samples[t]); });

  double solve_seconds = 0;
  std::size_t within = 0;
  std::size_t compared = 0;
  Table table(table_header());
  nlohmann::ordered_json json_rows = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const LawRow& row = rows[t];
    for (const LawSample& sample : samples[t]) solve_seconds += sample.seconds;
    if (row.alpha_z && row.beta_z) {
      ++compared;
      if (std::abs(*row.alpha_z) <= 3 && std::abs(*row.beta_z) <= 3) ++within;
    }
    table.add(table_row(fmt::format("{} {}", distribution_name(types[t].distribution), types[t].scale), row));
    nlohmann::ordered_json entry = {{"scale", types[t].scale},
                                    {"distribution", distribution_name(types[t].distribution)}};
    entry.update(to_json(row));
    json_rows.push_back(std::move(entry));
  }
  const nlohmann::ordered_json document = {
      {"program", program_name()},
      {"seed", options.seed},
      {"solver", options.solver},
      {"instances", total},
      {"solve_seconds_of_one_thread", solve_seconds},
      {"seconds_of_this_run", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()},
      {"types_compared", compared},
      {"types_within_3_standard_errors", within},
      {"types", json_rows}};
  write_results(options.output, {{"law.csv", law_csv(rows)},
                                 {"law.json", document.dump(1) + "\n"},
                                 {"law_curves.svg", law_curves_svg(rows)},
                                 {"law_metrics.svg", law_metrics_svg(rows)},
                                 {"law_fits.svg", law_fits_svg(rows)}});
  if (!options.prints) return;
  if (options.json) {
    print_json(document);
    return;
  }
  print(table.text());
  if (compared > 0) {
    print(fmt::format("\n{} of {} types lie within 3 standard errors of the paper's alpha and beta.\n", within,
                      compared));
  }
  print(fmt::format("{} instances; law.csv, law.json and figures are in {}\n", total, options.output));
}

std::string program_name() {
  const BuildInfo build = build_info();
  return fmt::format("puretour {} {}", build.version, build.commit);
}

void write_results(const std::string& folder, const std::vector<NewFile>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("{}: cannot make this folder: {}", folder, error.message()));
  std::vector<NewFile> in_folder;
  in_folder.reserve(files.size());
  for (const NewFile& file : files) in_folder.push_back({folder + "/" + file.path, file.content});
  write_together(in_folder);
  for (const NewFile& file : in_folder) {
    if (!file.path.ends_with(".svg")) continue;
    if (!svg_to_png(file.path, std::filesystem::path(file.path).replace_extension(".png").string())) {
      fmt::print(stderr, "puretour: rsvg-convert is not installed, so PNGs are left out (Debian: librsvg2-bin)\n");
      return;
    }
  }
}

nlohmann::ordered_json to_json(const LawRow& row) {
  nlohmann::ordered_json entry = {{"instances", row.type.num_instances}, {"edges", row.pooled.num_edges()}};
  entry["fit"] = fit_json(row.fit);
  entry["log_fit"] = fit_json(row.log_fit);
  if (row.spread) {
    entry["alpha_interval"] = {row.spread->alpha.low, row.spread->alpha.high};
    entry["beta_interval"] = {row.spread->beta.low, row.spread->beta.high};
  }
  if (row.alpha_z) entry["z_alpha"] = *row.alpha_z;
  if (row.beta_z) entry["z_beta"] = *row.beta_z;
  if (row.pooled.num_edges() > 0) {
    const auto positive = row.pooled.mean_positive_order();
    entry["mean_instance_fit_error"] = row.mean_instance_error;
    entry["prop_0"] = row.pooled.proportion_zero();
    entry["apo_all"] = row.pooled.mean_order();
    entry["apo_non_0"] = positive ? nlohmann::ordered_json(*positive) : nlohmann::ordered_json();
  }
  entry["histogram"] = row.pooled.counts();
  return entry;
}

void add_law(CLI::App& app) {
  auto options = std::make_shared<LawOptions>();
  CLI::App* verb = app.add_subcommand("law", "The Purity Law experiment: generate, solve, measure, fit");
  verb->add_option("FILE", options->files, "Instances with tours: fit these instead; - is standard input");
  add_format_option(*verb, "--from", options->format, "Format of the files, if neither name nor content tells");
  verb->add_option("--tours", options->tours, "Folder with a tour NAME.tour for each file NAME.tsp");
  verb->add_flag("--propositions", options->propositions, "Check the paper's propositions instead");
  verb->add_flag("--sensitivity", options->sensitivity, "Measure tours of different quality instead");
  verb->add_option("--scales", options->scales, "Numbers of nodes; default: the paper's 21 (--sensitivity: 500)")
      ->delimiter(',');
  verb->add_option("--distributions", options->distributions, "uniform, clustered, explosion, implosion; default: all")
      ->delimiter(',');
  verb->add_option("--instances", options->instances,
                   "Instances of each type: a number, or 'paper' for 256 and 128 (other modes: 50, 16)")
      ->capture_default_str();
  add_whole_number(*verb, "--seed", options->seed, "Seed of the instances and of the solver", 0);
  verb->add_option("--with", options->solver, "Solver: auto, lk or eax")->capture_default_str();
  verb->add_option("-o,--output", options->output, "Folder for tables and figures, and for samples of the experiment");
  verb->add_flag("-q,--quiet", options->quiet, "No progress line");
  add_json_flag(*verb, options->json);
  add_threads_option(*verb, options->threads);
  verb->footer(
      "\nEvery solved instance is on disk at once: after a kill, run it again and it resumes. The fit is least\n"
      "squares in linear space over all orders seen; intervals are by bootstrap over the instances.\n\n"
      "Of files: 'ties' are edges with a node exactly on their circle, 'shared' are nodes at the place of another "
      "one.\n"
      "--propositions tests existence, connectivity and convexity of 0-order neighbours, and shows where the claim\n"
      "that availability is supermodular fails (50 instances of each kind and size). --sensitivity measures optimal "
      "tours,\n"
      "searches stopped near 1, 2, 5 and 10 % excess, and well-known constructions (16 instances of each type).\n\n"
      "Examples:\n"
      "  puretour law --scales 50,100,200 --instances 64 -o law-small\n"
      "  puretour law -o law\n"
      "  puretour law solved.txt\n"
      "  puretour law berlin52.tsp pr76.tsp --tours tours\n"
      "  puretour law --propositions -o propositions\n"
      "  puretour law --sensitivity --scales 200 --instances 8 -o sensitivity");
  verb->callback([options] { run_mode(*options); });
}

}  // namespace puretour::cli
