// NumPy arrays as the plain memory that puretour::core works on.
//
// The Python side of the package (puretour/_arrays.py) turns whatever the user has into contiguous, aligned arrays of
// the right type, and words the errors. The checks here are the second line: no call of this module may read out of
// bounds. B instances, N nodes, S tours per instance. SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "puretour/geometry/point.h"

namespace puretour::python {

namespace py = pybind11;

using Doubles = py::array_t<double, py::array::c_style>;
using Integers = py::array_t<std::int64_t, py::array::c_style>;

/// An array without copying: (..., 2) coordinates. Throws InputError if the last dimension is not 2.
std::span<const Point> points_of(const Doubles& array);

/// "(3, 4, 2)".
std::string shape_text(const py::array& array);

/// Copies of node numbers, so that nobody changes them while they are in use: `array` is (..., N), and each row a
/// permutation of 0 .. num_nodes - 1. Throws InputError that names the argument, the row and the node.
std::vector<NodeId> tours_of(const Integers& array, std::size_t num_nodes, const std::string& argument);

/// The same for beginnings of tours: different nodes of 0 .. num_nodes - 1.
std::vector<NodeId> prefixes_of(const Integers& array, std::size_t num_nodes, const std::string& argument);

/// A new array of node numbers.
Integers to_array(std::span<const NodeId> nodes);

/// B, S and N of points (N, 2) with tours (N) or (S, N), or of points (B, N, 2) with tours (B, N) or (B, S, N).
struct BatchShape {
  std::size_t instances;
  std::size_t tours_each;
  std::size_t nodes;
};
/// Throws InputError if they do not fit.
BatchShape batch_shape(const Doubles& points, const Integers& tours);

/// The shape of an array without its last `dropped` dimensions, for a new one.
std::vector<py::ssize_t> shape_of(const py::array& array, py::ssize_t dropped = 0);

/// One dimension of an array.
inline std::size_t dim(const py::array& array, py::ssize_t axis) {
  return static_cast<std::size_t>(array.shape(axis));
}

}  // namespace puretour::python
