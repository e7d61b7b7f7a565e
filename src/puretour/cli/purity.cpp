// `puretour purity`: how pure are the edges of tours?
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>

#include "puretour/base/error.h"
#include "puretour/base/progress.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"
#include "puretour/purity/gabriel.h"
#include "puretour/purity/pupo.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/report/tour_picture.h"

namespace puretour::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::optional<FileFormat> format;
  std::string tour;
  std::string svg;
  std::size_t circles = 3;
  std::string edges;
  std::string weights;
  PupoOptions pupo;
  std::optional<std::uint32_t> gabriel_order;
  bool each = false;
  bool json = false;
  int threads = 0;
};

struct Measured {
  std::string name;
  std::size_t file = 0;  // index in Options::files
  std::size_t nodes = 0;
  double length = 0;
  PurityHistogram histogram;
  std::optional<std::size_t> gabriel_edges;
};

// Tours have rows of their own up to this many; above it there is one per file, unless asked.
constexpr std::size_t kMaxRows = 20;

// More circles than anyone can tell apart; each costs a pass over the nodes.
constexpr std::size_t kMaxCircles = 1000;

nlohmann::ordered_json metrics_json(const PurityHistogram& histogram) {
  const auto positive = histogram.mean_positive_order();
  return {{"edges", histogram.num_edges()},
          {"prop_0", histogram.proportion_zero()},
          {"apo_all", histogram.mean_order()},
          {"apo_non_0", positive ? nlohmann::ordered_json(*positive) : nlohmann::ordered_json()},
          {"histogram", std::vector<std::uint64_t>(histogram.counts().begin(), histogram.counts().end())}};
}

std::vector<std::string> metrics_cells(const PurityHistogram& histogram) {
  const auto positive = histogram.mean_positive_order();
  return {fmt::format("{:.2f} %", 100 * histogram.proportion_zero()), fmt::format("{:.4f}", histogram.mean_order()),
          positive ? fmt::format("{:.4f}", *positive) : "-", fmt::format("{}", histogram.counts().size() - 1)};
}

std::string edges_csv(const Instance& instance, const Tour& tour, std::span<const std::uint32_t> orders) {
  std::string csv = "from,to,length,order\n";
  for (std::size_t t = 0; t < orders.size(); ++t) {
    const NodeId from = tour[t];
    const NodeId to = tour[(t + 1) % tour.size()];
    fmt::format_to(std::back_inserter(csv), "{},{},{},{}\n", from + 1, to + 1, instance.distance(from, to), orders[t]);
  }
  return csv;
}

std::string weights_csv(std::span<const Point> points, const Tour& tour, const Options& options) {
  const OrderMatrix orders(points, options.threads);
  const PupoTrace trace = pupo_trace(orders, tour.order(), options.pupo);
  std::string csv = "step,node,weight,availability_after,cost_of_next_edge\n";
  for (std::size_t t = 0; t < tour.size(); ++t) {
    fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}\n", t + 1, tour[t] + 1, trace.weights[t],
                   trace.availabilities[t], trace.costs[t]);
  }
  return csv;
}

// The numbers of one tour; appends the files that were asked for to `files`.
Measured measure(const Sample& sample, const std::string& name, const Options& options, std::vector<NewFile>& files) {
  const auto points = sample.instance.require_points("purity");
  if (!sample.tour) {
    throw InputError(fmt::format(
        "{}: has no tour; give one with --tour FILE, or use a file of lines or .npz that holds tours", name));
  }
  if (points.size() < 2) throw InputError(fmt::format("{}: a single node has no edge whose purity to measure", name));
  const auto orders = tour_orders(points, sample.tour->order(), options.threads);
  Measured result;
  result.name = name;
  result.nodes = points.size();
  result.length = tour_length(sample.instance, *sample.tour);
  result.histogram.add(orders);
  if (options.gabriel_order) {
    result.gabriel_edges = gabriel_graph(points, *options.gabriel_order, options.threads).size();
  }
  if (!options.svg.empty()) {
    files.push_back({options.svg, tour_picture_svg(sample.instance, *sample.tour, orders,
                                                   {.title = name, .num_circles = options.circles})});
  }
  if (!options.edges.empty()) files.push_back({options.edges, edges_csv(sample.instance, *sample.tour, orders)});
  if (!options.weights.empty()) files.push_back({options.weights, weights_csv(points, *sample.tour, options)});
  return result;
}

