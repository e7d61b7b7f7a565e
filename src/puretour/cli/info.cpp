// `puretour info`: what this program is, and what is in a file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/isa.h"
#include "puretour/base/parallel.h"
#include "puretour/cli/common.h"
#include "puretour/cli/verbs.h"

namespace puretour::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::optional<FileFormat> format;
  bool json = false;
};

std::size_t count_distinct(std::span<const Point> points) {
  std::vector<Point> sorted(points.begin(), points.end());
  std::sort(sorted.begin(), sorted.end(), [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  return static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
}

nlohmann::ordered_json describe(const Sample& sample, const std::string& name) {
  const Instance& instance = sample.instance;
  nlohmann::ordered_json result = {
      {"name", name}, {"nodes", instance.size()}, {"metric", std::string(metric_name(instance.metric()))}};
  if (instance.has_points() && instance.size() > 0) {
    const Box box = bounding_box(instance.points());
    result["low"] = {box.low.x, box.low.y};
    result["high"] = {box.high.x, box.high.y};
    result["distinct_places"] = count_distinct(instance.points());
  }
  if (sample.tour) result["tour_length"] = tour_length(instance, *sample.tour);
  return result;
}

void about_the_program(const Options& options) {
  const BuildInfo build = build_info();
  if (options.json) {
    print_json({{"version", build.version},
                {"commit", build.commit},
                {"build_type", build.build_type},
                {"compiler", build.compiler},
                {"cpu", cpu_name()},
                {"isa", std::string(isa_name(active_isa()))},
                {"threads", resolve_threads(0)}});
    return;
  }
  print(fmt::format("PureTour {} (commit {}, {}, {})\nCPU      {}, vectors: {}, {} threads\n", build.version,
                    build.commit, build.build_type, build.compiler, cpu_name(), isa_name(active_isa()),
                    resolve_threads(0)));
}

void about_files(const Options& options) {
  check_standard_input_is_used_once(options.files);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Table table({"instance", "nodes", "metric", "places", "low corner", "high corner", "tour length"});
  for (const std::string& file : options.files) {
    const std::vector<Sample> samples = read_samples(file, options.format);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto entry = describe(samples[i], display_name(samples[i].instance, file, i, samples.size()));
      const auto corner = [&entry](const char* key) {
        return entry.contains(key)
                   ? fmt::format("({:g}, {:g})", entry[key][0].get<double>(), entry[key][1].get<double>())
                   : "-";
      };
      table.add(
          {entry["name"], fmt::format("{}", samples[i].instance.size()), entry["metric"],
           entry.contains("distinct_places") ? fmt::format("{}", entry["distinct_places"].get<std::size_t>()) : "-",
           corner("low"), corner("high"),
           entry.contains("tour_length") ? fmt::format("{:.12g}", entry["tour_length"].get<double>()) : "-"});
      all.push_back(entry);
    }
  }
  options.json ? print_json(all) : print(table.text());
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("info", "Describe this program, or the instances in files");
  verb->add_option("FILE", options->files, "Files to describe; - is standard input; none: the program, for bug reports")
      ->type_name("");
  add_format_option(*verb, "--from", options->format, "Format of the files, if neither name nor content tells");
  add_json_flag(*verb, options->json);
  add_isa_option(*verb);
  verb->footer("Example:\n  puretour info berlin52.tsp cities.npz");
  verb->callback([options] { options->files.empty() ? about_the_program(*options) : about_files(*options); });
}

}  // namespace puretour::cli
