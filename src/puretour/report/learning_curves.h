// Learning curves of training runs: how the gap and the purity of greedy tours change with the instances seen.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace puretour {

struct LearningCurve {
  std::string name;
  std::vector<double> steps;
  std::vector<double> instances;  // seen so far
  std::vector<double> minutes;    // of all threads of the run, so far; empty without a timing file
  std::vector<double> gap;        // in per cent
  std::vector<double> prop0;
  std::vector<double> apo_all;
  std::vector<double> apo_non0;
};

/// The validations in the log of a run (JSON lines). Throws InputError "SOURCE:LINE: ..." for anything else than JSON,
/// and if there is no validation.
LearningCurve parse_learning_curve(std::string_view log, const std::string& name, const std::string& source);

/// Adds the minutes by the timing file of the run (JSON lines): processor time divided by the number of threads, which is
/// what the run takes alone on a machine; of older runs, which do not say it, the time by the clock.
void add_minutes(LearningCurve& curve, std::string_view timing, const std::string& source);

/// Four panels: gap (logarithmic), Prop-0, APO(all), APO(non-0), against the instances seen. Up to eight runs.
std::string learning_curves_svg(std::span<const LearningCurve> curves);

/// The gap against the minutes that training took. Throws InputError for a run without minutes.
std::string learning_times_svg(std::span<const LearningCurve> curves);

}  // namespace puretour
