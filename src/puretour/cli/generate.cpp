// `puretour generate`: random instances.
// SPDX-License-Identifier: MIT
#include "puretour/generate/generate.h"

#include <fmt/format.h>

#include <memory>

#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {
namespace {

struct Options {
  std::string distribution = "uniform";
  std::size_t nodes = 100;
  std::size_t count = 1;
  std::size_t first = 0;
  std::uint64_t seed = 0;
  GeneratorOptions generator;
  bool raw = false;
  bool full_precision = false;
  std::string output = "-";
  std::optional<FileFormat> format;
  int threads = 0;
};

void generate(Options options) {
  const Distribution distribution = distribution_from_name(options.distribution);
  options.generator.normalise = !options.raw;
  options.generator.float32 = !options.full_precision;
  check_generator_options(options.generator);
  std::vector<Sample> samples(options.count);
  {
    Progress progress("instances", options.count);
    parallel_for(options.count, options.threads, [&](std::size_t i) {
      samples[i].instance =
          generate_instance(options.generator, distribution, options.nodes, options.seed, options.first + i);
      progress.advance();
    });
  }
  if (!options.format && options.output == "-") options.format = FileFormat::kLines;
  write_samples(options.output, options.format, samples, {.single_precision = !options.full_precision});
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("generate", "Make random instances of the four distributions of the paper");
  verb->add_option("-d,--distribution", options->distribution, "uniform, clustered, explosion or implosion")
      ->capture_default_str();
  verb->add_option("-n,--nodes", options->nodes, "Nodes per instance")->capture_default_str();
  verb->add_option("-c,--count", options->count, "Number of instances")->capture_default_str();
  verb->add_option("--first", options->first, "Index of the first instance; --first 10 --count 5 is part of --count 15")
      ->capture_default_str();
  verb->add_option("--seed", options->seed,
                   "Seed of the data set; instance i depends on it, the distribution, the number "
                   "of nodes and i only")
      ->capture_default_str();
  verb->add_option("-o,--output", options->output,
                   "File to write; the extension decides the format; - is standard output")
      ->capture_default_str();
  add_format_option(*verb, "--to", options->format, "Format of the output");
  verb->add_flag("--raw", options->raw, "Leave the points as drawn instead of scaling them to the unit square");
  verb->add_flag("--full-precision", options->full_precision,
                 "Keep doubles instead of rounding coordinates to float32");
  verb->add_option("--clusters", options->generator.cluster_num, "clustered: number of centres")->capture_default_str();
  verb->add_option("--diversity", options->generator.cluster_diversity, "clustered: side of the square of the centres")
      ->capture_default_str();
  verb->add_option("--radius-min", options->generator.radius_min, "explosion, implosion: smallest radius")
      ->capture_default_str();
  verb->add_option("--radius-max", options->generator.radius_max, "explosion, implosion: largest radius")
      ->capture_default_str();
  verb->add_option("--explosion-rate", options->generator.explosion_rate,
                   "explosion: 1 / mean distance of a thrown point from the rim")
      ->capture_default_str();
  add_threads_option(*verb, options->threads);
  verb->footer("\nExample:\n  puretour generate -d explosion -n 1000 -c 50 --seed 7 -o explosion1000.npz");
  verb->callback([options] { generate(*options); });
}

}  // namespace puretour::cli
