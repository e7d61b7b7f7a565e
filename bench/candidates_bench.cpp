// Which neighbours should a search try? Shares of optimal edges that candidate sets of each kind cover, and what the
// solvers make of them at equal time. Writes the picture of docs/candidates.md.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/files.h"
#include "puretour/generate/generate.h"
#include "puretour/report/line_chart.h"
#include "puretour/solve/ascent.h"
#include "puretour/solve/construct.h"
#include "puretour/solve/eax.h"
#include "puretour/solve/local_search.h"
#include "puretour/solve/solver.h"

namespace {

using namespace puretour;

constexpr std::array kKinds = {CandidateKind::kNearest, CandidateKind::kQuadrant, CandidateKind::kPurity};
constexpr std::array kDistributions = {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion,
                                       Distribution::kImplosion};
constexpr std::size_t kLargestSet = 16;
constexpr std::uint64_t kSeed = 2025;

struct Solved {
  Instance instance;
  Tour tour;
};

// A tour that is optimal for all that is known (two runs of EAX agree) up to 1,000 nodes, and about 0.02 % longer at
// most above.
Solved solved(Distribution distribution, std::size_t num_nodes, std::size_t index) {
  Instance instance = generate_instance({}, distribution, num_nodes, kSeed, index);
  SolverSettings settings;
  if (num_nodes > 1500) settings.population = 60;
  Tour tour = make_solver("eax", settings)->solve(instance, {}).tour;
  return {std::move(instance), std::move(tour)};
}

bool lists(std::span<const NodeId> row, NodeId node) {
  return std::find(row.begin(), row.end(), node) != row.end();
}

// Share of tour edges (u v) with v in the set of u or u in the set of v; sets of size k + 1 at index k.
using Coverage = std::array<double, kLargestSet>;

template <typename RowOf>
Coverage coverage(const Tour& tour, RowOf row_of) {
  Coverage share = {};
  const auto order = tour.order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId u = order[i];
    const NodeId v = order[i + 1 < order.size() ? i + 1 : 0];
    for (std::size_t k = 1; k <= kLargestSet; ++k) {
      if (lists(row_of(u, k), v) || lists(row_of(v, k), u)) share[k - 1] += 1.0 / static_cast<double>(order.size());
    }
  }
  return share;
}

Coverage kind_coverage(const Solved& s, CandidateKind kind) {
  // The first k of a larger quadrant set are not the quadrant set of k: each size is made by itself.
  std::vector<NeighbourLists> by_size;
  for (std::size_t k = 1; k <= kLargestSet; ++k) {
    by_size.push_back(candidate_lists(s.instance.points(), kind, k));
  }
  return coverage(s.tour, [&](NodeId v, std::size_t k) { return by_size[k - 1].of(v); });
}

// What lk uses: alpha-nearness with penalties, among 10 quadrant neighbours.
Coverage alpha_coverage(const Solved& s) {
  const Problem problem(s.instance, 10, 1, CandidateKind::kQuadrant);
  const SparseGraph graph = candidate_graph(problem, greedy_tour(problem), penalty_factor(problem));
  const auto rows = alpha_nearest(graph, ascend(graph, 50).penalties, kLargestSet);
  return coverage(s.tour, [&](NodeId v, std::size_t k) {
    return std::span<const NodeId>(rows).subspan(static_cast<std::size_t>(v) * kLargestSet, k);
  });
}

std::vector<ChartPanel> measure_coverage() {
  std::vector<ChartPanel> panels;
  fmt::print("\nShare of optimal edges covered (%) by sets of 3, 5, 7 and 10\n\n");
  fmt::print("| nodes | distribution | nearest | quadrant | purity | alpha |\n|---|---|---|---|---|---|\n");
  for (const std::size_t n : {std::size_t{100}, std::size_t{1000}, std::size_t{10000}}) {
    for (const Distribution distribution : kDistributions) {
      const std::size_t count = n == 100 ? 50 : n == 1000 ? 5 : 1;
      std::array<Coverage, 4> mean = {};
      for (std::size_t i = 0; i < count; ++i) {
        const Solved s = solved(distribution, n, i);
        for (std::size_t kind = 0; kind < mean.size(); ++kind) {
          const Coverage one = kind < kKinds.size() ? kind_coverage(s, kKinds[kind]) : alpha_coverage(s);
          for (std::size_t k = 0; k < kLargestSet; ++k) mean[kind][k] += one[k] / static_cast<double>(count);
        }
      }
      ChartPanel panel{fmt::format("{}, {} nodes", distribution_name(distribution), n), {}};
      fmt::print("| {} | {} |", n, distribution_name(distribution));
      for (std::size_t kind = 0; kind < mean.size(); ++kind) {
        ChartSeries series{kind < kKinds.size() ? std::string(candidate_kind_name(kKinds[kind])) : "alpha", {}, {}};
        for (std::size_t k = 0; k < kLargestSet; ++k) {
          series.x.push_back(static_cast<double>(k + 1));
          series.y.push_back(100 * (1 - mean[kind][k]));
        }
        panel.series.push_back(std::move(series));
        fmt::print(" {:.2f} {:.2f} {:.2f} {:.2f} |", 100 * mean[kind][2], 100 * mean[kind][4], 100 * mean[kind][6],
                   100 * mean[kind][9]);
      }
      fmt::print("\n");
      std::fflush(stdout);
      panels.push_back(std::move(panel));
    }
  }
  return panels;
}

