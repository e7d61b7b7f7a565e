// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include "puretour/base/rng.h"
#include "puretour/purity/order_matrix.h"

namespace {

using puretour::NodeId;
using puretour::Point;

std::vector<Point> uniform_points(std::size_t n, std::uint64_t seed) {
  puretour::Rng rng(seed);
  std::vector<Point> points(n);
  for (Point& p : points) p = {rng.uniform(), rng.uniform()};
  return points;
}

void AllPairs(benchmark::State& state) {
  const auto points = uniform_points(static_cast<std::size_t>(state.range(0)), 1);
  puretour::OrderMatrix matrix;
  for (auto _ : state) {
    matrix.compute(points);
    benchmark::DoNotOptimize(matrix.row(0));
  }
}
BENCHMARK(AllPairs)->Arg(50)->Arg(100)->Arg(200)->Arg(300)->Arg(400)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
