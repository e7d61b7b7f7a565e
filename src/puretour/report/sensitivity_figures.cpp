// SPDX-License-Identifier: MIT
#include "puretour/report/sensitivity_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "puretour/report/line_chart.h"

namespace puretour {
namespace {

constexpr std::array<const char*, 4> kMetrics = {"alpha", "beta", "Prop-0", "APO(all)"};

void add_row(std::span<ChartPanel> panels, const std::string& series_name, bool has_line, const SensitivityRow& row) {
  const auto add = [&](ChartPanel& panel, double value) {
    auto series = std::find_if(panel.series.begin(), panel.series.end(),
                               [&](const ChartSeries& s) { return s.name == series_name; });
    if (series == panel.series.end()) {
      panel.series.push_back({series_name, {}, {}, has_line});
      series = panel.series.end() - 1;
    }
    series->x.push_back(100 * row.mean_excess);
    series->y.push_back(value);
  };
  if (row.law.fit) {
    add(panels[0], row.law.fit->alpha);
    add(panels[1], row.law.fit->beta);
  }
  add(panels[2], row.law.pooled.proportion_zero());
  add(panels[3], row.law.pooled.mean_order());
}

// A panel for each metric and scale.
template <typename NameOf, typename IsShown>
std::string chart(std::span<const SensitivityRow> rows, const std::string& title, bool has_lines, NameOf name_of,
                  IsShown is_shown) {
  std::vector<std::size_t> scales;
  std::vector<ChartPanel> panels;
  for (const SensitivityRow& row : rows) {
    if (!is_shown(row)) continue;
    if (scales.empty() || scales.back() != row.law.type.scale) {
      scales.push_back(row.law.type.scale);
      for (const char* metric : kMetrics) panels.push_back({fmt::format("{}, {} nodes", metric, scales.back()), {}});
    }
    add_row(std::span(panels).last(kMetrics.size()), name_of(row), has_lines, row);
  }
  ChartOptions options;
  options.title = title;
  options.x.label = "mean excess over the optimal length (%)";
  options.x.least = 0;
  options.share_y = false;
  options.columns = kMetrics.size() / 2;
  return line_chart_svg(panels, options);
}

}  // namespace

std::string sensitivity_svg(std::span<const SensitivityRow> rows) {
  return chart(
      rows, "The law of tours that are not optimal", true,
      [](const SensitivityRow& row) { return std::string(distribution_name(row.law.type.distribution)); },
      [](const SensitivityRow& row) { return row.group.target || row.group.name == "optimal"; });
}

std::string constructions_svg(std::span<const SensitivityRow> rows) {
  return chart(
      rows, "The law of well-known constructions, a mark for each distribution", false,
      [](const SensitivityRow& row) { return row.group.name; },
      [](const SensitivityRow& row) { return !row.group.target && row.group.name != "random"; });
}

}  // namespace puretour
