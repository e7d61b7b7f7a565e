// Random instances of the four distributions on which learned solvers are tested.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "puretour/tour/instance.h"

namespace puretour {

/// The values are part of the seed of an instance: never renumber them.
enum class Distribution : std::uint8_t {
  kUniform = 0,    // independent points of the unit square
  kClustered = 1,  // unit-variance normal clouds around random centres
  kExplosion = 2,  // uniform, but a disc is emptied: its points are thrown beyond its rim
  kImplosion = 3,  // uniform, but a disc is scaled about its centre by one random factor
};

/// "uniform", "clustered", "explosion" or "implosion".
std::string_view distribution_name(Distribution distribution);

/// The inverse. Throws InputError that lists the valid names.
Distribution distribution_from_name(std::string_view name);

/// The defaults are those of the published INViT data generator.
struct GeneratorOptions {
  std::uint32_t cluster_num = 3;  // number of centres of kClustered, >= 1
  double cluster_diversity = 10;  // side of the square from which these centres are drawn, >= 0
  double radius_min = 0.1;        // the disc of kExplosion and kImplosion has a radius uniform in
  double radius_max = 0.5;        // [radius_min, radius_max), 0 <= radius_min <= radius_max
  double explosion_rate = 10;     // 1 / mean distance of an exploded point from the rim, > 0

  /// Move and scale the points as `normalised_to_unit_square` does; false: as drawn. Published test sets are
  /// normalised, the uniform instances of training are not.
  bool normalise = true;

  /// Round every coordinate to the nearest float at the very end. Learned solvers compute in float, and float32 .npy
  /// and short text files hold these values exactly, so that an instance has the same tours in memory and on disk. All
  /// draws are made in double: the switch changes the last digits, never the instance.
  bool float32 = true;
};

/// Throws InputError that names the first option with a value outside its range.
void check_generator_options(const GeneratorOptions& options);

/// kExplosion: a point inside the disc goes to distance radius + excess from the centre, in its own direction; others
/// stay. So does a point exactly on the centre, which has no direction (the published generator makes it NaN).
Point exploded(Point p, Point centre, double radius, double excess);

/// kImplosion: a point inside the disc goes to centre + factor * (p - centre); others stay.
Point imploded(Point p, Point centre, double radius, double factor);

/// What was drawn on the way to an instance: for tests and pictures. Raw doubles, before normalisation and rounding.
struct GeneratorTrace {
  std::vector<Point> drawn;                   // uniform points before displacement; empty for kClustered
  std::vector<Point> cluster_centres;         // kClustered only
  std::vector<std::uint32_t> cluster_labels;  // kClustered only: the centre of each node
  Point centre;                               // of the disc of kExplosion and kImplosion
  double radius = 0;                          // of that disc
  double factor = 0;                          // kImplosion: min(radius, standard normal), so negative half of the time
};

/// Instance number `index` of the data set (seed, distribution, num_nodes): the same bits on every machine, whatever
/// else is generated. The metric is kEuclidean. O(num_nodes).
/// Throws InputError if num_nodes is 0 or above the range of NodeId, or an option is out of range.
Instance generate_instance(const GeneratorOptions& options, Distribution distribution, std::size_t num_nodes,
                           std::uint64_t seed, std::uint64_t index, GeneratorTrace* trace = nullptr);

/// Instances 0 .. count - 1; the result does not depend on `threads` (0: one per core), and a smaller count gives a
/// prefix.
std::vector<Instance> generate_instances(const GeneratorOptions& options, Distribution distribution,
                                         std::size_t num_nodes, std::uint64_t seed, std::size_t count, int threads = 1);

}  // namespace puretour
