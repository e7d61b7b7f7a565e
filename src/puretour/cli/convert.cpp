// `puretour convert`: from one file format to another.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "puretour/base/error.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {
namespace {

struct Options {
  std::string input;
  std::string output;
  std::optional<FileFormat> from;
  std::optional<FileFormat> to;
  std::string tour_input;
  std::string tour_output;
  bool drop_tours = false;
  bool normalise = false;
  bool single_precision = false;
};

Sample normalised(const Sample& sample) {
  const auto points = sample.instance.require_points("--normalise");
  return {Instance(normalised_to_unit_square(points), Metric::kEuclidean, sample.instance.name()), sample.tour};
}

void convert(const Options& options) {
  std::vector<Sample> samples = read_samples(options.input, options.from);
  if (!options.tour_input.empty()) {
    if (samples.size() != 1) {
      throw InputError(fmt::format("--tour goes with one instance, but {} holds {}", options.input, samples.size()));
    }
    samples[0].tour = read_tour(options.tour_input, samples[0].instance.size());
  }
  if (options.normalise) std::transform(samples.begin(), samples.end(), samples.begin(), normalised);
  if (!options.tour_output.empty() && (samples.size() != 1 || !samples[0].tour)) {
    throw InputError(
        fmt::format("--tour-output needs exactly one instance with a tour, but {} holds {} instances, {} "
                    "with a tour",
                    options.input, samples.size(),
                    std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return !!s.tour; })));
  }
  std::vector<Sample> written = samples;
  if (options.drop_tours || !options.tour_output.empty()) {
    for (Sample& sample : written) sample.tour.reset();
  }
  // Without an instance file ("convert cities.txt --tour-output best.tour") only the tour is wanted.
  if (!options.output.empty()) {
    std::optional<FileFormat> to = options.to;
    if (!to && options.output == "-") to = FileFormat::kLines;
    write_samples(options.output, to, written, {.single_precision = options.single_precision});
  } else if (options.tour_output.empty()) {
    throw InputError("convert: name an output file, or - for standard output");
  }
  if (!options.tour_output.empty()) {
    write_tour(options.tour_output, *samples[0].tour, samples[0].instance.name(),
               tour_length(samples[0].instance, *samples[0].tour));
  }
}

}  // namespace

void add_convert(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("convert", "Convert instances and tours between file formats");
  verb->add_option("INPUT", options->input, "File to read; - is standard input")->required();
  verb->add_option("OUTPUT", options->output, "File to write; the extension decides the format; - is standard output");
  add_format_option(*verb, "--from", options->from, "Format of the input, if neither name nor content tells");
  add_format_option(*verb, "--to", options->to, "Format of the output, if the name does not tell");
  verb->add_option("--tour", options->tour_input, "Tour file that belongs to the (single) input instance");
  verb->add_option("--tour-output", options->tour_output, "Write the tour of the single instance to this .tour file");
  verb->add_flag("--drop-tours", options->drop_tours, "Leave tours out");
  verb->add_flag("--normalise", options->normalise,
                 "Move and scale to the unit square, aspect ratio kept; the metric becomes unrounded Euclidean");
  verb->add_flag("--float32", options->single_precision, "npy, npz: store points as float32");
  verb->footer(
      "\nExamples:\n  puretour convert berlin52.tsp berlin52.txt --tour berlin52.tour\n"
      "  puretour convert cities.txt cities.npz");
  verb->callback([options] { convert(*options); });
}

}  // namespace puretour::cli
