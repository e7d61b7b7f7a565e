// SPDX-License-Identifier: MIT
#include "puretour/tour/array_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/tour/line_format.h"
#include "puretour/tour/npy.h"
#include "puretour/tour/npz.h"

namespace puretour {
namespace {

constexpr std::string_view kPointsMember = "points.npy";
constexpr std::string_view kToursMember = "tours.npy";

[[noreturn]] void fail(const std::string& source, const NpyArray& array, const std::string& message) {
  throw InputError(fmt::format("{}:byte {}: {}", source, array.items_offset, message));
}

std::vector<Sample> samples_of_points(const NpyArray& array, const std::string& source) {
  const std::vector<std::size_t>& shape = array.shape;
  if ((shape.size() != 2 && shape.size() != 3) || shape.back() != 2) {
    fail(source, array,
         fmt::format("points have the shape {}; expected (N, 2) or (B, N, 2)", quote_input(array.shape_name())));
  }
  const std::size_t num_instances = shape.size() == 3 ? shape[0] : 1;
  const std::size_t n = shape[shape.size() - 2];
  if (num_instances == 0 || n == 0) {
    fail(source, array, fmt::format("points have the shape {}: there is no node", quote_input(array.shape_name())));
  }
  if (n > kMaxNodes) fail(source, array, fmt::format("{} nodes; at most {} are supported", n, kMaxNodes));
  const std::vector<double> coordinates = npy_doubles(array);
  std::vector<Sample> samples;
  samples.reserve(num_instances);
  std::size_t at = 0;
  for (std::size_t b = 0; b < num_instances; ++b) {
    std::vector<Point> points(n);
    for (std::size_t i = 0; i < n; ++i, at += 2) {
      points[i] = {coordinates[at], coordinates[at + 1]};
      if (!std::isfinite(points[i].x) || !std::isfinite(points[i].y)) {
        fail(source, array,
             fmt::format("point {} of instance {} is ({}, {}), not finite", i, b, points[i].x, points[i].y));
      }
    }
    samples.push_back({Instance(std::move(points)), std::nullopt});
  }
  return samples;
}

void add_tours(std::vector<Sample>& samples, const NpyArray& points, const NpyArray& array, const std::string& source) {
  if (array.is_float()) {
    fail(source, array, fmt::format("tours have the type {}; save integers (astype('<i8'))", array.type_name()));
  }
  const std::vector<std::size_t> expected(points.shape.begin(), points.shape.end() - 1);
  if (array.shape != expected) {
    fail(source, array,
         fmt::format("tours have the shape {}, but points have {}", quote_input(array.shape_name()),
                     quote_input(points.shape_name())));
  }
  const std::vector<std::int64_t> nodes = npy_integers(array);
  std::size_t at = 0;
  for (std::size_t b = 0; b < samples.size(); ++b) {
    const std::size_t n = samples[b].instance.size();
    std::vector<NodeId> order(n);
    std::vector<bool> is_visited(n);
    for (std::size_t i = 0; i < n; ++i, ++at) {
      const std::int64_t node = nodes[at];
      if (node < 0 || static_cast<std::uint64_t>(node) >= n) {
        fail(source, array, fmt::format("tour {} visits node {} at position {}; nodes are 0 to {}", b, node, i, n - 1));
      }
      if (is_visited[static_cast<std::size_t>(node)]) {
        fail(source, array, fmt::format("tour {} visits node {} twice, the second time at position {}", b, node, i));
      }
      is_visited[static_cast<std::size_t>(node)] = true;
      order[i] = static_cast<NodeId>(node);
    }
    samples[b].tour = Tour(std::move(order));
  }
}

std::string format_points(std::span<const Sample> samples, std::string_view format_name, bool single_precision) {
  if (samples.empty()) throw InputError(fmt::format("no instances to write as {}", format_name));
  const std::size_t n = samples[0].instance.size();
  std::vector<double> coordinates;
  coordinates.reserve(samples.size() * n * 2);
  for (std::size_t b = 0; b < samples.size(); ++b) {
    const Instance& instance = samples[b].instance;
    if (instance.size() != n) {
      throw InputError(
          fmt::format("instance {} has {} nodes but the first has {}: {} holds instances of one size; write lines "
                      "instead",
                      b + 1, instance.size(), n, format_name));
    }
    for (const Point p : require_planar_points(instance, format_name)) {
      coordinates.push_back(p.x);
      coordinates.push_back(p.y);
    }
  }
  if (single_precision) {
    const auto too_large = [](double value) { return std::fabs(value) > std::numeric_limits<float>::max(); };
    if (const auto found = std::find_if(coordinates.begin(), coordinates.end(), too_large);
        found != coordinates.end()) {
      throw InputError(fmt::format("coordinate {} does not fit single precision; write double precision", *found));
    }
  }
  return format_npy(coordinates, std::array{samples.size(), n, std::size_t{2}}, single_precision);
}

}  // namespace

std::vector<Sample> parse_npy_samples(std::string_view bytes, const std::string& source) {
  return samples_of_points(parse_npy(bytes, source), source);
}

std::vector<Sample> parse_npz_samples(std::string_view bytes, const std::string& source) {
  const NpzReader archive(bytes, source);
  if (!archive.contains(kPointsMember)) {
    throw InputError(fmt::format("{}:byte 0: the archive has no array 'points'; it has {}", source,
                                 quote_input(fmt::format("{}", fmt::join(archive.names(), ", ")))));
  }
  const std::string points_source = fmt::format("{}({})", source, kPointsMember);
  const std::string points_bytes = archive.read(kPointsMember);
  const NpyArray points = parse_npy(points_bytes, points_source);
  std::vector<Sample> samples = samples_of_points(points, points_source);
  if (archive.contains(kToursMember)) {
    const std::string tours_source = fmt::format("{}({})", source, kToursMember);
    const std::string tours_bytes = archive.read(kToursMember);
    add_tours(samples, points, parse_npy(tours_bytes, tours_source), tours_source);
  }
  return samples;
}

std::string format_npy_samples(std::span<const Sample> samples, bool single_precision) {
  return format_points(samples, ".npy", single_precision);
}

std::string format_npz_samples(std::span<const Sample> samples, bool single_precision) {
  std::vector<NpzMember> members;
  members.push_back({std::string(kPointsMember), format_points(samples, ".npz", single_precision)});
  const auto with_tour = static_cast<std::size_t>(
      std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return s.tour.has_value(); }));
  if (with_tour == 0) return format_npz(members);
  if (with_tour != samples.size()) {
    throw InputError(
        fmt::format("{} of {} instances have a tour: .npz holds tours for all or none; write lines instead", with_tour,
                    samples.size()));
  }
  const std::size_t n = samples[0].instance.size();
  std::vector<std::int64_t> nodes;
  nodes.reserve(samples.size() * n);
  for (const Sample& sample : samples) {
    if (sample.tour->size() != n) {
      throw InputError(fmt::format("tour has {} nodes, the instance {}", sample.tour->size(), n));
    }
    nodes.insert(nodes.end(), sample.tour->order().begin(), sample.tour->order().end());
  }
  members.push_back({std::string(kToursMember), format_npy(nodes, std::array{samples.size(), n})});
  return format_npz(members);
}

}  // namespace puretour
