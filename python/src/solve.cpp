// Tours: one instance, many small ones, completions of partial tours, lengths, a lower bound.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "arrays.h"
#include "bindings.h"
#include "interruptible.h"
#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/solve/completion.h"
#include "puretour/solve/lower_bound.h"
#include "puretour/solve/solver.h"
#include "solve_call.h"

namespace puretour::python {
namespace {

// Items that a thread takes at a time: small problems last a millisecond.
constexpr std::size_t kLabelsAtOnce = 8;

py::dict solve(const Instance& instance, const std::string& method, std::optional<double> time_limit,
               std::uint64_t seed, const std::optional<Integers>& initial, bool bound, const py::object& progress) {
  const auto solver = make_solver(method);
  return solve_call(*solver, instance, {time_limit, seed, initial, bound, progress});
}

// A callback of Python with (done, total), or nothing.
std::function<void()> ticker(const py::object& progress, const std::atomic<std::size_t>& done, std::size_t total) {
  if (progress.is_none()) return {};
  return [&progress, &done, total] { progress(done.load(), total); };
}

// offsets: instance b has the points offsets[b] .. offsets[b + 1] - 1 of `points` (T, 2).
std::vector<std::size_t> checked_offsets(const Integers& offsets, std::size_t num_points) {
  std::vector<std::size_t> result;
  if (offsets.ndim() != 1 || offsets.size() < 1) throw InputError("offsets must have B + 1 entries");
  std::int64_t last = 0;
  for (py::ssize_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t value = offsets.data()[i];
    if (value < last || static_cast<std::size_t>(value) > num_points || (i == 0 && value != 0))
      throw InputError("offsets must rise from 0 to the number of points");
    result.push_back(static_cast<std::size_t>(value));
    last = value;
  }
  if (result.back() != num_points) throw InputError("offsets must rise from 0 to the number of points");
  return result;
}

py::tuple solve_many(const Doubles& points, const Integers& offset_array, const std::string& method,
                     std::optional<double> time_limit, std::uint64_t seed, int threads, const py::object& progress) {
  const auto all_points = points_of(points);
  const std::vector<std::size_t> offsets = checked_offsets(offset_array, all_points.size());
  const std::size_t count = offsets.size() - 1;
  Integers tours(static_cast<py::ssize_t>(all_points.size()));
  Doubles lengths(static_cast<py::ssize_t>(count));
  std::int64_t* out_tours = tours.mutable_data();
  double* out_lengths = lengths.mutable_data();
  const auto solver = method == "label" ? nullptr : make_solver(method);
  std::atomic<std::size_t> done{0};
  run_interruptibly(
      [&](std::atomic<bool>& stop) {
        parallel_for_blocks(count, solver ? 1 : kLabelsAtOnce, threads, [&](std::size_t begin, std::size_t end) {
          TourCompleter completer;
          std::vector<NodeId> order;
          for (std::size_t b = begin; b < end && !stop; ++b) {
            const auto nodes = all_points.subspan(offsets[b], offsets[b + 1] - offsets[b]);
            if (nodes.empty()) throw InputError(fmt::format("points[{}] has no nodes", b));
            const Instance instance(std::vector<Point>(nodes.begin(), nodes.end()));
            order.resize(nodes.size());
            if (solver) {
              SolveOptions options;
              options.deadline = (time_limit ? Deadline::after_seconds(*time_limit) : Deadline()).with_stop_flag(&stop);
              options.seed = seed;
              const SolveResult solved = solver->solve(instance, options);
              std::copy(solved.tour.order().begin(), solved.tour.order().end(), order.begin());
            } else {
              Rng rng(seed, {b});
              completer.complete(nodes, {}, rng, order);
            }
            std::copy(order.begin(), order.end(), out_tours + offsets[b]);
            out_lengths[b] = tour_length(instance, Tour(order));
            ++done;
          }
        });
      },
      ticker(progress, done, count));
  return py::make_tuple(tours, lengths);
}

// points (N, 2) and visited (K), or points (B, N, 2) and visited (B, K).
Integers complete_tours(const Doubles& points, const Integers& visited, std::uint64_t seed, int threads) {
  const py::ssize_t last = visited.ndim() - 1;
  if ((points.ndim() != 2 && points.ndim() != 3) || last != points.ndim() - 2 ||
      dim(visited, last) > dim(points, last) || (last == 1 && dim(visited, 0) != dim(points, 0))) {
    throw InputError(fmt::format("points has shape {}, visited {}; wanted: (B, N, 2) and (B, K) with K <= N",
                                 shape_text(points), shape_text(visited)));
  }
  const auto all_points = points_of(points);
  const std::size_t count = last == 1 ? dim(points, 0) : 1;
  const std::size_t nodes = dim(points, last);
  const std::size_t known = dim(visited, last);
  const std::vector<NodeId> prefixes = prefixes_of(visited, nodes, "visited");
  Integers tours(shape_of(points, 1));
  std::int64_t* out = tours.mutable_data();
  run_interruptibly([&](std::atomic<bool>& stop) {
    parallel_for_blocks(count, kLabelsAtOnce, threads, [&](std::size_t begin, std::size_t end) {
      TourCompleter completer;
      std::vector<NodeId> order(nodes);
      for (std::size_t b = begin; b < end && !stop; ++b) {
        Rng rng(seed, {b});
        completer.complete(all_points.subspan(b * nodes, nodes), std::span(prefixes).subspan(b * known, known), rng,
                           order);
        std::copy(order.begin(), order.end(), out + b * nodes);
      }
    });
  });
  return tours;
}

// Shapes as of batch_shape(); the result has that of the tours without the nodes.
Doubles tour_lengths(const Doubles& points, const Integers& tours, int threads) {
  const BatchShape shape = batch_shape(points, tours);
  const auto all_points = points_of(points);
  const std::vector<NodeId> orders = tours_of(tours, shape.nodes, "tours");
  Doubles lengths(shape_of(tours, 1));
  double* out = lengths.mutable_data();
  const py::gil_scoped_release released;
  parallel_for_blocks(shape.instances, 64, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const auto nodes = all_points.subspan(b * shape.nodes, shape.nodes);
      const Instance instance(std::vector<Point>(nodes.begin(), nodes.end()));
      for (std::size_t i = b * shape.tours_each; i < (b + 1) * shape.tours_each; ++i) {
        const auto* first = orders.data() + i * shape.nodes;
        out[i] = tour_length(instance, Tour(std::vector<NodeId>(first, first + shape.nodes)));
      }
    }
  });
  return lengths;
}

}  // namespace

