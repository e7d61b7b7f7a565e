// SPDX-License-Identifier: MIT
#include "puretour/evaluate/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/sha256.h"
#include "puretour/base/text.h"
#include "puretour/tour/formats.h"
#include "puretour/tour/tsplib.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

struct Group {
  std::size_t most_nodes;
  const char* name;
};
// As the paper groups them; its last group ends at 5000.
constexpr std::array<Group, 3> kGroups = {
    {{100, "tsplib-1-100"}, {1000, "tsplib-101-1000"}, {kMaxEvaluatedNodes, "tsplib-1001-10000"}}};

// "NAME : LENGTH", perhaps with a remark behind it.
std::map<std::string, double> read_solutions(const std::string& path) {
  std::map<std::string, double> lengths;
  if (!fs::exists(path)) return lengths;
  std::istringstream text(read_file(path));
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    std::string colon;
    double length = 0;
    if (!(words >> name)) continue;
    if (!name.empty() && name.back() == ':') {
      name.pop_back();
      colon = ":";
    } else {
      words >> colon;
    }
    if (colon != ":" || !(words >> length) || !(length > 0)) {
      throw InputError(fmt::format("{}:{}: {} is not 'NAME : LENGTH'", path, number, quote_input(line)));
    }
    lengths[name] = length;
  }
  return lengths;
}

// The value of a header line, without blanks around it; empty if there is none.
std::string header_value(const std::string& text, const std::string& key) {
  const std::size_t end_of_header = std::min(text.find("_SECTION"), text.size());
  std::size_t at = text.find(key);
  if (at >= end_of_header) return {};
  at = text.find(':', at);
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::string value = at == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
  const std::size_t begin = value.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : value.substr(begin, value.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<EvaluationSet> tsplib_sets(const std::vector<fs::path>& files, const std::string& folder) {
  const auto published = read_solutions(folder + "/solutions");
  std::vector<EvaluationSet> sets(kGroups.size());
  std::vector<std::shared_ptr<std::vector<std::string>>> paths;
  for (std::size_t g = 0; g < sets.size(); ++g) {
    sets[g].name = kGroups[g].name;
    sets[g].description = fmt::format("TSPLIB, {}", kGroups[g].name + 7);
    sets[g].is_tsplib = true;
    paths.push_back(std::make_shared<std::vector<std::string>>());
    sets[g].load = [paths = paths[g]](std::size_t item) {
      const std::string& path = (*paths)[item];
      return Sample{parse_tsplib(read_file(path), path), {}};
    };
  }
  for (const fs::path& file : files) {
    const std::string text = read_file(file.string());
    const std::string metric = header_value(text, "EDGE_WEIGHT_TYPE");
    if ((metric != "EUC_2D" && metric != "CEIL_2D") || text.find("FIXED_EDGES_SECTION") != std::string::npos) continue;
    const std::string dimension = header_value(text, "DIMENSION");
    std::size_t nodes = 0;
    std::from_chars(dimension.data(), dimension.data() + dimension.size(), nodes);
    for (std::size_t g = 0; g < kGroups.size(); ++g) {
      if (nodes == 0 || nodes > kGroups[g].most_nodes) continue;
      EvaluationItem item{file.stem().string(), nodes};
      if (const auto found = published.find(item.name); found != published.end()) item.published = found->second;
      sets[g].items.push_back(std::move(item));
      paths[g]->push_back(file.string());
      break;
    }
  }
  std::erase_if(sets, [](const EvaluationSet& set) { return set.items.empty(); });
  return sets;
}

std::optional<Distribution> distribution_of_name(std::string_view name) {
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion, Distribution::kImplosion}) {
    if (name == distribution_name(distribution)) return distribution;
  }
  return {};
}

