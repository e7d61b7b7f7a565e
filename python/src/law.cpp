// The exponential fit of the Purity Law.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "arrays.h"
#include "bindings.h"
#include "puretour/base/error.h"
#include "puretour/law/fit.h"

namespace puretour::python {
namespace {

py::object fit_dict(const std::optional<ExponentialFit>& fit) {
  if (!fit) return py::none();
  py::dict result;
  result["alpha"] = fit->alpha;
  result["beta"] = fit->beta;
  result["mean_squared_error"] = fit->mean_squared_error;
  result["r_squared"] = fit->r_squared;
  return result;
}

py::tuple spread_tuple(const FitSpread& spread) {
  return py::make_tuple(spread.low, spread.high);
}

// counts (B, K): edges of instance b with order k.
py::dict law_fit(const Integers& counts, int rounds, std::uint64_t seed) {
  if (counts.ndim() != 2) throw InputError(fmt::format("counts has shape {}; wanted: (B, K)", shape_text(counts)));
  std::vector<PurityHistogram> instances(dim(counts, 0));
  PurityHistogram pooled;
  for (std::size_t b = 0; b < instances.size(); ++b) {
    for (std::size_t k = 0; k < dim(counts, 1); ++k) {
      const std::int64_t count = counts.data()[b * dim(counts, 1) + k];
      if (count < 0) throw InputError(fmt::format("counts[{}, {}] is {}; wanted: 0 or more edges", b, k, count));
      if (count > 0) instances[b].add(static_cast<std::uint32_t>(k), static_cast<std::uint64_t>(count));
    }
    if (instances[b].num_edges() == 0) throw InputError(fmt::format("counts[{}] holds no edges", b));
    pooled.add(instances[b]);
  }
  if (pooled.num_edges() == 0) throw InputError("counts holds no edges");
  py::dict result;
  const std::vector<double> shares = order_shares(pooled);
  std::optional<ExponentialFit> linear;
  std::optional<ExponentialFit> logarithmic;
  std::optional<BootstrapResult> spread;
  {
    const py::gil_scoped_release released;
    linear = fit_exponential(shares);
    logarithmic = fit_log_linear(shares);
    if (instances.size() > 1 && rounds > 0) spread = bootstrap_fit(instances, rounds, seed);
  }
  result["shares"] = Doubles(static_cast<py::ssize_t>(shares.size()), shares.data());
  result["fit"] = fit_dict(linear);
  result["log_linear"] = fit_dict(logarithmic);
  result["alpha_interval"] = spread ? py::object(spread_tuple(spread->alpha)) : py::object(py::none());
  result["beta_interval"] = spread ? py::object(spread_tuple(spread->beta)) : py::object(py::none());
  return result;
}

}  // namespace

void bind_law(py::module_& module) {
  module.def("law_fit", &law_fit, py::arg("counts").noconvert(), py::arg("rounds"), py::arg("seed"));
}

}  // namespace puretour::python
