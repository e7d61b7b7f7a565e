// SPDX-License-Identifier: MIT
#include "puretour/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <utility>

#include "puretour/base/error.h"

namespace puretour {
namespace {

// Layout in SVG units.
constexpr double kPlotWidth = 330;
constexpr double kPlotHeight = 210;
constexpr double kLeft = 64;
constexpr double kRight = 26;  // room for half of the last number below
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kPanelWidth = kLeft + kPlotWidth + kRight;
constexpr double kPanelHeight = kTop + kPlotHeight + kBottom;
constexpr double kTitleHeight = 40;
constexpr double kLegendHeight = 34;  // of the first line of the legend
constexpr double kLegendLine = 20;    // of each further one
constexpr double kLegendText = 34;    // from the begin of an entry to its name
constexpr double kSide = 16;          // left and right of title and legend
// Room for a character of the title and of the legend; fonts differ, so rather too much.
constexpr double kTitleCharacter = 9.5;
constexpr double kLegendCharacter = 7;

// Okabe and Ito's colours, which are told apart with any colour vision; black and yellow replaced for dark and light
// paper.
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#666666", "#8c510a"};
constexpr std::array<const char*, 8> kDashes = {"", "7 3", "2 3", "9 3 2 3", "", "7 3", "2 3", "9 3 2 3"};
constexpr int kNumMarkers = 4;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// One axis: from values to places between 0 and 1.
class Scale {
 public:
  Scale(const ChartAxis& axis, double least, double most) : logarithmic_(axis.logarithmic) {
    least = axis.least.value_or(least);
    most = axis.most.value_or(most);
    if (logarithmic_) {
      low_ = std::log10(least);
      high_ = std::log10(most);
    } else {
      low_ = least;
      high_ = most;
    }
    if (!(high_ > low_)) {  // a single value: put it into the middle
      low_ -= logarithmic_ || low_ == 0 ? 1 : std::abs(low_) / 2;
      high_ += logarithmic_ || high_ == 0 ? 1 : std::abs(high_) / 2;
    }
    make_ticks(axis);
  }

  [[nodiscard]] double place(double value) const {
    return ((logarithmic_ ? std::log10(value) : value) - low_) / (high_ - low_);
  }
  [[nodiscard]] bool shows(double value) const {
    if (!std::isfinite(value) || (logarithmic_ && value <= 0)) return false;
    const double p = place(value);
    return p >= -1e-9 && p <= 1 + 1e-9;
  }
  [[nodiscard]] std::span<const double> ticks() const { return ticks_; }

 private:
  // About five steps of 1, 2 or 5 times a power of ten.
  static double even_step(double low, double high) {
    const double rough = (high - low) / 5;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      if (factor * power >= 0.999 * rough) step = factor * power;
    }
    return step;
  }

  void make_ticks(const ChartAxis& axis) {
    if (logarithmic_) {
      const bool few_decades = high_ - low_ < 3;
      for (auto decade = static_cast<int>(std::floor(low_)) - 1; decade <= static_cast<int>(std::ceil(high_));
           ++decade) {
        for (const double factor : {1.0, 2.0, 5.0}) {
          const double tick = factor * std::pow(10.0, decade);
          if ((factor == 1 || few_decades) && shows(tick)) ticks_.push_back(tick);
        }
      }
      if (ticks_.size() >= 3) return;
      // A part of a decade: even steps, as on a linear axis.
      ticks_.clear();
      const double step = even_step(std::pow(10.0, low_), std::pow(10.0, high_));
      for (auto k = static_cast<long>(std::floor(std::pow(10.0, low_) / step)); ticks_.size() < 20; ++k) {
        const double tick = static_cast<double>(k) * step;
        if (tick > std::pow(10.0, high_) * (1 + 1e-9)) break;
        if (shows(tick)) ticks_.push_back(tick);
      }
      return;
    }
    const double step = even_step(low_, high_);
    // Without given ends the axis is widened to whole steps.
    if (!axis.least) low_ = std::floor(low_ / step + 1e-9) * step;
    if (!axis.most) high_ = std::ceil(high_ / step - 1e-9) * step;
    for (auto k = static_cast<long>(std::ceil(low_ / step - 1e-9));
         static_cast<double>(k) * step <= high_ + 1e-9 * step; ++k) {
      ticks_.push_back(static_cast<double>(k) * step);
    }
  }

