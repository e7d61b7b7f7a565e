// SPDX-License-Identifier: MIT
#include "puretour/report/evaluation_figures.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "puretour/evaluate/summary.h"
#include "puretour/report/line_chart.h"

namespace puretour {

std::optional<std::string> gaps_svg(std::span<const EvaluatedSet> sets, std::span<const EvaluatedSolver> solvers) {
  constexpr std::size_t kMaxSolvers = 8;  // more cannot be told apart
  constexpr double kLeastGap = 1e-3;      // smaller ones would press all others together on a logarithmic axis
  std::vector<SummaryRow> rows = summarise(sets, solvers);
  std::erase_if(rows, [&](const SummaryRow& row) {
    return !sets[row.set].set.distribution || !row.gap || row.gap->mean < kLeastGap;
  });
  std::set<std::size_t> drawn;
  for (const SummaryRow& row : rows) drawn.insert(row.solver);
  while (drawn.size() > kMaxSolvers) drawn.erase(std::prev(drawn.end()));
  std::erase_if(rows, [&](const SummaryRow& row) { return !drawn.contains(row.solver); });
  if (rows.empty()) return {};
  std::sort(rows.begin(), rows.end(), [&](const SummaryRow& a, const SummaryRow& b) {
    return std::pair(a.solver, sets[a.set].set.scale) < std::pair(b.solver, sets[b.set].set.scale);
  });
  std::vector<ChartPanel> panels;
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kClustered, Distribution::kExplosion, Distribution::kImplosion}) {
    ChartPanel panel{std::string(distribution_name(distribution)), {}};
    for (const SummaryRow& row : rows) {
      if (sets[row.set].set.distribution != distribution) continue;
      const std::string& name = solvers[row.solver].name;
      if (panel.series.empty() || panel.series.back().name != name) panel.series.push_back({name, {}, {}});
      panel.series.back().x.push_back(static_cast<double>(sets[row.set].set.scale));
      panel.series.back().y.push_back(100 * row.gap->mean);
    }
    if (!panel.series.empty()) panels.push_back(std::move(panel));
  }
  ChartOptions options;
  options.title = "Gap to the reference tours, %";
  options.x.label = "nodes";
  options.x.logarithmic = true;
  options.y.logarithmic = true;
  return line_chart_svg(panels, options);
}

}  // namespace puretour