py::dict solve_call(const Solver& solver, const Instance& instance, const SolveCall& call) {
  SolveOptions options;
  options.seed = call.seed;
  if (call.initial) options.initial = Tour(tours_of(*call.initial, instance.size(), "initial"));
  SolveResult result;
  std::optional<LowerBound> bound;
  run_interruptibly([&](std::atomic<bool>& stop) {
    // A callback that asks for an end (not Ctrl-C) gets the best tour so far.
    options.deadline = (call.time_limit ? Deadline::after_seconds(*call.time_limit) : Deadline()).with_stop_flag(&stop);
    std::mutex mutex;
    std::exception_ptr from_callback;
    if (!call.progress.is_none()) {
      options.progress = [&](const SolveProgress& progress) {
        if (stop) return;
        const py::gil_scoped_acquire acquired;
        try {
          const py::object answer = call.progress(std::string(progress.phase), progress.length);
          if (answer.is(py::bool_(false))) stop = true;
        } catch (...) {
          const std::lock_guard lock(mutex);
          from_callback = std::current_exception();
          stop = true;
        }
      };
    }
    result = solver.solve(instance, options);
    if (from_callback) std::rethrow_exception(from_callback);
    if (call.bound) bound = held_karp_bound(instance, result.tour);
  });
  py::dict answer;
  answer["tour"] = to_array(result.tour.order());
  answer["length"] = result.length;
  answer["seconds"] = result.seconds;
  answer["method"] = result.method;
  answer["unimproved_length"] = result.unimproved_length;
  answer["bound"] = bound ? py::object(py::float_(bound->length)) : py::object(py::none());
  answer["bound_is_proven"] = bound && bound->is_proven;
  return answer;
}

void bind_solve(py::module_& module) {
  module.def("solve", &solve, py::arg("instance"), py::arg("method"), py::arg("time_limit"), py::arg("seed"),
             py::arg("initial"), py::arg("bound"), py::arg("progress"));
  module.def("solve_many", &solve_many, py::arg("points").noconvert(), py::arg("offsets").noconvert(),
             py::arg("method"), py::arg("time_limit"), py::arg("seed"), py::arg("threads"), py::arg("progress"));
  module.def("complete_tours", &complete_tours, py::arg("points").noconvert(), py::arg("visited").noconvert(),
             py::arg("seed"), py::arg("threads"));
  module.def("tour_lengths", &tour_lengths, py::arg("points").noconvert(), py::arg("tours").noconvert(),
             py::arg("threads"));
  module.def(
      "instance_tour_length",
      [](const Instance& instance, const Integers& tour) {
        return tour_length(instance, Tour(tours_of(tour, instance.size(), "tour")));
      },
      py::arg("instance"), py::arg("tour").noconvert());
}

}  // namespace puretour::python
