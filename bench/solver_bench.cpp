// What the solvers reach in which time, on the reproducible uniform instances u{n}: the figures that matter with their
// targets, and quality over time as a table and a picture.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/files.h"
#include "puretour/base/rng.h"
#include "puretour/report/line_chart.h"
#include "puretour/solve/solver.h"

namespace {

using namespace puretour;

// SplitMix64 from the given state; whole coordinates in a square of side 1e6; EUC_2D.
Instance uniform_instance(std::uint64_t n, std::uint64_t state) {
  const auto coordinate = [&state] {
    state += 0x9E3779B97F4A7C15ULL;
    return std::floor(static_cast<double>(mix64(state) >> 11) * 0x1p-53 * 1e6);
  };
  std::vector<Point> points(n);
  for (Point& p : points) {
    p.x = coordinate();
    p.y = coordinate();
  }
  return Instance(std::move(points), Metric::kEuc2d, fmt::format("u{}", n));
}

// Best known lengths of u{n}: those up to 2,000 nodes are believed optimal, the others are by long runs of ours.
double best_known(std::uint64_t n) {
  switch (n) {
    case 200:
      return 10397407;
    case 1000:
      return 23031406;
    case 2000:
      return 32719341;
    case 10000:
      return 71848825;
    default:
      return 0;
  }
}

SolveResult solve(const Instance& instance, const std::string& solver, double limit_seconds, std::uint64_t seed) {
  SolveOptions options;
  if (limit_seconds > 0) options.deadline = Deadline::after_seconds(limit_seconds);
  options.seed = seed;
  return make_solver(solver)->solve(instance, options);
}

double per_root_of_area(const Instance& instance, double length) {
  return length / std::sqrt(static_cast<double>(instance.size()) * 1e12);
}

void print_row(const std::string& what, const std::string& result, const std::string& target) {
  fmt::print("{:<58} {:>22}   {}\n", what, result, target);
  std::fflush(stdout);
}

void figures(bool with_million) {
  print_row("", "measured", "target");
  double length = 0;
  double seconds = 0;
  constexpr int kInstances = 5;
  for (std::uint64_t k = 0; k < kInstances; ++k) {
    const Instance instance = uniform_instance(10000, k == 0 ? 10000 : 10000000 + k);
    const SolveResult result = solve(instance, "lk", 10, 1);
    length += per_root_of_area(instance, result.length) / kInstances;
    seconds += result.seconds / kInstances;
  }
  print_row(fmt::format("lk, 10,000 nodes, mean of {}: length / sqrt(n A), seconds", kInstances),
            fmt::format("{:.5f}, {:.2f} s", length, seconds), "0.7195, 10 s");

  const auto eax_row = [](std::uint64_t n, std::vector<std::pair<std::uint64_t, double>> instances, int num_seeds,
                          const std::string& target) {
    int num_best = 0;
    int num_runs = 0;
    double excess = 0;
    double total_seconds = 0;
    double slowest = 0;
    for (const auto& [state, best] : instances) {
      const Instance instance = uniform_instance(n, state);
      for (int seed = 1; seed <= num_seeds; ++seed, ++num_runs) {
        const SolveResult result = solve(instance, "eax", 0, static_cast<std::uint64_t>(seed));
        num_best += result.length <= best ? 1 : 0;
        excess += 100 * (result.length / best - 1);
        total_seconds += result.seconds;
        slowest = std::max(slowest, result.seconds);
      }
    }
    print_row(fmt::format("eax, {} nodes: best length in, mean excess, seconds (slowest)", n),
              fmt::format("{}/{}, {:.4f} %, {:.2f} s ({:.2f})", num_best, num_runs, excess / num_runs,
                          total_seconds / num_runs, slowest),
              target);
  };
  eax_row(200,
          {{200, 10397407},
           {200001, 10993020},
           {200002, 10605689},
           {200003, 10549284},
           {200004, 10816099},
           {200005, 10639465}},
          3, "optimal, 0.2 s");
  eax_row(1000, {{1000, 23031406}}, 10, "0.01 %, 3 s");

  if (!with_million) return;
  const Instance million = uniform_instance(1000000, 1000000);
  const SolveResult result = solve(million, "lk", 85, 1);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  print_row("lk, 1,000,000 nodes: length / sqrt(n A), seconds, memory",
            fmt::format("{:.5f}, {:.1f} s, {} MB", per_root_of_area(million, result.length), result.seconds,
                        usage.ru_maxrss / 1024),
            "0.755, 90 s, 2000 MB");
}

void curves(const std::string& picture) {
  fmt::print(
      "\nQuality over time: % above the best known length\n\n| nodes | seconds | lk | eax | auto "
      "|\n|---|---|---|---|---|\n");
  std::vector<ChartPanel> panels;
  for (const std::uint64_t n : {200, 1000, 2000, 10000}) {
    const Instance instance = uniform_instance(n, n);
    ChartPanel panel{fmt::format("u{}", n), {{"lk", {}, {}}, {"eax", {}, {}}, {"auto", {}, {}}}};
    for (const double limit : {0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0}) {
      if (limit > 3 && n <= 1000) continue;
      fmt::print("| {} | {:g} |", n, limit);
      for (ChartSeries& series : panel.series) {
        double excess = 0;
        const int num_seeds = limit > 3 ? 1 : 3;
        for (int seed = 1; seed <= num_seeds; ++seed) {
          const double length = solve(instance, series.name, limit, static_cast<std::uint64_t>(seed)).length;
          excess += 100 * (length / best_known(n) - 1) / num_seeds;
        }
        fmt::print(" {:.4f} |", excess);
        std::fflush(stdout);
        series.x.push_back(limit);
        series.y.push_back(std::max(excess, 0.0003));  // zero has no place on a logarithmic axis
      }
      fmt::print("\n");
    }
    panels.push_back(std::move(panel));
  }
  ChartOptions options;
  options.title = "Quality over time on uniform instances, one thread (0.0003 % stands for the best known length)";
  options.x = {.label = "seconds", .logarithmic = true, .least = {}, .most = {}};
  options.y = {.label = "% above best known", .logarithmic = true, .least = {}, .most = {}};
  write_file(picture, line_chart_svg(panels, options));
}

}  // namespace

// solver_bench [picture.svg [--no-million]]: with a picture also the curves. Some ten minutes.
int main(int argc, char** argv) {
  const BuildInfo build = build_info();
  fmt::print("puretour {} {}, one thread\n\n", build.version, build.commit);
  figures(argc < 3 || std::string(argv[2]) != "--no-million");
  if (argc > 1) curves(argv[1]);
  return 0;
}
