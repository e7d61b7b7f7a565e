// Line charts as SVG: a grid of panels that share axes, for curves that are to be compared.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace puretour {

struct ChartSeries {
  std::string name;  // equal names have equal colours in all panels
  std::vector<double> x;
  std::vector<double> y;  // as many as x
  bool has_line = true;   // else marks only
  // The ends of an interval around each y, shaded; empty: none.
  std::vector<double> low = {};
  std::vector<double> high = {};
};

struct ChartPanel {
  std::string title;
  std::vector<ChartSeries> series;
};

struct ChartAxis {
  std::string label;
  bool logarithmic = false;     // points at or below zero are left out
  std::optional<double> least;  // where the axis begins and ends; empty: where the data do
  std::optional<double> most;
};

struct ChartOptions {
  std::string title;
  ChartAxis x;
  ChartAxis y;
  bool share_y = true;      // one y axis for all panels; else each has its own
  std::size_t columns = 2;  // panels side by side
};

/// An SVG document. Panels share their axes, so that they can be compared at a glance; series differ in colour,
/// marker and dashes (readable in grey and without colour vision); markers carry tooltips. Values that are not finite
/// are left out. Throws InputError if a series has not as many x as y or ends of intervals, if there are more than
/// eight names, or if nothing is left to draw.
std::string line_chart_svg(std::span<const ChartPanel> panels, const ChartOptions& options);

}  // namespace puretour
