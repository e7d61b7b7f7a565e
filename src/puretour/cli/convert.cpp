// `puretour convert`: from one file format to another.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"
#include "puretour/tour/tsplib.h"

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
  const Instance scaled(normalised_to_unit_square(points), Metric::kEuclidean, sample.instance.name());
  return {scaled.with_fixed_edges(sample.instance.fixed_edges()), sample.tour};
}

void check_places(const Options& options) {
  if (options.output.empty() && options.tour_output.empty()) {
    throw InputError("convert: name an output file, or - for standard output");
  }
  if (options.output == options.tour_output) {
    throw InputError("convert: OUTPUT and --tour-output cannot go to the same place");
  }
  check_standard_input_is_used_once(std::array{options.input, options.tour_input});
}

void convert(const Options& options) {
  check_places(options);
  // Without an instance file ("convert cities.txt --tour-output best.tour") only the tour is wanted.
  std::optional<FileFormat> to;
  if (!options.output.empty()) to = output_format(options.output, options.to);
  std::vector<Sample> samples = read_samples(options.input, options.from);
  if (!options.tour_input.empty()) {
    if (samples.size() != 1) {
      throw InputError(fmt::format("--tour goes with one instance, but {} holds {}", options.input, samples.size()));
    }
    samples[0].tour = read_tour(options.tour_input, samples[0].instance.size());
  }
  if (options.normalise) std::transform(samples.begin(), samples.end(), samples.begin(), normalised);
  const auto num_tours = std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return !!s.tour; });

  // Opened first and finished last: both files appear, or none.
  std::optional<OutputFile> tour_file;
  if (!options.tour_output.empty()) {
    if (samples.size() != 1 || num_tours != 1) {
      throw InputError(fmt::format("--tour-output needs one instance with a tour, but {} has {} instances and {} tours",
                                   options.input, samples.size(), num_tours));
    }
    const Sample& sample = samples[0];
    tour_file.emplace(options.tour_output);
    tour_file->stream() << format_tsplib_tour(*sample.tour, sample.instance.name(),
                                              tour_length(sample.instance, *sample.tour));
  }
  if (to) {
    const bool drop = options.drop_tours || tour_file;
    if (!drop && num_tours > 0 && (*to == FileFormat::kTsplib || *to == FileFormat::kNpy)) {
      throw InputError(fmt::format(
          "{}: the format {} holds no tours; add --drop-tours to leave them out, or --tour-output FILE for one tour",
          options.output, file_format_name(*to)));
    }
    if (drop) {
      for (Sample& sample : samples) sample.tour.reset();
    }
    write_samples(options.output, to, samples, {.single_precision = options.single_precision});
  }
  if (tour_file) tour_file->commit();
}

}  // namespace

void add_convert(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("convert", "Convert instances and tours between file formats");
  verb->add_option("INPUT", options->input, "File to read; - is standard input")->required()->type_name("");
  verb->add_option("OUTPUT,-o,--output", options->output,
                   "File to write; the extension decides the format; - is standard output")
      ->type_name("FILE");
  add_format_option(*verb, "--from", options->from, "Format of the input, if neither name nor content tells");
  add_format_option(*verb, "--to", options->to, "Format of the output, if the name does not tell");
  verb->add_option("--tour", options->tour_input, "Tour file that belongs to the single input instance")
      ->type_name("FILE");
  verb->add_option("--tour-output", options->tour_output,
                   "Write the tour of the single instance to this .tour file instead of OUTPUT")
      ->type_name("FILE");
  verb->add_flag("--drop-tours", options->drop_tours, "Leave tours out");
  verb->add_flag("--normalise", options->normalise,
                 "Move and scale to the unit square, aspect ratio kept; distances are not rounded");
  verb->add_flag("--float32", options->single_precision, "npy, npz: store points as float32");
  verb->footer(
      "Examples:\n  puretour convert berlin52.tsp berlin52.txt --tour berlin52.tour\n"
      "  puretour convert cities.txt cities.npz\n"
      "  puretour generate | puretour convert - cities.tsp");
  verb->callback([options] { convert(*options); });
}

}  // namespace puretour::cli
