// `puretour generate`: random instances.
// SPDX-License-Identifier: MIT
#include "puretour/generate/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {
namespace {

// Every thread holds the centres of its instance; more of them than this are hardly clusters.
constexpr std::uint64_t kMaxClusters = 1'000'000;

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

// The instances are held in memory until they are written. The kernel would promise more than there is, and then end
// the program without a word.
void check_memory(const Options& options) {
  const double needed =
      static_cast<double>(options.count) * (sizeof(Sample) + static_cast<double>(options.nodes) * sizeof(Point));
  const double available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  constexpr double kGigabyte = 1e9;
  if (needed > available) {
    throw InputError(fmt::format(
        "{} instances of {} nodes need {:.0f} GB of memory, but this machine has {:.0f}; make them in parts with "
        "--first and --count",
        options.count, options.nodes, needed / kGigabyte, available / kGigabyte));
  }
}

void generate(Options options) {
  options.format = output_format(options.output, options.format);
  check_memory(options);
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
  write_samples(options.output, options.format, samples, {.single_precision = !options.full_precision});
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("generate", "Make random instances of the four distributions of the paper");
  verb->add_option("-d,--distribution", options->distribution, "uniform, clustered, explosion or implosion")
      ->type_name("NAME")
      ->capture_default_str();
  add_whole_number(*verb, "-n,--nodes", options->nodes, "Nodes per instance", 1, kMaxNodes);
  add_whole_number(*verb, "-c,--count", options->count, "Number of instances", 1);
  add_whole_number(*verb, "--first", options->first,
                   "Index of the first instance; --first 10 --count 5 is part of --count 15", 0);
  add_whole_number(*verb, "--seed", options->seed,
                   "An instance depends on seed, distribution, nodes and its index only", 0);
  verb->add_option("-o,--output", options->output,
                   "File to write; the extension decides the format; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  add_format_option(*verb, "--to", options->format, "Format of the output, if the name does not tell");
  verb->add_flag("--raw", options->raw, "Leave the points as drawn instead of scaling them to the unit square");
  verb->add_flag("--full-precision", options->full_precision,
                 "Keep doubles instead of rounding coordinates to float32");
  add_whole_number(*verb, "--clusters", options->generator.cluster_num, "clustered: number of centres", 1,
                   kMaxClusters);
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
  verb->footer("Example:\n  puretour generate -d explosion -n 1000 -c 50 --seed 7 -o explosion1000.npz");
  verb->callback([options] { generate(*options); });
}

}  // namespace puretour::cli
