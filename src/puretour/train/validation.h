// How good a network is while it is trained: greedy tours of fixed instances with known optima.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "puretour/base/deadline.h"
#include "puretour/infer/policy.h"
#include "puretour/tour/sample.h"
#include "puretour/train/recipe.h"

namespace puretour::train {

/// Uniform instances with optimal tours (the reference solver's). A long job: about a minute for 1000 of 100 nodes.
/// Throws InputError if the deadline expires.
std::vector<Sample> make_validation_set(const Recipe& recipe, int threads, bool quiet, const Deadline& deadline);

struct Validation {
  double length = 0;  // mean
  double gap = 0;     // mean excess over the optimum
  double proportion_zero = 0;
  double mean_order = 0;
  double mean_positive_order = 0;
};

Validation validate(const Policy& policy, const std::vector<Sample>& set, int threads);

}  // namespace puretour::train