  bool logarithmic_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

class Drawing {
 public:
  Drawing(std::span<const ChartPanel> panels, const ChartOptions& options)
      : panels_(panels),
        options_(options),
        names_(names_of(panels)),
        columns_(std::clamp<std::size_t>(options.columns, 1, std::max<std::size_t>(1, panels.size()))),
        width_(std::max(static_cast<double>(columns_) * kPanelWidth,
                        2 * kSide + kTitleCharacter * static_cast<double>(options.title.size()))),
        x_(make_scale(panels, {&ChartSeries::x}, options.x)) {
    place_legend();
    for (std::size_t p = 0; p < panels.size(); ++p) {
      ys_.push_back(make_scale(options.share_y ? panels : panels.subspan(p, 1),
                               {&ChartSeries::y, &ChartSeries::low, &ChartSeries::high}, options.y));
    }
  }

  std::string svg() {
    const std::size_t rows = (panels_.size() + columns_ - 1) / columns_;
    const double panels_top = kTitleHeight + kLegendHeight + legend_.back().second;
    const double height = panels_top + static_cast<double>(rows) * kPanelHeight;
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
        R"(font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="#222222">)",
        width_, height);
    put(R"(<title>{}</title>)", escaped(options_.title));
    put(R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
    put(R"(<text x="{:.0f}" y="26" font-size="17" font-weight="600">{}</text>)", kSide, escaped(options_.title));
    draw_legend();
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      const std::size_t row = p / columns_;
      const std::size_t column = p % columns_;
      put(R"svg(<g transform="translate({:.0f} {:.0f})">)svg", static_cast<double>(column) * kPanelWidth + kLeft,
          panels_top + static_cast<double>(row) * kPanelHeight + kTop);
      draw_panel(panels_[p], ys_[p]);
      put("</g>");
    }
    put("</svg>");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  static std::vector<std::string> names_of(std::span<const ChartPanel> panels) {
    std::vector<std::string> names;
    for (const ChartPanel& panel : panels) {
      for (const ChartSeries& series : panel.series) {
        if (series.x.size() != series.y.size()) {
          throw InputError(
              fmt::format("chart: series '{}' has {} x and {} y", series.name, series.x.size(), series.y.size()));
        }
        if (series.low.size() != series.high.size() || (!series.low.empty() && series.low.size() != series.y.size())) {
          throw InputError(fmt::format("chart: series '{}' has {} y, {} lower and {} upper ends of intervals",
                                       series.name, series.y.size(), series.low.size(), series.high.size()));
        }
        if (std::find(names.begin(), names.end(), series.name) == names.end()) names.push_back(series.name);
      }
    }
    if (names.size() > kColours.size()) {
      throw InputError(
          fmt::format("chart: {} different series, at most {} can be told apart", names.size(), kColours.size()));
    }
    return names;
  }

  [[nodiscard]] Scale make_scale(std::span<const ChartPanel> panels,
                                 std::initializer_list<std::vector<double> ChartSeries::*> members,
                                 const ChartAxis& axis) const {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const ChartPanel& panel : panels) {
      for (const ChartSeries& series : panel.series) {
        for (const auto member : members) {
          for (const double value : series.*member) {
            if (!std::isfinite(value) || (axis.logarithmic && value <= 0)) continue;
            least = std::min(least, value);
            most = std::max(most, value);
          }
        }
      }
    }
    if (!(least <= most)) throw InputError(fmt::format("chart '{}': nothing to draw", options_.title));
    return Scale(axis, least, most);
  }

  [[nodiscard]] std::size_t style_of(const std::string& name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  // A circle, square, diamond or triangle.
  void draw_marker(std::size_t style, double x, double y, const std::string& tooltip) {
    const std::string end = tooltip.empty() ? "/>" : fmt::format("><title>{}</title></path>", escaped(tooltip));
    constexpr std::array<const char*, kNumMarkers> kShapes = {"m-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
                                                              "m-3,-3h6v6h-6z", "m0,-4.3l4.3,4.3l-4.3,4.3l-4.3,-4.3z",
                                                              "m0,-4.2l3.9,6.9h-7.8z"};
    put(R"(<path d="M{:.1f},{:.1f}{}" fill="{}"{})", x, y, kShapes[style % kNumMarkers], kColours[style], end);
  }

  // Where each entry of the legend begins, below its first line; a line that is full is followed by another.
  void place_legend() {
    double x = kSide;
    double y = 0;
    for (const std::string& name : names_) {
      const double width = kLegendText + kLegendCharacter * static_cast<double>(name.size());
      if (x > kSide && x + width > width_ - kSide) {
        x = kSide;
        y += kLegendLine;
      }
      legend_.emplace_back(x, y);
      x += width + 22;
    }
  }

  [[nodiscard]] bool has_line(const std::string& name) const {
    return std::any_of(panels_.begin(), panels_.end(), [&](const ChartPanel& panel) {
      return std::any_of(panel.series.begin(), panel.series.end(),
                         [&](const ChartSeries& series) { return series.name == name && series.has_line; });
    });
  }

  void draw_legend() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const double x = legend_[i].first;
      const double y = kTitleHeight + 10 + legend_[i].second;
      if (has_line(names_[i])) {
        put(R"(<line x1="{:.0f}" y1="{:.0f}" x2="{:.0f}" y2="{:.0f}" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>)",
            x, y, x + 28, y, kColours[i], kDashes[i]);
      }
      draw_marker(i, x + 14, y, "");
      put(R"(<text x="{:.0f}" y="{:.0f}">{}</text>)", x + kLegendText, y + 4, escaped(names_[i]));
    }
  }