void print_table(const std::vector<Measured>& measured, const PurityHistogram& pooled, const Options& options) {
  std::vector<std::string> header = {"tour", "nodes", "length", "Prop-0", "APO(all)", "APO(non-0)", "worst"};
  if (options.gabriel_order) header.push_back(fmt::format("pairs of order <= {}", *options.gabriel_order));
  Table table(header);
  const auto add = [&](const std::string& name, const std::string& nodes, const std::string& length,
                       const PurityHistogram& histogram, std::optional<std::size_t> gabriel_edges) {
    std::vector<std::string> row = {name, nodes, length};
    for (std::string& cell : metrics_cells(histogram)) row.push_back(std::move(cell));
    if (options.gabriel_order) row.push_back(gabriel_edges ? fmt::format("{}", *gabriel_edges) : "");
    table.add(std::move(row));
  };
  if (measured.size() <= kMaxRows || options.each) {
    for (const Measured& m : measured) {
      add(m.name, fmt::format("{}", m.nodes), fmt::format("{:.10g}", m.length), m.histogram, m.gabriel_edges);
    }
  } else if (options.files.size() > 1) {
    for (std::size_t file = 0; file < options.files.size(); ++file) {
      PurityHistogram histogram;
      std::size_t num_tours = 0;
      for (const Measured& m : measured) {
        if (m.file != file) continue;
        histogram.add(m.histogram);
        ++num_tours;
      }
      add(fmt::format("{} ({} tours)", options.files[file], num_tours), "", "", histogram, {});
    }
  }
  if (measured.size() > 1) add(fmt::format("all {} tours", measured.size()), "", "", pooled, {});
  print(table.text());
}

void print_document(const std::vector<Measured>& measured, const PurityHistogram& pooled) {
  nlohmann::ordered_json tours = nlohmann::ordered_json::array();
  for (const Measured& m : measured) {
    nlohmann::ordered_json entry = {{"name", m.name}, {"nodes", m.nodes}, {"length", m.length}};
    entry.update(metrics_json(m.histogram));
    if (m.gabriel_edges) entry["gabriel_edges"] = *m.gabriel_edges;
    tours.push_back(std::move(entry));
  }
  print_json({{"tours", std::move(tours)}, {"pooled", metrics_json(pooled)}});
}

void purity(const Options& options) {
  struct Named {
    Sample sample;
    std::string name;
    std::size_t file;
  };
  std::vector<std::string> inputs = options.files;
  inputs.push_back(options.tour);
  check_standard_input_is_used_once(inputs);
  std::vector<Named> all;
  for (std::size_t file = 0; file < options.files.size(); ++file) {
    std::vector<Sample> samples = read_samples(options.files[file], options.format);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::string name = display_name(samples[i].instance, options.files[file], i, samples.size());
      all.push_back({std::move(samples[i]), std::move(name), file});
    }
  }
  const bool single_output =
      !options.tour.empty() || !options.svg.empty() || !options.edges.empty() || !options.weights.empty();
  if (single_output && all.size() != 1) {
    throw InputError(
        fmt::format("--tour, --svg, --edges and --weights go with one instance, but the input holds {}", all.size()));
  }
  if (!options.tour.empty()) all[0].sample.tour = read_tour(options.tour, all[0].sample.instance.size());

  std::vector<Measured> measured;
  std::vector<NewFile> files;
  PurityHistogram pooled;
  {
    Progress progress("tours", all.size());
    for (const Named& named : all) {
      measured.push_back(measure(named.sample, named.name, options, files));
      measured.back().file = named.file;
      pooled.add(measured.back().histogram);
      progress.advance();
    }
  }
  // A file on standard output takes the place of the table, so that other programs can read it.
  const bool prints_file =
      std::any_of(files.begin(), files.end(), [](const NewFile& file) { return file.path == "-"; });
  if (prints_file && options.json) throw InputError("--json and a file (-) cannot both go to standard output");
  write_together(files);
  if (prints_file) return;
  options.json ? print_document(measured, pooled) : print_table(measured, pooled, options);
}

}  // namespace

void add_purity(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("purity", "Measure the purity of tours: Prop-0, APO, histogram; draw them");
  const auto add_file = [verb](const std::string& flag, std::string& path, const std::string& description) {
    return verb->add_option(flag, path, description)->type_name("FILE");
  };
  verb->add_option("FILE", options->files, "Files of instances with tours; - is standard input")
      ->required()
      ->type_name("");
  add_format_option(*verb, "--from", options->format, "Format of the files, if neither name nor content tells");
  add_file("--tour", options->tour, "Tour file of a single instance");
  auto* svg = add_file("--svg", options->svg, "Draw the tour with edges coloured by order, and explain it");
  add_whole_number(*verb, "--circles", options->circles, "Covering circles of this many worst edges", 0, kMaxCircles)
      ->needs(svg);
  add_file("--edges", options->edges, "Write every edge with its length and order to this CSV file");
  auto* weights = add_file("--weights", options->weights, "Write the PUPO weight of every step to this CSV file");
  verb->add_option("--discount", options->pupo.discount, "Discount of later costs, 0 to 1")
      ->needs(weights)
      ->capture_default_str();
  verb->add_flag("--clamp-weights", options->pupo.clamp_weights, "Raise negative weights to 0")->needs(weights);
  verb->add_option("--gabriel", options->gabriel_order, "Also count all pairs of nodes with at most this order")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
  verb->add_flag("--each", options->each,
                 fmt::format("A row for every tour, even if there are more than {}", kMaxRows));
  add_json_flag(*verb, options->json);
  add_threads_option(*verb, options->threads);
  verb->footer(
      "The purity order of an edge is the number of nodes inside the circle whose diameter it is.\n"
      "Prop-0 is the share of edges of order 0, APO(all) the mean order, APO(non-0) the mean over orders above 0.\n"
      "\nExample:\n  puretour purity berlin52.tsp --tour berlin52.tour --svg berlin52.svg");
  verb->callback([options] { purity(*options); });
}

}  // namespace puretour::cli
