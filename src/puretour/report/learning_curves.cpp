// SPDX-License-Identifier: MIT
#include "puretour/report/learning_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/report/line_chart.h"

namespace puretour {

namespace {

// Calls `use` with the object of every line.
template <typename Use>
void for_each_line(std::string_view lines, const std::string& source, std::string_view what, Use use) {
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    try {
      use(nlohmann::json::parse(line));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("{}:{}: this is no line of a {} ({})", source, number, what, error.what()));
    }
  }
}

double minutes_of(const nlohmann::json& line) {
  if (line.contains("cpu_seconds")) {
    return line.at("cpu_seconds").get<double>() / (60 * line.at("threads").get<double>());
  }
  if (line.contains("wall_seconds")) return line.at("wall_seconds").get<double>() / 60;
  double seconds = 0;
  for (const auto& phase : line.at("seconds")) seconds += phase.get<double>();
  return seconds / 60;
}

}  // namespace

LearningCurve parse_learning_curve(std::string_view log, const std::string& name, const std::string& source) {
  LearningCurve curve;
  curve.name = name;
  for_each_line(log, source, "training log", [&](const nlohmann::json& values) {
    if (!values.contains("validation_step")) return;
    curve.steps.push_back(values.at("validation_step"));
    curve.instances.push_back(values.at("instances"));
    curve.gap.push_back(100 * values.at("gap").get<double>());
    curve.prop0.push_back(values.at("prop0"));
    curve.apo_all.push_back(values.at("apo_all"));
    curve.apo_non0.push_back(values.at("apo_non0"));
  });
  if (curve.gap.empty()) throw InputError(fmt::format("{}: there is no validation in this log yet", source));
  return curve;
}

void add_minutes(LearningCurve& curve, std::string_view timing, const std::string& source) {
  curve.minutes.assign(curve.steps.size(), 0);
  for_each_line(timing, source, "timing file", [&](const nlohmann::json& values) {
    const double step = values.at("step");
    const double minutes = minutes_of(values);
    for (std::size_t i = 0; i < curve.steps.size(); ++i) {
      if (curve.steps[i] >= step) curve.minutes[i] = minutes;
    }
  });
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

std::string learning_times_svg(std::span<const LearningCurve> curves) {
  ChartPanel panel{"Gap of greedy tours, %", {}};
  for (const LearningCurve& curve : curves) {
    if (curve.minutes.size() != curve.gap.size()) {
      throw InputError(fmt::format("{}: there is no timing.jsonl that tells how long training took", curve.name));
    }
    ChartSeries series{curve.name, {}, {}};
    for (std::size_t i = 0; i < curve.gap.size(); ++i) {
      if (curve.minutes[i] <= 0) continue;  // the untrained network
      series.x.push_back(curve.minutes[i]);
      series.y.push_back(curve.gap[i]);
    }
    panel.series.push_back(std::move(series));
  }
  ChartOptions options;
  options.title = "Learning against time";
  options.x.label = "minutes of training";
  options.x.logarithmic = true;
  options.y.logarithmic = true;
  options.columns = 1;
  return line_chart_svg(std::span(&panel, 1), options);
}

}  // namespace puretour
