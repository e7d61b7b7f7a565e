// SPDX-License-Identifier: MIT
#include "puretour/solve/initial_tour.h"

#include <fmt/format.h>

#include "puretour/base/error.h"

namespace puretour {

void check_initial_tour(const Instance& instance, const SolveOptions& options) {
  if (options.initial && options.initial->size() != instance.size()) {
    throw InputError(
        fmt::format("the initial tour has {} nodes, the instance {}", options.initial->size(), instance.size()));
  }
  if (options.initial) {
    check_contains_fixed_edges(options.initial->order(), instance.fixed_edges(), "the initial tour");
  }
}

void keep_initial_tour_if_shorter(const Instance& instance, const SolveOptions& options, SolveResult& result) {
  if (!options.initial) return;
  const double initial_length = tour_length(instance, *options.initial);
  if (initial_length >= result.length) return;
  result.tour = *options.initial;
  result.length = initial_length;
}

}  // namespace puretour
