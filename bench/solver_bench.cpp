// Quality of the iterated local search at time limits, on the reproducible uniform instances u{n}.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/rng.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/local_search.h"
#include "puretour/tour/tour.h"

namespace {

using namespace puretour;

// SplitMix64 from state n; whole coordinates in a square of side 1e6; EUC_2D.
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

// Best known lengths; those of u1000 and u2000 are believed optimal. 0: none known.
double best_known(std::size_t n) {
  switch (n) {
    case 200:
      return 10397407;
    case 500:
      return 16755201;
    case 1000:
      return 23031406;
    case 2000:
      return 32719341;
    case 5000:
      return 51189642;
    case 10000:
      return 71995277;
    case 100000:
      return 227264062;
    default:
      return 0;
  }
}

void run(std::uint64_t n, double limit_seconds, std::int64_t max_kicks, std::uint64_t seed) {
  const Instance instance = uniform_instance(n, n);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  LocalSearchOptions options;
  options.deadline = Deadline::after_seconds(limit_seconds);
  options.max_kicks = max_kicks;
  options.seed = seed;
  const Problem problem(instance, kLocalSearchCandidates);
  const double setup_seconds = seconds();
  const LocalSearchResult result = iterated_local_search(problem, options);
  const double total_seconds = seconds();
  const double best = best_known(n);
  fmt::print("u{:<8} {:>4} {:>9.2f} {:>7.2f} {:>10} {:>9.0f} {:>12} {:>9.5f} {:>8}\n", n, seed, total_seconds,
             setup_seconds, result.kicks, static_cast<double>(result.kicks) / (total_seconds - setup_seconds),
             result.length, static_cast<double>(result.length) / std::sqrt(static_cast<double>(n) * 1e12),
             best > 0 ? fmt::format("{:+.3f}", (static_cast<double>(result.length) / best - 1) * 100) : "-");
  std::fflush(stdout);
}

}  // namespace

// Without arguments: a table that takes some minutes. Or: n seconds [kicks (-1: no limit)] [seeds].
int main(int argc, char** argv) {
  const BuildInfo build = build_info();
  fmt::print("puretour {} {}\n", build.version, build.commit);
  fmt::print("{:<9} {:>4} {:>9} {:>7} {:>10} {:>9} {:>12} {:>9} {:>8}\n", "instance", "seed", "seconds", "setup",
             "kicks", "kicks/s", "length", "/sqrt(nA)", "% best");
  if (argc > 2) {
    const int num_seeds = argc > 4 ? std::atoi(argv[4]) : 1;
    for (int seed = 1; seed <= num_seeds; ++seed) {
      run(std::strtoull(argv[1], nullptr, 10), std::atof(argv[2]), argc > 3 ? std::atoll(argv[3]) : -1,
          static_cast<std::uint64_t>(seed));
    }
    return 0;
  }
  for (std::uint64_t seed = 1; seed <= 5; ++seed) run(1000, 1e9, 10000, seed);
  for (const double limit : {0.8, 4.0}) run(2000, limit, -1, 1);
  for (const double limit : {1.0, 4.0, 10.0}) run(10000, limit, -1, 1);
  for (const double limit : {10.0, 30.0}) run(100000, limit, -1, 1);
  run(1000000, 80.0, -1, 1);
  return 0;
}
