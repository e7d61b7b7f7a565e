// The draws of each distribution, in the order of the published generator.
// SPDX-License-Identifier: MIT
#include "puretour/generate/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"

namespace puretour {
namespace {

constexpr std::array<std::string_view, 4> kDistributionNames = {"uniform", "clustered", "explosion", "implosion"};

// Keeps the streams of instances apart from other uses of the same seed ("generate" in ASCII).
constexpr std::uint64_t kGenerateStream = 0x67656E6572617465ULL;

// Lengths up to here keep every coordinate far inside the range of float.
constexpr double kLargestLength = 1e9;

// Not std::hypot, whose last bit depends on the C library.
double norm(Point v) {
  return std::sqrt(v.x * v.x + v.y * v.y);
}

void check_length(const char* name, double value) {
  if (!(value >= 0 && value <= kLargestLength)) {
    throw InputError(fmt::format("{} is {}; it must be a number from 0 to {:g}", name, value, kLargestLength));
  }
}

// Draws are made in separate statements throughout: the order of evaluation of arguments is the compiler's.
Point draw_uniform_point(Rng& rng) {
  const double x = rng.uniform();
  const double y = rng.uniform();
  return {x, y};
}

std::vector<Point> draw_uniform_points(Rng& rng, std::size_t count) {
  std::vector<Point> points(count);
  for (Point& p : points) p = draw_uniform_point(rng);
  return points;
}

std::vector<Point> draw_clustered(const GeneratorOptions& options, std::size_t num_nodes, Rng& rng,
                                  GeneratorTrace& trace) {
  trace.cluster_centres = draw_uniform_points(rng, options.cluster_num);
  for (Point& c : trace.cluster_centres) c = {options.cluster_diversity * c.x, options.cluster_diversity * c.y};
  std::vector<Point> points(num_nodes);
  for (Point& p : points) {
    p.x = rng.normal();
    p.y = rng.normal();
  }
  trace.cluster_labels.reserve(num_nodes);
  for (Point& p : points) {
    const auto label = static_cast<std::uint32_t>(rng.below(options.cluster_num));
    const Point c = trace.cluster_centres[label];
    p = {c.x + p.x, c.y + p.y};
    trace.cluster_labels.push_back(label);
  }
  return points;
}

void draw_disc(const GeneratorOptions& options, std::size_t num_nodes, Rng& rng, GeneratorTrace& trace) {
  trace.drawn = draw_uniform_points(rng, num_nodes);
  trace.centre = draw_uniform_point(rng);
  trace.radius = (options.radius_max - options.radius_min) * rng.uniform() + options.radius_min;
}

std::vector<Point> draw_explosion(const GeneratorOptions& options, std::size_t num_nodes, Rng& rng,
                                  GeneratorTrace& trace) {
  draw_disc(options, num_nodes, rng, trace);
  std::vector<Point> points = trace.drawn;
  for (Point& p : points) p = exploded(p, trace.centre, trace.radius, rng.exponential() / options.explosion_rate);
  return points;
}

std::vector<Point> draw_implosion(const GeneratorOptions& options, std::size_t num_nodes, Rng& rng,
                                  GeneratorTrace& trace) {
  draw_disc(options, num_nodes, rng, trace);
  // Published data were made with one factor for the whole instance, and with its sign: most "implosions" mirror or
  // widen the disc. Kept, because results are compared on such data.
  trace.factor = std::min(trace.radius, rng.normal());
  std::vector<Point> points = trace.drawn;
  for (Point& p : points) p = imploded(p, trace.centre, trace.radius, trace.factor);
  return points;
}

std::vector<Point> draw_points(const GeneratorOptions& options, Distribution distribution, std::size_t num_nodes,
                               Rng& rng, GeneratorTrace& trace) {
  switch (distribution) {
    case Distribution::kUniform:
      trace.drawn = draw_uniform_points(rng, num_nodes);
      return trace.drawn;
    case Distribution::kClustered:
      return draw_clustered(options, num_nodes, rng, trace);
    case Distribution::kExplosion:
      return draw_explosion(options, num_nodes, rng, trace);
    case Distribution::kImplosion:
      return draw_implosion(options, num_nodes, rng, trace);
  }
  throw InternalError("draw_points: unknown distribution");
}

}  // namespace

std::string_view distribution_name(Distribution distribution) {
  return kDistributionNames.at(static_cast<std::size_t>(distribution));
}

Distribution distribution_from_name(std::string_view name) {
  const auto* const found = std::find(kDistributionNames.begin(), kDistributionNames.end(), name);
  if (found == kDistributionNames.end()) {
    throw InputError(
        fmt::format("unknown distribution '{}'; choose one of: {}", name, fmt::join(kDistributionNames, ", ")));
  }
  return static_cast<Distribution>(found - kDistributionNames.begin());
}

void check_generator_options(const GeneratorOptions& options) {
  if (options.cluster_num == 0) throw InputError("cluster_num is 0; a clustered instance needs at least one cluster");
  check_length("cluster_diversity", options.cluster_diversity);
  check_length("radius_min", options.radius_min);
  check_length("radius_max", options.radius_max);
  if (options.radius_min > options.radius_max) {
    throw InputError(fmt::format("radius_min is {}, above radius_max, which is {}; swap them", options.radius_min,
                                 options.radius_max));
  }
  if (!(options.explosion_rate >= 1 / kLargestLength && std::isfinite(options.explosion_rate))) {
    throw InputError(fmt::format("explosion_rate is {}; it must be a finite number of at least {:g}",
                                 options.explosion_rate, 1 / kLargestLength));
  }
}

Point exploded(Point p, Point centre, double radius, double excess) {
  const Point v{p.x - centre.x, p.y - centre.y};
  const double distance = norm(v);
  if (distance >= radius || distance == 0) return p;
  const double moved = radius + excess;
  return {centre.x + v.x / distance * moved, centre.y + v.y / distance * moved};
}

Point imploded(Point p, Point centre, double radius, double factor) {
  const Point v{p.x - centre.x, p.y - centre.y};
  if (norm(v) >= radius) return p;
  return {centre.x + factor * v.x, centre.y + factor * v.y};
}

Instance generate_instance(const GeneratorOptions& options, Distribution distribution, std::size_t num_nodes,
                           std::uint64_t seed, std::uint64_t index, GeneratorTrace* trace) {
  check_generator_options(options);
  if (num_nodes == 0) throw InputError("an instance needs at least one node");
  constexpr auto kMaxNodes = static_cast<std::size_t>(std::numeric_limits<NodeId>::max());
  if (num_nodes > kMaxNodes) {
    throw InputError(fmt::format("{} nodes asked for; an instance has at most {}", num_nodes, kMaxNodes));
  }
  Rng rng(seed, {kGenerateStream, static_cast<std::uint64_t>(distribution), num_nodes, index});
  GeneratorTrace local_trace;
  std::vector<Point> points = draw_points(options, distribution, num_nodes, rng, local_trace);
  if (trace != nullptr) *trace = std::move(local_trace);
  if (options.normalise) points = normalised_to_unit_square(points);
  if (options.float32) {
    for (Point& p : points) p = {static_cast<float>(p.x), static_cast<float>(p.y)};
  }
  return Instance(std::move(points), Metric::kEuclidean,
                  fmt::format("{}{}-seed{}-{}", distribution_name(distribution), num_nodes, seed, index));
}

std::vector<Instance> generate_instances(const GeneratorOptions& options, Distribution distribution,
                                         std::size_t num_nodes, std::uint64_t seed, std::size_t count, int threads) {
  std::vector<Instance> instances(count);
  parallel_for(count, threads,
               [&](std::size_t i) { instances[i] = generate_instance(options, distribution, num_nodes, seed, i); });
  return instances;
}

}  // namespace puretour
