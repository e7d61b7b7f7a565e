// SPDX-License-Identifier: MIT
#include "arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "puretour/base/error.h"

namespace puretour::python {
namespace {

static_assert(sizeof(Point) == 2 * sizeof(double), "points are read as pairs of doubles");

template <typename Array>
void check_aligned(const Array& array) {
  if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(typename Array::value_type) != 0)
    throw InputError("an array is not aligned");
}

// "tours", or "tours[3, 5]" for a row of an array with more dimensions.
std::string row_name(const py::array& array, std::size_t row, const std::string& argument) {
  if (array.ndim() < 2) return argument;
  std::string index;
  for (py::ssize_t axis = array.ndim() - 2; axis >= 0; --axis) {
    const std::size_t size = dim(array, axis);
    index = fmt::format("{}{}{}", row % size, index.empty() ? "" : ", ", index);
    row /= size;
  }
  return fmt::format("{}[{}]", argument, index);
}

std::vector<NodeId> checked_nodes(const Integers& array, std::size_t num_nodes, const std::string& argument,
                                  const char* wanted) {
  check_aligned(array);
  std::vector<NodeId> nodes(static_cast<std::size_t>(array.size()));
  const std::size_t length = array.ndim() == 0 ? 0 : dim(array, array.ndim() - 1);
  if (length == 0) return nodes;
  std::vector<std::size_t> row_of(num_nodes, static_cast<std::size_t>(-1));
  const std::int64_t* values = array.data();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int64_t node = values[i];
    if (node < 0 || node >= static_cast<std::int64_t>(num_nodes)) {
      throw InputError(fmt::format("{} must hold {} of 0 .. {}, but has node {} at position {}",
                                   row_name(array, i / length, argument), wanted,
                                   static_cast<std::int64_t>(num_nodes) - 1, node, i % length));
    }
    std::size_t& row = row_of[static_cast<std::size_t>(node)];
    if (row == i / length) {
      throw InputError(fmt::format("{} must hold {} of 0 .. {}, but has node {} twice, the second time at position {}",
                                   row_name(array, i / length, argument), wanted, num_nodes - 1, node, i % length));
    }
    row = i / length;
    nodes[i] = static_cast<NodeId>(node);
  }
  return nodes;
}

}  // namespace

std::string shape_text(const py::array& array) {
  std::string text;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis)
    text += fmt::format("{}{}", axis > 0 ? ", " : "", dim(array, axis));
  return fmt::format("({}{})", text, array.ndim() == 1 ? "," : "");
}

std::span<const Point> points_of(const Doubles& array) {
  check_aligned(array);
  if (array.ndim() < 2 || dim(array, array.ndim() - 1) != 2)
    throw InputError(fmt::format("points has shape {}; wanted: (..., 2)", shape_text(array)));
  return {reinterpret_cast<const Point*>(array.data()), static_cast<std::size_t>(array.size()) / 2};
}

std::vector<NodeId> tours_of(const Integers& array, std::size_t num_nodes, const std::string& argument) {
  if (array.ndim() < 1 || dim(array, array.ndim() - 1) != num_nodes)
    throw InputError(fmt::format("{} has shape {}; wanted: (..., {})", argument, shape_text(array), num_nodes));
  return checked_nodes(array, num_nodes, argument, "every node once");
}

std::vector<NodeId> prefixes_of(const Integers& array, std::size_t num_nodes, const std::string& argument) {
  return checked_nodes(array, num_nodes, argument, "different nodes");
}

Integers to_array(std::span<const NodeId> nodes) {
  Integers array(static_cast<py::ssize_t>(nodes.size()));
  std::copy(nodes.begin(), nodes.end(), array.mutable_data());
  return array;
}

BatchShape batch_shape(const Doubles& points, const Integers& tours) {
  const py::ssize_t more = tours.ndim() - points.ndim();
  const bool fits = (points.ndim() == 2 || points.ndim() == 3) && dim(points, points.ndim() - 1) == 2 &&
                    (more == 0 || more == -1) && dim(tours, tours.ndim() - 1) == dim(points, points.ndim() - 2) &&
                    (points.ndim() == 2 || dim(tours, 0) == dim(points, 0));
  if (!fits) {
    throw InputError(fmt::format("points has shape {}, tours {}; wanted: (B, N, 2) with (B, N) or (B, S, N)",
                                 shape_text(points), shape_text(tours)));
  }
  return {points.ndim() == 2 ? 1 : dim(points, 0), more == 0 ? dim(tours, tours.ndim() - 2) : 1,
          dim(points, points.ndim() - 2)};
}

std::vector<py::ssize_t> shape_of(const py::array& array, py::ssize_t dropped) {
  return {array.shape(), array.shape() + std::max<py::ssize_t>(0, array.ndim() - dropped)};
}

}  // namespace puretour::python
