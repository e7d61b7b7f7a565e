// The parts of the extension module, one for each idea.
// SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/pybind11.h>

namespace puretour::python {

void bind_instances(pybind11::module_& module);
void bind_solve(pybind11::module_& module);
void bind_purity(pybind11::module_& module);
void bind_law(pybind11::module_& module);
void bind_models(pybind11::module_& module);

}  // namespace puretour::python
