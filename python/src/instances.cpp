// Instances: made from arrays, generated, read from files and written to them.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "arrays.h"
#include "bindings.h"
#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/generate/generate.h"
#include "puretour/tour/formats.h"

namespace puretour::python {
namespace {

constexpr std::array kMetrics = {Metric::kEuclidean, Metric::kEuc2d, Metric::kCeil2d, Metric::kMan2d,
                                 Metric::kMax2d,     Metric::kAtt,   Metric::kGeo};

Metric parse_metric(const std::string& name) {
  std::string known;
  for (const Metric metric : kMetrics) {
    if (name == metric_name(metric)) return metric;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", metric_name(metric));
  }
  throw InputError(fmt::format("metric is '{}'; choose one of: {}", name, known));
}

std::optional<FileFormat> parse_format(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return parse_file_format(*name);
}

Instance instance_of_points(const Doubles& points, const std::string& metric, const std::string& name) {
  if (points.ndim() != 2) throw InputError(fmt::format("points has shape {}; wanted: (N, 2)", shape_text(points)));
  const auto view = points_of(points);
  return Instance(std::vector<Point>(view.begin(), view.end()), parse_metric(metric), name);
}

Instance instance_of_matrix(const Doubles& matrix, const std::string& name) {
  if (matrix.ndim() != 2 || dim(matrix, 0) != dim(matrix, 1))
    throw InputError(fmt::format("distance_matrix has shape {}; wanted: (N, N)", shape_text(matrix)));
  WeightMatrix weights;
  weights.size = dim(matrix, 0);
  weights.weights.assign(matrix.data(), matrix.data() + matrix.size());
  return Instance(std::move(weights), {}, name);
}

Instance with_fixed_edges(const Instance& instance, const Integers& edges) {
  if (edges.ndim() != 2 || dim(edges, 1) != 2)
    throw InputError(fmt::format("fixed_edges has shape {}; wanted: (M, 2)", shape_text(edges)));
  std::vector<FixedEdge> fixed;
  const auto n = static_cast<std::int64_t>(instance.size());
  for (std::size_t i = 0; i < dim(edges, 0); ++i) {
    const std::int64_t a = edges.data()[2 * i];
    const std::int64_t b = edges.data()[2 * i + 1];
    if (a < 0 || b < 0 || a >= n || b >= n || a == b) {
      throw InputError(
          fmt::format("fixed_edges[{}] is ({}, {}); wanted: two different nodes of 0 .. {}", i, a, b, n - 1));
    }
    fixed.push_back({static_cast<NodeId>(a), static_cast<NodeId>(b)});
  }
  try {
    return instance.with_fixed_edges(fixed);
  } catch (const InputError& error) {
    throw InputError(fmt::format("fixed_edges: {} (nodes counted from 1)", error.what()));
  }
}

py::object points_array(const Instance& instance) {
  if (!instance.has_points()) return py::none();
  Doubles array({static_cast<py::ssize_t>(instance.size()), py::ssize_t{2}});
  std::copy(instance.points().begin(), instance.points().end(), reinterpret_cast<Point*>(array.mutable_data()));
  return array;
}

py::object matrix_array(const Instance& instance) {
  if (instance.matrix() == nullptr) return py::none();
  const auto n = static_cast<py::ssize_t>(instance.size());
  Doubles array({n, n});
  std::copy(instance.matrix()->weights.begin(), instance.matrix()->weights.end(), array.mutable_data());
  return array;
}

Integers fixed_edge_array(const Instance& instance) {
  Integers array({static_cast<py::ssize_t>(instance.fixed_edges().size()), py::ssize_t{2}});
  std::int64_t* out = array.mutable_data();
  for (const auto [a, b] : instance.fixed_edges()) {
    *out++ = a;
    *out++ = b;
  }
  return array;
}

double distance(const Instance& instance, std::int64_t i, std::int64_t j) {
  const auto n = static_cast<std::int64_t>(instance.size());
  if (i < 0 || j < 0 || i >= n || j >= n)
    throw InputError(fmt::format("distance of ({}, {}): wanted are nodes of 0 .. {}", i, j, n - 1));
  return instance.distance(static_cast<NodeId>(i), static_cast<NodeId>(j));
}

Doubles generate(const std::string& distribution_name, std::size_t nodes, std::size_t count, std::uint64_t seed,
                 const GeneratorOptions& options, int threads) {
  const Distribution distribution = distribution_from_name(distribution_name);
  check_generator_options(options);
  Doubles result({static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(nodes), py::ssize_t{2}});
  auto* out = reinterpret_cast<Point*>(result.mutable_data());
  const py::gil_scoped_release released;
  parallel_for(count, threads, [&](std::size_t i) {
    const Instance instance = generate_instance(options, distribution, nodes, seed, i);
    std::copy(instance.points().begin(), instance.points().end(), out + i * nodes);
  });
  return result;
}

py::list read(const std::string& path, const std::optional<std::string>& format) {
  std::vector<Sample> samples;
  {
    const py::gil_scoped_release released;
    samples = read_samples(path, parse_format(format));
  }
  py::list result;
  for (Sample& sample : samples) {
    py::object tour = py::none();
    if (sample.tour) tour = to_array(sample.tour->order());
    result.append(py::make_tuple(std::move(sample.instance), tour));
  }
  return result;
}

void write(const std::string& path, const std::optional<std::string>& format,
           const std::vector<std::shared_ptr<Instance>>& instances, const std::vector<std::optional<Integers>>& tours,
           bool single_precision) {
  if (tours.size() != instances.size())
    throw InputError(fmt::format("there are {} tours, but {} instances", tours.size(), instances.size()));
  std::vector<Sample> samples(instances.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].instance = *instances[i];
    if (tours[i]) samples[i].tour = Tour(tours_of(*tours[i], instances[i]->size(), fmt::format("tours[{}]", i)));
  }
  const py::gil_scoped_release released;
  write_samples(path, parse_format(format), samples, {.single_precision = single_precision});
}

}  // namespace

