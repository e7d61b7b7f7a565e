// Speed of reading and writing files, in bytes of the file per second.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/tour/array_samples.h"
#include "puretour/tour/line_format.h"
#include "puretour/tour/tsplib.h"

namespace puretour {
namespace {

Instance random_instance(std::int64_t n, Metric metric) {
  Rng rng(1);
  std::vector<Point> points(static_cast<std::size_t>(n));
  for (Point& p : points) {
    p = {rng.uniform(), rng.uniform()};
    // Whole coordinates are what TSPLIB files have, 17 digits what generated ones have.
    if (metric == Metric::kEuc2d) p = {std::floor(p.x * 1e6), std::floor(p.y * 1e6)};
  }
  return Instance(std::move(points), metric);
}

void set_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void parse_tsplib_points(benchmark::State& state, Metric metric) {
  const std::string text = format_tsplib(random_instance(state.range(0), metric));
  for (auto _ : state) benchmark::DoNotOptimize(parse_tsplib(text, "x"));
  set_bytes(state, text.size());
}
BENCHMARK_CAPTURE(parse_tsplib_points, whole, Metric::kEuc2d)->Arg(85900)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse_tsplib_points, real, Metric::kEuclidean)
    ->Arg(85900)
    ->Arg(1000000)
    ->Unit(benchmark::kMillisecond);

void parse_tsplib_matrix(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  WeightMatrix matrix{n, std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix.weights[i * n + j] = static_cast<double>((i * j) % 10000);
  }
  const std::string text = format_tsplib(Instance(std::move(matrix)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_tsplib(text, "x"));
  set_bytes(state, text.size());
}
BENCHMARK(parse_tsplib_matrix)->Arg(2000)->Unit(benchmark::kMillisecond);

void write_tsplib_points(benchmark::State& state) {
  const Instance instance = random_instance(state.range(0), Metric::kEuclidean);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = format_tsplib(instance).size();
  set_bytes(state, bytes);
}
BENCHMARK(write_tsplib_points)->Arg(1000000)->Unit(benchmark::kMillisecond);

void parse_tours(benchmark::State& state) {
  const std::string text = format_tsplib_tour(Tour::identity(static_cast<std::size_t>(state.range(0))), "x");
  for (auto _ : state) benchmark::DoNotOptimize(parse_tsplib_tour(text, "x"));
  set_bytes(state, text.size());
}
BENCHMARK(parse_tours)->Arg(1000000)->Unit(benchmark::kMillisecond);

void read_lines(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Sample sample{random_instance(state.range(0), Metric::kEuclidean), Tour::identity(n)};
  std::string text;
  while (text.size() < 20'000'000) append_sample_line(text, sample);
  for (auto _ : state) {
    std::istringstream stream(text);
    LineReader reader(stream, "x");
    while (reader.next()) {
    }
  }
  set_bytes(state, text.size());
}
BENCHMARK(read_lines)->Arg(50)->Arg(1000000)->Unit(benchmark::kMillisecond);

void parse_npz(benchmark::State& state) {
  const std::vector<Sample> samples(10000, {random_instance(100, Metric::kEuclidean), Tour::identity(100)});
  const std::string bytes = format_npz_samples(samples);
  for (auto _ : state) benchmark::DoNotOptimize(parse_npz_samples(bytes, "x"));
  set_bytes(state, bytes.size());
}
BENCHMARK(parse_npz)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace puretour

BENCHMARK_MAIN();
