// Speed of the geometry and purity code: one thread, several repetitions, medians of CPU time (which, unlike wall time,
// a busy machine stretches little).
//
//   build/release/bench/purity_bench
//
// Prints one table row per figure with its target, and the growth from 100,000 to 1,000,000 nodes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "puretour/base/build_info.h"
#include "puretour/base/isa.h"
#include "puretour/base/rng.h"
#include "puretour/geometry/neighbours.h"
#include "puretour/geometry/remaining_neighbours.h"
#include "puretour/purity/gabriel.h"
#include "puretour/purity/order_matrix.h"
#include "puretour/purity/pupo.h"
#include "puretour/purity/tour_purity.h"

namespace {

using puretour::NodeId;
using puretour::Point;

std::vector<Point> uniform_points(std::size_t n, std::uint64_t seed) {
  puretour::Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) p = {rng.uniform(), rng.uniform()};
  return points;
}

// A tour of roughly the quality of a space-filling curve: strips, about 30 % above the optimum, with short edges only.
std::vector<NodeId> strip_tour(const std::vector<Point>& points) {
  const auto strips = static_cast<int>(std::sqrt(static_cast<double>(points.size()) / 3));
  std::vector<NodeId> tour(points.size());
  std::iota(tour.begin(), tour.end(), 0);
  const auto key = [&](NodeId i) {
    const Point p = points[static_cast<std::size_t>(i)];
    const int strip = static_cast<int>(p.x * strips);
    return std::pair(strip, strip % 2 == 0 ? p.y : -p.y);
  };
  std::sort(tour.begin(), tour.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  return tour;
}

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double median_milliseconds(int repetitions, const std::function<void()>& body) {
  std::vector<double> times;
  for (int r = 0; r < repetitions; ++r) {
    const double start = cpu_milliseconds();
    body();
    times.push_back(cpu_milliseconds() - start);
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<std::size_t>(repetitions / 2)];
}

void row(const std::string& what, double milliseconds, const std::string& target) {
  fmt::print("{:<58} {:>10.3f} ms   {}\n", what, milliseconds, target);
  std::fflush(stdout);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main() {
  fmt::print("{} ({}), commit {}, one thread, medians of CPU time\n\n", puretour::cpu_name(),
             puretour::isa_name(puretour::active_isa()), puretour::build_info().commit);

  for (const std::size_t n : {100, 1000}) {
    const auto points = uniform_points(n, 1);
    puretour::OrderMatrix orders;
    row(fmt::format("orders of all pairs, {} nodes", n),
        median_milliseconds(n == 100 ? 501 : 15, [&] { orders.compute(points); }), n == 1000 ? "target 50" : "");
  }

  for (const std::size_t n : {50, 100}) {
    constexpr std::size_t kBatch = 512;
    std::vector<Point> points;
    std::vector<NodeId> tours;
    for (std::size_t b = 0; b < kBatch; ++b) {
      const auto instance = uniform_points(n, b);
      const auto tour = strip_tour(instance);
      points.insert(points.end(), instance.begin(), instance.end());
      tours.insert(tours.end(), tour.begin(), tour.end());
    }
    std::vector<float> weights(tours.size());
    row(fmt::format("PUPO weights of {} tours of {} nodes, {} instances", kBatch, n, kBatch),
        median_milliseconds(31, [&] { puretour::pupo_weights(points, tours, n, 1, {}, weights); }),
        n == 100 ? "target 15" : "");
  }

  double tour_ms[2];
  double gabriel_ms[2];
  const double before = peak_megabytes();
  for (int large = 0; large < 2; ++large) {
    const std::size_t n = large != 0 ? 1'000'000 : 100'000;
    const auto points = uniform_points(n, 2);
    const auto tour = strip_tour(points);
    std::vector<std::uint32_t> orders;
    tour_ms[large] = median_milliseconds(5, [&] { orders = puretour::tour_orders(points, tour); });
    row(fmt::format("purity of a tour of {} nodes, index included", n), tour_ms[large],
        large != 0 ? "target 1500" : "");
  }
  fmt::print("{:<58} {:>10.0f} MB   target 500\n", "  peak memory of the process so far", peak_megabytes());
  fmt::print("{:<58} {:>10.0f} MB\n", "  of it before the large tours", before);
  for (int large = 0; large < 2; ++large) {
    const std::size_t n = large != 0 ? 1'000'000 : 100'000;
    const auto points = uniform_points(n, 2);
    std::size_t num_edges = 0;
    gabriel_ms[large] = median_milliseconds(3, [&] { num_edges = puretour::gabriel_graph(points).size(); });
    row(fmt::format("Gabriel graph of {} points, {} edges", n, num_edges), gabriel_ms[large],
        large != 0 ? "target 3000" : "");
  }
  fmt::print("{:<58} {:>10.2f} x    target 12\n", "growth of tour purity from 100,000 to 1,000,000",
             tour_ms[1] / tour_ms[0]);
  fmt::print("{:<58} {:>10.2f} x    target 12\n", "growth of the Gabriel graph", gabriel_ms[1] / gabriel_ms[0]);
  {
    const auto points = uniform_points(1'000'000, 3);
    row("10 nearest neighbours of 1000000 points",
        median_milliseconds(1, [&] { puretour::nearest_neighbours(points, 10); }), "");
  }
  {
    // As a solver that looks at 50 neighbours walks: ask, step to a near node, take it away.
    constexpr std::size_t kNodes = 10'000;
    constexpr std::size_t kView = 50;
    puretour::RemainingNeighbours remaining(uniform_points(kNodes, 4));
    const double milliseconds = median_milliseconds(11, [&] {
      remaining.reset();
      puretour::Rng rng(5);
      NodeId view[kView];
      NodeId current = 0;
      for (std::size_t step = 0; step + 1 < kNodes; ++step) {
        remaining.remove(current);
        const std::size_t found = remaining.nearest(current, kView, view);
        current = view[rng.below(std::min<std::size_t>(found, 3))];
      }
    });
    row("50 nearest of the remaining nodes, whole walk of 10000 nodes", milliseconds, "");
    fmt::print("{:<58} {:>10.0f} ns   target below 1000\n", "  per step (query and removal)",
               milliseconds * 1e6 / kNodes);
  }
}
