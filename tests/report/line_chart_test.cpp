// SPDX-License-Identifier: MIT
#include "puretour/report/line_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "puretour/base/error.h"
#include "support/xml.h"

namespace puretour {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LineChart, ShowsEveryPointOfEverySeriesWithItsValue) {
  const std::vector<ChartPanel> panels = {
      {"left", {{"a", {1, 2, 3}, {10, 20, 30}}, {"b", {1, 2}, {5, 25}}}},
      {"right <&>", {{"a", {1, 3}, {0, 40}}}},
  };
  ChartOptions options;
  options.title = "two \"panels\"";
  const std::string svg = line_chart_svg(panels, options);
  EXPECT_NO_THROW(test::XmlReader(svg).read());
  EXPECT_EQ(occurrences(svg, "</title></path>"), 7U) << "a tooltip for each point";
  EXPECT_NE(svg.find("a: 3, 30"), std::string::npos);
  EXPECT_NE(svg.find("right &lt;&amp;&gt;"), std::string::npos);
}

TEST(LineChart, PutsPointsWhereTheAxesSay) {
  ChartOptions options;
  options.x.least = 0;
  options.x.most = 10;
  options.y.logarithmic = true;
  options.y.least = 1;
  options.y.most = 100;
  // In the middle of both axes: 5 of 10, and 10 on a logarithmic axis from 1 to 100.
  const std::string svg = line_chart_svg(std::vector<ChartPanel>{{"", {{"a", {5}, {10}}}}}, options);
  EXPECT_NE(svg.find("M165.0,105.0"), std::string::npos) << svg;
}

TEST(LineChart, LeavesOutWhatCannotBeDrawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ChartOptions options;
  options.y.logarithmic = true;
  const std::string svg =
      line_chart_svg(std::vector<ChartPanel>{{"", {{"a", {1, 2, 3, 4}, {1, 0, nan, 100}}}}}, options);
  EXPECT_EQ(occurrences(svg, "</title></path>"), 2U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(LineChart, LogarithmicAxesWithinADecadeHaveTicks) {
  ChartOptions options;
  options.y.logarithmic = true;
  const std::string svg = line_chart_svg(std::vector<ChartPanel>{{"", {{"a", {1, 2}, {0.77, 0.84}}}}}, options);
  for (const char* label : {">0.78<", ">0.8<", ">0.82<", ">0.84<"}) EXPECT_EQ(occurrences(svg, label), 1U) << label;
}

TEST(LineChart, DrawsASinglePoint) {
  const std::string svg = line_chart_svg(std::vector<ChartPanel>{{"", {{"a", {0}, {0}}}}}, {});
  EXPECT_EQ(occurrences(svg, "</title></path>"), 1U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChart, MarksMayStandWithoutALine) {
  const std::vector<ChartPanel> panels = {{"", {{"marks", {1, 2}, {1, 2}, false}}}};
  const std::string svg = line_chart_svg(panels, {});
  EXPECT_EQ(occurrences(svg, "</title></path>"), 2U);
  EXPECT_EQ(occurrences(svg, "stroke-width=\"2\""), 0U) << "neither in the panel nor in the legend";
}

TEST(LineChart, ShadesIntervals) {
  ChartOptions options;
  options.x.least = 0;
  options.x.most = 10;
  options.y.least = 0;
  options.y.most = 10;
  std::vector<ChartPanel> panels = {{"", {{"a", {0, 10}, {5, 5}, true, {0, 5}, {10, 5}}}}};
  // The plot is 330 wide and 210 high: a triangle from the left side to the middle of the right one.
  EXPECT_NE(line_chart_svg(panels, options).find("M0.0,0.0L330.0,105.0L330.0,105.0L0.0,210.0Z"), std::string::npos);
  // Axes without given ends have room for the intervals.
  EXPECT_NE(line_chart_svg(panels, {}).find(">10</text>"), std::string::npos);
  panels[0].series[0].low.pop_back();
  EXPECT_THROW(line_chart_svg(panels, {}), InputError);
}

TEST(LineChart, TitleAndLegendStayInsideThePicture) {
  std::vector<ChartPanel> panels(1);
  for (int i = 0; i < 8; ++i) panels[0].series.push_back({"a name of some length " + std::to_string(i), {1}, {1}});
  ChartOptions options;
  options.title = std::string(80, 't');
  const std::string svg = line_chart_svg(panels, options);
  const auto number_after = [&](const std::string& key, std::size_t from) {
    return std::stod(svg.substr(svg.find(key, from) + key.size()));
  };
  const double width = number_after("width=\"", 0);
  EXPECT_GT(width, 80 * 9);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "a name of some length " + std::to_string(i);
    const std::size_t text = svg.rfind("<text", svg.find(">" + name + "<"));
    EXPECT_LT(number_after("x=\"", text) + 6.5 * static_cast<double>(name.size()), width) << name;
  }
}

TEST(LineChart, RefusesWhatMakesNoSense) {
  EXPECT_THROW(line_chart_svg(std::vector<ChartPanel>{}, {}), InputError);
  EXPECT_THROW(line_chart_svg(std::vector<ChartPanel>{{"", {{"a", {1, 2}, {1}}}}}, {}), InputError);
  std::vector<ChartPanel> many(1);
  for (int i = 0; i < 9; ++i) many[0].series.push_back({std::to_string(i), {1}, {1}});
  EXPECT_THROW(line_chart_svg(many, {}), InputError);
}

}  // namespace
}  // namespace puretour
