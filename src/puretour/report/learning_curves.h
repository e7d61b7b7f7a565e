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
  std::vector<double> instances;  // seen so far
  std::vector<double> gap;        // in per cent
  std::vector<double> prop0;
  std::vector<double> apo_all;
  std::vector<double> apo_non0;
};

/// The validations in the log of a run (JSON lines). Throws InputError "SOURCE:LINE: ..." for anything else than JSON,
/// and if there is no validation.
LearningCurve parse_learning_curve(std::string_view log, const std::string& name, const std::string& source);

/// Four panels: gap (logarithmic), Prop-0, APO(all), APO(non-0). Up to eight runs.
std::string learning_curves_svg(std::span<const LearningCurve> curves);

}  // namespace puretour