double percent_above(double length, double best) {
  return 100 * (length / best - 1);
}

// The local search at equal time. The time of making the candidates counts.
void measure_search(double seconds) {
  fmt::print("\nKicks for {:g} s: % above the tours of EAX, mean of 3 instances\n\n", seconds);
  fmt::print("| nodes | distribution | nearest 5 | 7 | 10 | quadrant 5 | 7 | 10 | purity 5 | 7 | 10 | alpha 5 |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  constexpr int kInstances = 3;
  for (const Distribution distribution : kDistributions) {
    constexpr std::size_t kNodes = 5000;
    std::vector<Solved> set;
    for (std::size_t i = 0; i < kInstances; ++i) set.push_back(solved(distribution, kNodes, 100 + i));
    fmt::print("| {} | {} |", kNodes, distribution_name(distribution));
    const auto run = [&](CandidateKind kind, std::size_t size, int plain) {
      double mean = 0;
      for (const Solved& s : set) {
        LocalSearchOptions options;
        options.deadline = Deadline::after_seconds(seconds);
        options.plain_candidates = plain;
        options.seed = 1;
        const Problem problem(s.instance, size, 1, kind);
        const LocalSearchResult result = iterated_local_search(problem, options);
        const double best = tour_length(s.instance, s.tour);
        mean += percent_above(tour_length(s.instance, Tour(result.order)), best) / kInstances;
      }
      fmt::print(" {:.3f} |", mean);
      std::fflush(stdout);
    };
    for (const CandidateKind kind : kKinds) {
      for (const int size : {5, 7, 10}) run(kind, static_cast<std::size_t>(size), size);
    }
    run(CandidateKind::kQuadrant, 10, 0);
    fmt::print("\n");
  }
}

// EAX with one run of 50 tours: how often the best known length is reached, and the time.
void measure_eax() {
  fmt::print("\nEAX, one run of 50 tours, 10 candidates: % above the best, mean of 6 instances (seconds)\n\n");
  fmt::print("| nodes | distribution | nearest | quadrant | purity |\n|---|---|---|---|---|\n");
  for (const Distribution distribution : kDistributions) {
    constexpr std::size_t kNodes = 1000;
    constexpr int kInstances = 6;
    fmt::print("| {} | {} |", kNodes, distribution_name(distribution));
    std::array<double, 3> gap = {};
    std::array<double, 3> seconds = {};
    for (std::size_t i = 0; i < kInstances; ++i) {
      const Solved s = solved(distribution, kNodes, 200 + i);
      for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        const auto start = Deadline::Clock::now();
        const Problem problem(s.instance, 10, 1, kKinds[kind]);
        EaxOptions options;
        options.population = 50;
        const EaxResult result = eax(problem, options, i);
        seconds[kind] += std::chrono::duration<double>(Deadline::Clock::now() - start).count() / kInstances;
        gap[kind] +=
            percent_above(tour_length(s.instance, Tour(result.order)), tour_length(s.instance, s.tour)) / kInstances;
      }
    }
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) fmt::print(" {:.4f} ({:.2f}) |", gap[kind], seconds[kind]);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace

// candidates_bench [picture.svg]: takes some ten minutes.
int main(int argc, char** argv) {
  const BuildInfo build = build_info();
  fmt::print("puretour {} {}\n", build.version, build.commit);
  measure_search(2.0);
  measure_eax();
  ChartOptions options;
  options.title = "Optimal edges that candidate sets miss";
  options.x.label = "candidates per node";
  options.y.label = "edges missed, %";
  options.y.logarithmic = true;
  options.y.least = 0.01;
  options.y.most = 100;
  options.columns = 4;
  const std::vector<ChartPanel> panels = measure_coverage();
  if (argc > 1) write_file(argv[1], line_chart_svg(panels, options));
  return 0;
}