EvaluationSet samples_set(const fs::path& file) {
  auto samples = std::make_shared<std::vector<Sample>>(read_samples(file.string()));
  EvaluationSet set;
  set.name = file.stem().string();
  set.description = fmt::format("file {}, sha256 {}", file.filename().string(), sha256_hex(read_file(file.string())));
  for (std::size_t i = 0; i < samples->size(); ++i) {
    const Instance& instance = (*samples)[i].instance;
    static_cast<void>(instance.require_points("evaluation"));  // throws
    set.items.push_back({fmt::format("{}", i), instance.size()});
    set.scale = i == 0 || set.scale == instance.size() ? instance.size() : 0;
  }
  // A file like uniform-100.txt tells its type.
  if (set.name.ends_with(fmt::format("-{}", set.scale))) {
    set.distribution = distribution_of_name(set.name.substr(0, set.name.find('-')));
  }
  set.load = [samples](std::size_t item) { return (*samples)[item]; };
  return set;
}

}  // namespace

EvaluationSet random_set(Distribution distribution, std::size_t scale, std::size_t num_instances, std::uint64_t seed) {
  EvaluationSet set;
  set.name = fmt::format("{}-{}", distribution_name(distribution), scale);
  set.description = fmt::format("{} {}, seed {}", distribution_name(distribution), scale, seed);
  set.distribution = distribution;
  set.scale = scale;
  for (std::size_t i = 0; i < num_instances; ++i) set.items.push_back({fmt::format("{}", i), scale});
  set.load = [=](std::size_t item) { return Sample{generate_instance({}, distribution, scale, seed, item), {}}; };
  return set;
}

std::optional<EvaluationSet> random_set_of_text(std::string_view text, std::uint64_t seed) {
  const std::size_t dash = text.find('-');
  const auto distribution = distribution_of_name(text.substr(0, dash));
  if (dash == std::string_view::npos || !distribution) return {};
  const std::string_view numbers = text.substr(dash + 1);
  const std::size_t colon = numbers.find(':');
  const auto whole = [&](std::string_view digits, std::size_t least, std::size_t most) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < least || number > most) {
      throw InputError(
          fmt::format("{}: {} is not a whole number from {} to {}; write a data set as uniform-100 or uniform-100:64",
                      quote_input(text), quote_input(digits), least, most));
    }
    return number;
  };
  const std::size_t scale = whole(numbers.substr(0, colon), kMinRandomNodes, kMaxRandomNodes);
  constexpr std::size_t kMaxInstances = 10'000'000;
  return random_set(
      *distribution, scale,
      colon == std::string_view::npos ? usual_instances(scale) : whole(numbers.substr(colon + 1), 1, kMaxInstances),
      seed);
}

std::size_t usual_instances(std::size_t scale) {
  return scale <= 100 ? 500 : scale <= 1000 ? 50 : 5;
}

std::vector<EvaluationSet> folder_sets(const std::string& folder) {
  if (!fs::is_directory(folder)) {
    throw InputError(fmt::format(
        "{}: there is no such folder; give 'random', a type like uniform-100, or a folder of .tsp, .txt or .npz files",
        quote_input(folder)));
  }
  std::vector<fs::path> tsplib;
  std::vector<fs::path> samples;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto format = file_format_of_path(entry.path().string());
    if (format) (*format == FileFormat::kTsplib ? tsplib : samples).push_back(entry.path());
  }
  std::sort(tsplib.begin(), tsplib.end());
  std::sort(samples.begin(), samples.end());
  std::vector<EvaluationSet> sets = tsplib_sets(tsplib, folder);
  for (const fs::path& file : samples) sets.push_back(samples_set(file));
  std::stable_sort(sets.begin(), sets.end(),
                   [](const EvaluationSet& a, const EvaluationSet& b) { return a.scale < b.scale; });
  if (sets.empty()) {
    throw InputError(fmt::format(
        "{}: holds no instances to evaluate (.tsp with EUC_2D or CEIL_2D and at most {} nodes, .txt, .npy or .npz)",
        folder, kMaxEvaluatedNodes));
  }
  return sets;
}

}  // namespace puretour
