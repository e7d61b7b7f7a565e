// Purity orders of pairs and tours, k-Gabriel graphs, and the step weights of PUPO.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "arrays.h"
#include "bindings.h"
#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/purity/gabriel.h"
#include "puretour/purity/order_matrix.h"
#include "puretour/purity/pupo.h"
#include "puretour/purity/tour_purity.h"

namespace puretour::python {
namespace {

// Shapes as of batch_shape(); the result has that of the tours.
Integers tour_orders_of(const Doubles& points, const Integers& tours, int threads) {
  const BatchShape shape = batch_shape(points, tours);
  const auto all_points = points_of(points);
  const std::vector<NodeId> orders = tours_of(tours, shape.nodes, "tours");
  Integers result(shape_of(tours));
  std::int64_t* out = result.mutable_data();
  const py::gil_scoped_release released;
  const bool single = shape.instances == 1;
  parallel_for(shape.instances, threads, [&](std::size_t b) {
    const KdTree tree(all_points.subspan(b * shape.nodes, shape.nodes));
    for (std::size_t i = b * shape.tours_each; i < (b + 1) * shape.tours_each; ++i) {
      const auto measured =
          tour_orders(tree, std::span(orders).subspan(i * shape.nodes, shape.nodes), single ? threads : 1);
      std::copy(measured.begin(), measured.end(), out + i * shape.nodes);
    }
  });
  return result;
}

// points (B, N, 2) -> (B, N, N).
py::array_t<OrderMatrix::Order> purity_orders(const Doubles& points, int threads) {
  if (points.ndim() != 3) throw InputError(fmt::format("points has shape {}; wanted: (B, N, 2)", shape_text(points)));
  const auto all_points = points_of(points);
  const std::size_t count = dim(points, 0);
  const std::size_t nodes = dim(points, 1);
  if (nodes > OrderMatrix::kMaxNodes) {
    throw InputError(fmt::format("points has {} nodes; the orders of all pairs are for at most {}. Use gabriel_graph()",
                                 nodes, OrderMatrix::kMaxNodes));
  }
  const auto n = static_cast<py::ssize_t>(nodes);
  py::array_t<OrderMatrix::Order> result({static_cast<py::ssize_t>(count), n, n});
  OrderMatrix::Order* out = result.mutable_data();
  const py::gil_scoped_release released;
  parallel_for(count, threads, [&](std::size_t b) {
    thread_local OrderMatrix orders;
    orders.compute(all_points.subspan(b * nodes, nodes), count == 1 ? threads : 1);
    for (std::size_t i = 0; i < nodes; ++i)
      std::copy_n(orders.row(static_cast<NodeId>(i)), nodes, out + (b * nodes + i) * nodes);
  });
  return result;
}

py::tuple gabriel(const Doubles& points, std::uint32_t max_order, int threads) {
  if (points.ndim() != 2) throw InputError(fmt::format("points has shape {}; wanted: (N, 2)", shape_text(points)));
  const auto view = points_of(points);
  std::vector<GabrielEdge> graph;
  {
    const py::gil_scoped_release released;
    graph = gabriel_graph(view, max_order, threads);
  }
  const auto count = static_cast<py::ssize_t>(graph.size());
  Integers edges({count, py::ssize_t{2}});
  Integers orders(count);
  std::int64_t* out_edges = edges.mutable_data();
  std::int64_t* out_orders = orders.mutable_data();
  for (const GabrielEdge& edge : graph) {
    *out_edges++ = edge.a;
    *out_edges++ = edge.b;
    *out_orders++ = edge.order;
  }
  return py::make_tuple(edges, orders);
}

PupoOptions pupo_options(double discount, const std::string& variant, bool clamp) {
  PupoOptions options;
  options.discount = discount;
  options.clamp_weights = clamp;
  if (variant == "authors") {
    options.variant = PupoVariant::kAuthors;
  } else if (variant != "paper") {
    throw InputError(fmt::format("variant is '{}'; choose one of: paper, authors", variant));
  }
  return options;
}

// Shapes as of batch_shape(); the result has that of the tours.
py::array_t<float> weights_of(const Doubles& points, const Integers& tours, double discount, const std::string& variant,
                              bool clamp, int threads) {
  const BatchShape shape = batch_shape(points, tours);
  const auto all_points = points_of(points);
  const PupoOptions options = pupo_options(discount, variant, clamp);
  py::array_t<float> weights(shape_of(tours));
  const std::span<float> out(weights.mutable_data(), static_cast<std::size_t>(weights.size()));
  const py::gil_scoped_release released;
  const std::vector<NodeId> orders = tours_of(tours, shape.nodes, "tours");
  if (!out.empty()) pupo_weights(all_points, orders, shape.nodes, shape.tours_each, options, out, threads);
  return weights;
}

Doubles to_doubles(const std::vector<double>& values) {
  return Doubles(static_cast<py::ssize_t>(values.size()), values.data());
}

py::tuple trace_of(const Doubles& points, const Integers& tour, double discount, const std::string& variant,
                   bool clamp) {
  const auto view = points_of(points);
  const std::vector<NodeId> order = tours_of(tour, view.size(), "tour");
  if (order.empty()) throw InputError("points has no nodes");
  const PupoTrace trace = pupo_trace(OrderMatrix(view), order, pupo_options(discount, variant, clamp));
  return py::make_tuple(to_doubles(trace.availabilities), to_doubles(trace.costs), to_doubles(trace.weights));
}

}  // namespace

void bind_purity(py::module_& module) {
  module.def("tour_orders", &tour_orders_of, py::arg("points").noconvert(), py::arg("tours").noconvert(),
             py::arg("threads"));
  module.def("purity_orders", &purity_orders, py::arg("points").noconvert(), py::arg("threads"));
  module.def("gabriel_graph", &gabriel, py::arg("points").noconvert(), py::arg("max_order"), py::arg("threads"));
  module.def("pupo_weights", &weights_of, py::arg("points").noconvert(), py::arg("tours").noconvert(),
             py::arg("discount"), py::arg("variant"), py::arg("clamp"), py::arg("threads"));
  module.def("pupo_trace", &trace_of, py::arg("points").noconvert(), py::arg("tour").noconvert(), py::arg("discount"),
             py::arg("variant"), py::arg("clamp"));
}

}  // namespace puretour::python