void bind_instances(py::module_& module) {
  py::class_<Instance, std::shared_ptr<Instance>>(
      module, "Instance", "A travelling-salesman instance: points with a metric, or a matrix of distances. Immutable.")
      .def_static("from_points", &instance_of_points, py::arg("points").noconvert(), py::arg("metric"), py::arg("name"))
      .def_static("from_matrix", &instance_of_matrix, py::arg("distance_matrix").noconvert(), py::arg("name"))
      .def("with_fixed_edges", &with_fixed_edges, py::arg("edges").noconvert(),
           "The same instance with these edges, (M, 2), in every tour.")
      .def("__len__", &Instance::size)
      .def("distance", &distance, py::arg("i"), py::arg("j"), "Distance of two nodes in the metric of the instance.")
      .def_property_readonly("name", &Instance::name, "The name in its file, or an empty string.")
      .def_property_readonly(
          "metric", [](const Instance& instance) { return std::string(metric_name(instance.metric())); },
          "EDGE_WEIGHT_TYPE of TSPLIB; EUC_2D_REAL is the plain Euclidean distance.")
      .def_property_readonly("points", &points_array, "Coordinates, (N, 2), or None.")
      .def_property_readonly("distance_matrix", &matrix_array, "Distances, (N, N), of an EXPLICIT instance, or None.")
      .def_property_readonly("fixed_edges", &fixed_edge_array, "Edges that every tour contains, (M, 2).")
      .def("__repr__", [](const Instance& instance) {
        return fmt::format("<puretour.Instance {}{} nodes, {}>", instance.name().empty() ? "" : instance.name() + ": ",
                           instance.size(), metric_name(instance.metric()));
      });

  module.def(
      "generate",
      [](const std::string& distribution, std::size_t nodes, std::size_t count, std::uint64_t seed, bool normalise,
         bool float32, std::uint32_t clusters, int threads) {
        GeneratorOptions options;
        options.normalise = normalise;
        options.float32 = float32;
        options.cluster_num = clusters;
        return generate(distribution, nodes, count, seed, options, threads);
      },
      py::arg("distribution"), py::arg("nodes"), py::arg("count"), py::arg("seed"), py::arg("normalise"),
      py::arg("float32"), py::arg("clusters"), py::arg("threads"));
  module.def("read", &read, py::arg("path"), py::arg("format"));
  module.def("write", &write, py::arg("path"), py::arg("format"), py::arg("instances"), py::arg("tours"),
             py::arg("single_precision"));
  module.def(
      "read_tour",
      [](const std::string& path, std::optional<std::size_t> nodes) {
        return to_array(read_tour(path, nodes).order());
      },
      py::arg("path"), py::arg("nodes"));
  module.def(
      "write_tour",
      [](const std::string& path, const Integers& tour, const std::string& name, std::optional<double> length) {
        write_tour(path, Tour(tours_of(tour, dim(tour, 0), "tour")), name, length);
      },
      py::arg("path"), py::arg("tour").noconvert(), py::arg("name"), py::arg("length"));
}

}  // namespace puretour::python
