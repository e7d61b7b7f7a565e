// SPDX-License-Identifier: MIT
#include "puretour/report/law_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "puretour/law/paper_table.h"
#include "puretour/report/line_chart.h"

namespace puretour {
namespace {

std::vector<Distribution> distributions_of(std::span<const LawRow> rows) {
  std::vector<Distribution> result;
  for (const LawRow& row : rows) {
    if (std::find(result.begin(), result.end(), row.type.distribution) == result.end()) {
      result.push_back(row.type.distribution);
    }
  }
  return result;
}

// At most eight, spread evenly from the smallest to the largest.
std::set<std::size_t> scales_to_draw(std::span<const LawRow> rows) {
  std::set<std::size_t> all;
  for (const LawRow& row : rows) all.insert(row.type.scale);
  constexpr std::size_t kMax = 8;
  if (all.size() <= kMax) return all;
  const std::vector<std::size_t> sorted(all.begin(), all.end());
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < kMax; ++i) chosen.insert(sorted[i * (sorted.size() - 1) / (kMax - 1)]);
  return chosen;
}

void add_point(ChartSeries& series, double x, double y) {
  series.x.push_back(x);
  series.y.push_back(y);
}

}  // namespace

std::string law_curves_svg(std::span<const LawRow> rows) {
  const std::set<std::size_t> scales = scales_to_draw(rows);
  std::vector<ChartPanel> panels;
  for (const Distribution distribution : distributions_of(rows)) {
    ChartPanel panel{std::string(distribution_name(distribution)), {}};
    for (const LawRow& row : rows) {
      if (row.type.distribution != distribution || !scales.contains(row.type.scale)) continue;
      ChartSeries series{fmt::format("{} nodes", row.type.scale), {}, {}};
      const std::vector<double> shares = order_shares(row.pooled);
      for (std::size_t k = 0; k < shares.size(); ++k) add_point(series, static_cast<double>(k), shares[k]);
      panel.series.push_back(std::move(series));
    }
    panels.push_back(std::move(panel));
  }
  ChartOptions options;
  options.title = "The Purity Law: share of edges by purity order";
  options.x.label = "purity order k";
  options.y = {.label = "share of edges", .logarithmic = true, .least = {}, .most = 1};
  return line_chart_svg(panels, options);
}

std::string law_metrics_svg(std::span<const LawRow> rows) {
  std::vector<ChartPanel> panels = {{"Prop-0", {}}, {"APO(all)", {}}, {"APO(non-0)", {}}};
  for (const Distribution distribution : distributions_of(rows)) {
    for (ChartPanel& panel : panels) panel.series.push_back({std::string(distribution_name(distribution)), {}, {}});
    for (const LawRow& row : rows) {
      if (row.type.distribution != distribution || row.pooled.num_edges() == 0) continue;
      const auto scale = static_cast<double>(row.type.scale);
      add_point(panels[0].series.back(), scale, row.pooled.proportion_zero());
      add_point(panels[1].series.back(), scale, row.pooled.mean_order());
      if (const auto order = row.pooled.mean_positive_order()) add_point(panels[2].series.back(), scale, *order);
    }
  }
  ChartOptions options;
  options.title = "Purity of near-optimal tours over the scale";
  options.x.label = "nodes";
  options.share_y = false;
  options.columns = 3;
  return line_chart_svg(panels, options);
}

std::string law_fits_svg(std::span<const LawRow> rows) {
  std::vector<ChartPanel> alphas;
  std::vector<ChartPanel> betas;
  for (const Distribution distribution : distributions_of(rows)) {
    for (const bool is_alpha : {true, false}) {
      ChartPanel panel{fmt::format("{}: {}", is_alpha ? "alpha" : "beta", distribution_name(distribution)),
                       {{"ours, with 95 % interval", {}, {}}, {"paper", {}, {}}}};
      for (const LawRow& row : rows) {
        if (row.type.distribution != distribution || !row.fit) continue;
        const auto scale = static_cast<double>(row.type.scale);
        add_point(panel.series[0], scale, is_alpha ? row.fit->alpha : row.fit->beta);
        if (const PaperFit* paper = find_paper_fit(row.type.scale, distribution)) {
          add_point(panel.series[1], scale, is_alpha ? paper->alpha : paper->beta);
        }
        // Without an interval (too few instances) the band has no width there.
        const double value = panel.series[0].y.back();
        const FitSpread at_value{0, value, value};
        const FitSpread spread = !row.spread ? at_value : is_alpha ? row.spread->alpha : row.spread->beta;
        panel.series[0].low.push_back(spread.low);
        panel.series[0].high.push_back(spread.high);
      }
      (is_alpha ? alphas : betas).push_back(std::move(panel));
    }
  }
  alphas.insert(alphas.end(), betas.begin(), betas.end());
  ChartOptions options;
  options.title = "Fits of the law with bootstrap intervals, and the paper's";
  options.x.label = "nodes";
  options.share_y = false;
  options.columns = std::max<std::size_t>(1, betas.size());
  return line_chart_svg(alphas, options);
}

}  // namespace puretour
