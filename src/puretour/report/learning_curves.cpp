// SPDX-License-Identifier: MIT
#include "puretour/report/learning_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/report/line_chart.h"

namespace puretour {

LearningCurve parse_learning_curve(std::string_view log, const std::string& name, const std::string& source) {
  LearningCurve curve;
  curve.name = name;
  for (std::size_t number = 1; !log.empty(); ++number) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    try {
      const auto values = nlohmann::json::parse(line);
      if (!values.contains("validation_step")) continue;
      curve.instances.push_back(values.at("instances"));
      curve.gap.push_back(100 * values.at("gap").get<double>());
      curve.prop0.push_back(values.at("prop0"));
      curve.apo_all.push_back(values.at("apo_all"));
      curve.apo_non0.push_back(values.at("apo_non0"));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("{}:{}: this is no line of a training log ({})", source, number, error.what()));
    }
  }
  if (curve.gap.empty()) throw InputError(fmt::format("{}: there is no validation in this log yet", source));
  return curve;
}

std::string learning_curves_svg(std::span<const LearningCurve> curves) {
  std::vector<ChartPanel> panels = {
      {"Gap of greedy tours, %", {}}, {"Prop-0", {}}, {"APO(all)", {}}, {"APO(non-0)", {}}};
  for (const LearningCurve& curve : curves) {
    const std::vector<const std::vector<double>*> values = {&curve.gap, &curve.prop0, &curve.apo_all, &curve.apo_non0};
    for (std::size_t p = 0; p < panels.size(); ++p) {
      ChartSeries series{curve.name, {}, {}};
      for (std::size_t i = 0; i < curve.instances.size(); ++i) {
        if (curve.instances[i] <= 0) continue;  // the untrained network, far above everything that follows
        series.x.push_back(curve.instances[i]);
        series.y.push_back((*values[p])[i]);
      }
      panels[p].series.push_back(std::move(series));
    }
  }
  ChartOptions options;
  options.title = "Learning curves";
  options.x.label = "training instances seen";
  options.x.logarithmic = true;  // the first instances teach most
  options.y.logarithmic = true;
  options.share_y = false;
  return line_chart_svg(panels, options);
}

}  // namespace puretour
