// puretour._core: the C++ library as a Python module. The public names are those of the package, see
// puretour/__init__.py. SPDX-License-Identifier: MIT
#include <pybind11/pybind11.h>

#include "bindings.h"
#include "puretour/base/build_info.h"
#include "puretour/base/error.h"
#include "puretour/base/isa.h"
#include "puretour/base/parallel.h"

namespace py = pybind11;

namespace {

struct Exceptions {
  py::object error;
  py::object input;
  py::object model;
};

py::object new_exception(const char* name, const char* doc, const py::object& bases) {
  PyObject* made = PyErr_NewExceptionWithDoc(name, doc, bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

// Lives as long as the process: a translator may run until the very end.
const Exceptions& exceptions() {
  static const auto* const all = [] {
    auto* made = new Exceptions;
    made->error = new_exception("puretour.Error", "Base of all exceptions of PureTour.",
                                py::reinterpret_borrow<py::object>(PyExc_Exception));
    const py::tuple bases = py::make_tuple(made->error, py::reinterpret_borrow<py::object>(PyExc_ValueError));
    made->input = new_exception(
        "puretour.InputError",
        "An argument or a file is wrong; the message says which, what was seen and what is wanted.", bases);
    made->model = new_exception("puretour.ModelError", "A file of a network is damaged or does not fit.", bases);
    return made;
  }();
  return *all;
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const puretour::InputError& error) {
    py::set_error(exceptions().input, error.what());
  } catch (const puretour::ModelError& error) {
    py::set_error(exceptions().model, error.what());
  } catch (const puretour::Error& error) {
    py::set_error(exceptions().error, error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ library of PureTour; use the package puretour instead.";
  module.attr("Error") = exceptions().error;
  module.attr("InputError") = exceptions().input;
  module.attr("ModelError") = exceptions().model;
  py::register_local_exception_translator(translate);
  module.def("build_info", [] {
    const puretour::BuildInfo info = puretour::build_info();
    py::dict result;
    result["version"] = info.version;
    result["commit"] = info.commit;
    result["build_type"] = info.build_type;
    result["compiler"] = info.compiler;
    result["cpu"] = puretour::cpu_name();
    result["instructions"] = std::string(puretour::isa_name(puretour::active_isa()));
    result["threads"] = puretour::resolve_threads(0);
    return result;
  });
  puretour::python::bind_instances(module);
  puretour::python::bind_solve(module);
  puretour::python::bind_purity(module);
  puretour::python::bind_law(module);
  puretour::python::bind_models(module);
}
