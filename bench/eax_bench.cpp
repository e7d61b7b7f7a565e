// Gap, generations and CPU seconds of EAX on reproducible uniform instances with known best lengths.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/solve/eax.h"
#include "puretour/tour/tsplib.h"

namespace {

using puretour::mix64;

// SplitMix64 from the state `start`; whole coordinates in a square of side 1e6.
puretour::Instance uniform_instance(std::size_t num_nodes, std::uint64_t start) {
  std::uint64_t state = start;
  const auto coordinate = [&] {
    state += 0x9E3779B97F4A7C15ULL;
    return std::floor(static_cast<double>(mix64(state) >> 11) * 0x1p-53 * 1e6);
  };
  std::vector<puretour::Point> points(num_nodes);
  for (auto& p : points) {
    p.x = coordinate();
    p.y = coordinate();
  }
  return puretour::Instance(std::move(points), puretour::Metric::kEuc2d);
}

struct Row {
  const char* name;
  std::size_t num_nodes;
  std::uint64_t start;
  puretour::Problem::Length best_known;
};

constexpr Row kRows[] = {
    {"u200", 200, 200, 10397407},      {"u200_1", 200, 200001, 10993020},  {"u200_2", 200, 200002, 10605689},
    {"u200_3", 200, 200003, 10549284}, {"u200_4", 200, 200004, 10816099},  {"u200_5", 200, 200005, 10639465},
    {"u500", 500, 500, 16755201},      {"u1000", 1000, 1000, 23031406},    {"u2000", 2000, 2000, 32719341},
    {"u5000", 5000, 5000, 51189642},   {"u10000", 10000, 10000, 71995277},
};

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// One line of the table; "best" counts the runs that reach `best_known`, time includes the candidate lists.
void measure(const std::string& name, const puretour::Instance& instance, puretour::Problem::Length best_known,
             int num_seeds, const puretour::EaxOptions& options) {
  const double started = cpu_seconds();
  const bool is_matrix = instance.matrix() != nullptr;
  puretour::EaxOptions adapted = options;
  if (is_matrix) adapted.merge_neighbours = 30;  // without a triangle inequality good joins can be far down the list
  const puretour::Problem problem(instance, is_matrix ? 30 : 10, 1, puretour::CandidateKind::kQuadrant);
  std::vector<double> gaps;
  int num_best = 0;
  double generations = 0;
  double offspring = 0;
  double sum = 0;
  for (int seed = 1; seed <= num_seeds; ++seed) {
    const puretour::EaxResult result = eax(problem, adapted, static_cast<std::uint64_t>(seed));
    const double gap = 100.0 * static_cast<double>(result.length - best_known) / static_cast<double>(best_known);
    gaps.push_back(gap);
    sum += gap;
    num_best += result.length <= best_known ? 1 : 0;
    generations += result.generations;
    offspring += static_cast<double>(result.offspring);
  }
  const double seconds = cpu_seconds() - started;
  std::sort(gaps.begin(), gaps.end());
  fmt::print("{:10} {:>5} {:>5} {:>8.4f} {:>8.4f} {:>8.4f} {:>6.0f} {:>9.0f} {:>7.3f}\n", name, num_seeds, num_best,
             sum / num_seeds, gaps[gaps.size() / 2], gaps.back(), generations / num_seeds, offspring / num_seeds,
             seconds / num_seeds);
  std::fflush(stdout);
}

}  // namespace

// eax_bench [instances] [seeds] [population] [stall]: instances is a comma-separated list of names of the table above.
// eax_bench FOLDER [seeds] [population] [stall] [runs] [max nodes]: the .tsp files that FOLDER/solutions gives lengths
// for.
int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "u200,u200_1,u200_2,u200_3,u200_4,u200_5,u500,u1000,u2000";
  const int num_seeds = argc > 2 ? std::atoi(argv[2]) : 5;
  puretour::EaxOptions options;
  if (argc > 3) options.population = std::atoi(argv[3]);
  if (argc > 4) options.stall = std::atoi(argv[4]);
  if (argc > 5) options.runs = std::atoi(argv[5]);
  const std::size_t max_nodes = argc > 6 ? static_cast<std::size_t>(std::atoi(argv[6])) : 1002;
  fmt::print("{:10} {:>5} {:>5} {:>8} {:>8} {:>8} {:>6} {:>9} {:>7}\n", "instance", "seeds", "best", "mean %",
             "median %", "worst %", "gens", "offspring", "cpu s");

  if (!std::filesystem::is_directory(wanted)) {
    for (const Row& row : kRows) {
      if (fmt::format(",{},", wanted).find(fmt::format(",{},", row.name)) == std::string::npos) continue;
      measure(row.name, uniform_instance(row.num_nodes, row.start), row.best_known, num_seeds, options);
    }
    return 0;
  }
  std::ifstream solutions(wanted + "/solutions");
  for (std::string line; std::getline(solutions, line);) {
    std::istringstream words(line);
    std::string name;
    std::string colon;
    puretour::Problem::Length optimum = 0;
    if (!(words >> name >> colon >> optimum)) continue;
    const std::string path = fmt::format("{}/{}.tsp", wanted, name);
    std::ifstream file(path);
    if (!file) continue;
    std::stringstream text;
    text << file.rdbuf();
    const puretour::Instance instance = puretour::parse_tsplib(text.str(), path);
    if (instance.size() >= 5 && instance.size() <= max_nodes) measure(name, instance, optimum, num_seeds, options);
  }
}