  void draw_panel(const ChartPanel& panel, const Scale& y_scale) {
    put(R"(<text x="0" y="-10" font-size="13" font-weight="600">{}</text>)", escaped(panel.title));
    for (const double tick : x_.ticks()) {
      const double x = x_.place(tick) * kPlotWidth;
      put(R"(<line x1="{0:.1f}" y1="0" x2="{0:.1f}" y2="{1:.0f}" stroke="#e3e3e3"/>)", x, kPlotHeight);
      put(R"(<text x="{:.1f}" y="{:.0f}" text-anchor="middle">{:g}</text>)", x, kPlotHeight + 16, tick);
    }
    for (const double tick : y_scale.ticks()) {
      const double y = (1 - y_scale.place(tick)) * kPlotHeight;
      put(R"(<line x1="0" y1="{0:.1f}" x2="{1:.0f}" y2="{0:.1f}" stroke="#e3e3e3"/>)", y, kPlotWidth);
      put(R"(<text x="-7" y="{:.1f}" text-anchor="end">{:g}</text>)", y + 4, tick);
    }
    put(R"(<path d="M0,0V{:.0f}H{:.0f}" fill="none" stroke="#555555"/>)", kPlotHeight, kPlotWidth);
    put(R"(<text x="{:.0f}" y="{:.0f}" text-anchor="middle">{}</text>)", kPlotWidth / 2, kPlotHeight + 34,
        escaped(options_.x.label));
    put(R"svg(<text transform="translate(-48 {:.0f}) rotate(-90)" text-anchor="middle">{}</text>)svg", kPlotHeight / 2,
        escaped(options_.y.label));
    for (const ChartSeries& series : panel.series) draw_band(series, y_scale);
    for (const ChartSeries& series : panel.series) draw_series(series, y_scale);
  }

  // Along the upper ends to the right, and back along the lower ones.
  void draw_band(const ChartSeries& series, const Scale& y_scale) {
    std::string path;
    const auto add = [&](double x, double y) {
      fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}", path.empty() ? "M" : "L", x_.place(x) * kPlotWidth,
                     (1 - y_scale.place(y)) * kPlotHeight);
    };
    const auto is_shown = [&](std::size_t i) {
      return x_.shows(series.x[i]) && y_scale.shows(series.low[i]) && y_scale.shows(series.high[i]);
    };
    for (std::size_t i = 0; i < series.high.size(); ++i) {
      if (is_shown(i)) add(series.x[i], series.high[i]);
    }
    for (std::size_t i = series.low.size(); i-- > 0;) {
      if (is_shown(i)) add(series.x[i], series.low[i]);
    }
    if (!path.empty()) {
      put(R"(<path d="{}Z" fill="{}" fill-opacity="0.18"/>)", path, kColours[style_of(series.name)]);
    }
  }

  void draw_series(const ChartSeries& series, const Scale& y_scale) {
    const std::size_t style = style_of(series.name);
    std::string path;
    std::vector<std::pair<double, double>> places;
    std::vector<std::string> tooltips;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!x_.shows(series.x[i]) || !y_scale.shows(series.y[i])) continue;
      const double x = x_.place(series.x[i]) * kPlotWidth;
      const double y = (1 - y_scale.place(series.y[i])) * kPlotHeight;
      fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}", path.empty() ? "M" : "L", x, y);
      places.emplace_back(x, y);
      tooltips.push_back(fmt::format("{}: {:g}, {:.4g}", series.name, series.x[i], series.y[i]));
    }
    if (places.empty()) return;
    if (series.has_line) {
      put(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round" stroke-dasharray="{}"/>)",
          path, kColours[style], kDashes[style]);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      draw_marker(style, places[i].first, places[i].second, tooltips[i]);
    }
  }

  std::span<const ChartPanel> panels_;
  const ChartOptions& options_;
  std::vector<std::string> names_;
  std::size_t columns_;
  double width_;
  std::vector<std::pair<double, double>> legend_;  // x and y of each name
  Scale x_;
  std::vector<Scale> ys_;  // by panel
  std::string out_;
};

}  // namespace

std::string line_chart_svg(std::span<const ChartPanel> panels, const ChartOptions& options) {
  return Drawing(panels, options).svg();
}

}  // namespace puretour
