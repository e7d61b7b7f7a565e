// SPDX-License-Identifier: MIT
#include "puretour/report/tour_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/geometry/disc.h"
#include "puretour/purity/tour_purity.h"

namespace puretour {
namespace {

// Layout in SVG units.
constexpr double kMapSide = 720;
constexpr double kMargin = 40;
constexpr double kPanelWidth = 300;
constexpr double kWidth = kMapSide + 2 * kMargin + kPanelWidth;
constexpr double kHeight = kMapSide + 2 * kMargin;
constexpr double kPanelX = kMapSide + 2 * kMargin;

// Orders 0, 1, 2 and "3 or more": told apart also without colour vision (lightness falls from step to step).
constexpr std::array<const char*, 4> kColours = {"#8fb0cf", "#eda100", "#d1491b", "#7b1060"};
constexpr std::array<const char*, 4> kLabels = {"order 0: pure", "order 1", "order 2", "order 3 or more"};

// Up to this many edges each is an element of its own, with a tooltip.
constexpr std::size_t kMaxTooltips = 5000;

std::size_t colour_class(std::uint32_t order) {
  return std::min<std::size_t>(order, kColours.size() - 1);
}

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
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

// Places the instance in the map, aspect ratio kept, y upwards.
class MapFrame {
 public:
  explicit MapFrame(std::span<const Point> points)
      : box_(bounding_box(points)),
        scale_(box_.width() > 0 || box_.height() > 0 ? kMapSide / std::max(box_.width(), box_.height()) : 1),
        left_(kMargin + (kMapSide - box_.width() * scale_) / 2),
        top_(kMargin + (kMapSide - box_.height() * scale_) / 2) {}
  [[nodiscard]] Point place(Point p) const {
    return {left_ + (p.x - box_.low.x) * scale_, top_ + (box_.high.y - p.y) * scale_};
  }

 private:
  Box box_;
  double scale_;
  double left_;
  double top_;
};

class Picture {
 public:
  Picture(const Instance& instance, const Tour& tour, std::span<const std::uint32_t> orders,
          const TourPictureOptions& options)
      : instance_(instance),
        tour_(tour),
        orders_(orders),
        options_(options),
        points_(instance.require_points("a picture")),
        frame_(points_) {
    histogram_.add(orders);
    // Thinner and smaller with more nodes, within what the eye can follow.
    const double spacing = kMapSide / std::sqrt(static_cast<double>(std::max<std::size_t>(points_.size(), 1)));
    stroke_ = std::clamp(spacing / 12, 0.4, 3.0);
    dot_ = std::clamp(spacing / 11, 0.3, 3.5);
  }

  std::string svg() {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" font-family=\"Helvetica, Arial, "
        "sans-serif\" font-size=\"14\" fill=\"#222\">\n",
        kWidth, kHeight);
    put("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    find_worst_edges();
    draw_circles();
    draw_edges();
    draw_nodes();
    draw_circle_labels();
    draw_panel();
    put("</svg>\n");
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  [[nodiscard]] Point node(std::size_t position) const {
    return points_[static_cast<std::size_t>(tour_[position % tour_.size()])];
  }

  void find_worst_edges() {
    worst_.resize(orders_.size());
    std::iota(worst_.begin(), worst_.end(), std::size_t{0});
    const std::size_t count = std::min(options_.num_circles, worst_.size());
    const auto worse = [this](std::size_t e, std::size_t f) {
      if (orders_[e] != orders_[f]) return orders_[e] > orders_[f];
      const double length_e = squared_distance(node(e), node(e + 1));
      const double length_f = squared_distance(node(f), node(f + 1));
      return length_e != length_f ? length_e > length_f : e < f;
    };
    std::partial_sort(worst_.begin(), worst_.begin() + static_cast<std::ptrdiff_t>(count), worst_.end(), worse);
    worst_.resize(count);
    // The circle of a pure edge shows nothing.
    while (!worst_.empty() && orders_[worst_.back()] == 0) worst_.pop_back();
  }

  void draw_circles() {
    for (const std::size_t e : worst_) {
      const Point a = frame_.place(node(e));
      const Point b = frame_.place(node(e + 1));
      const char* colour = kColours[colour_class(orders_[e])];
      put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" fill=\"{}\" fill-opacity=\"0.13\" stroke=\"{}\" "
          "stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>\n",
          (a.x + b.x) / 2, (a.y + b.y) / 2, std::sqrt(squared_distance(a, b)) / 2, colour, colour);
    }
  }

  void draw_edges() {
    // Pure edges first: the others lie on top.
    const bool tooltips = orders_.size() <= kMaxTooltips;
    for (std::size_t c = 0; c < kColours.size(); ++c) {
      const double width = stroke_ * (c == 0 ? 1.0 : 1.5);
      put("<g stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-linecap=\"round\" fill=\"none\">\n", kColours[c], width);
      std::string path;
      for (std::size_t e = 0; e < orders_.size(); ++e) {
        if (colour_class(orders_[e]) != c) continue;
        const Point a = frame_.place(node(e));
        const Point b = frame_.place(node(e + 1));
        if (tooltips) {
          put("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\"><title>{} to {}: order "
              "{}</title></line>\n",
              a.x, a.y, b.x, b.y, tour_[e] + 1, tour_[(e + 1) % tour_.size()] + 1, orders_[e]);
        } else {
          fmt::format_to(std::back_inserter(path), "M{:.1f} {:.1f}L{:.1f} {:.1f}", a.x, a.y, b.x, b.y);
        }
      }
      if (!path.empty()) put("<path d=\"{}\"/>\n", path);
      put("</g>\n");
    }
  }

  void draw_nodes() {
    put("<g fill=\"#333\">\n");
    for (const Point p : points_) {
      const Point q = frame_.place(p);
      put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\"/>\n", q.x, q.y, dot_);
    }
    put("</g>\n");
    // The nodes that make an edge impure.
    for (const std::size_t e : worst_) {
      for (const Point x : points_) {
        if (!inside_diametral_disc(node(e), node(e + 1), x)) continue;
        const Point q = frame_.place(x);
        put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" fill=\"#c00000\" stroke=\"white\" stroke-width=\"1\"/>\n",
            q.x, q.y, std::max(1.6 * dot_, 2.5));
      }
    }
  }

  void draw_circle_labels() {
    for (const std::size_t e : worst_) {
      const Point a = frame_.place(node(e));
      const Point b = frame_.place(node(e + 1));
      const double radius = std::sqrt(squared_distance(a, b)) / 2;
      const double x = std::clamp((a.x + b.x) / 2, kMargin + 30, kMargin + kMapSide - 30);
      // Above the circle, or below it where the map ends.
      double y = (a.y + b.y) / 2 - radius - 6;
      if (y < 20) y = (a.y + b.y) / 2 + radius + 18;
      put("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" font-weight=\"bold\" fill=\"{}\" stroke=\"white\" "
          "stroke-width=\"4\" paint-order=\"stroke\">order {}</text>\n",
          x, y, kColours[colour_class(orders_[e])], orders_[e]);
    }
  }

  void draw_panel() {
    double y = 64;
    const std::string title = options_.title.empty() ? instance_.name() : options_.title;
    put("<text x=\"{:g}\" y=\"{:g}\" font-size=\"20\" font-weight=\"bold\">{}</text>\n", kPanelX, y,
        escaped(title.empty() ? "tour" : title));
    y += 24;
    put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">{} nodes, length {:g}</text>\n", kPanelX, y, points_.size(),
        tour_length(instance_, tour_));
    y += 40;
    y = draw_explanation(y);
    y = draw_histogram(y);
    draw_metrics(y);
  }

  // Two small drawings: what makes an edge pure or not.
  double draw_explanation(double y) {
    const auto example = [this](double cx, double cy, bool pure) {
      constexpr double kRadius = 42;
      const char* colour = pure ? kColours[0] : kColours[1];
      put("<circle cx=\"{:g}\" cy=\"{:g}\" r=\"{:g}\" fill=\"{}\" fill-opacity=\"0.15\" stroke=\"{}\" "
          "stroke-dasharray=\"5 4\"/>\n",
          cx, cy, kRadius, colour, colour);
      put("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\" stroke-width=\"3\"/>\n", cx - kRadius,
          cy, cx + kRadius, cy, colour);
      for (const double side : {-kRadius, kRadius}) {
        put("<circle cx=\"{:g}\" cy=\"{:g}\" r=\"4\" fill=\"#333\"/>\n", cx + side, cy);
      }
      if (!pure) put("<circle cx=\"{:g}\" cy=\"{:g}\" r=\"5\" fill=\"#c00000\" stroke=\"white\"/>\n", cx + 8, cy - 20);
      put("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", cx, cy + kRadius + 20,
          pure ? "order 0: pure" : "order 1");
    };
    put("<text x=\"{:g}\" y=\"{:g}\" font-weight=\"bold\">Purity order of an edge</text>\n", kPanelX, y);
    put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">how many nodes lie inside the</text>\n", kPanelX, y + 20);
    put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">circle whose diameter it is</text>\n", kPanelX, y + 38);
    example(kPanelX + 55, y + 100, true);
    example(kPanelX + 195, y + 100, false);
    return y + 205;
  }

  double draw_histogram(double y) {
    std::array<std::uint64_t, kColours.size()> counts{};
    for (std::size_t k = 0; k < histogram_.counts().size(); ++k) {
      counts[colour_class(static_cast<std::uint32_t>(k))] += histogram_.counts()[k];
    }
    put("<text x=\"{:g}\" y=\"{:g}\" font-weight=\"bold\">Edges of this tour</text>\n", kPanelX, y);
    y += 14;
    constexpr double kBarWidth = 250;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const double share = static_cast<double>(counts[c]) / static_cast<double>(histogram_.num_edges());
      y += 18;
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">{}</text>\n", kPanelX, y, kLabels[c]);
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\" text-anchor=\"end\">{} ({:.1f} %)</text>\n", kPanelX + kBarWidth,
          y, counts[c], 100 * share);
      put("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:.2f}\" height=\"10\" rx=\"2\" fill=\"{}\"/>\n", kPanelX, y + 6,
          std::max(share * kBarWidth, counts[c] > 0 ? 1.5 : 0.0), kColours[c]);
      y += 22;
    }
    return y + 34;
  }

  void draw_metrics(double y) {
    const auto metric = [this, &y](const char* name, const std::string& value) {
      put("<text x=\"{:g}\" y=\"{:g}\">{}</text>\n", kPanelX, y, name);
      put("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\" font-weight=\"bold\">{}</text>\n", kPanelX + 250, y, value);
      y += 22;
    };
    metric("Prop-0 (pure edges)", fmt::format("{:.2f} %", 100 * histogram_.proportion_zero()));
    metric("APO(all) (mean order)", fmt::format("{:.4f}", histogram_.mean_order()));
    const auto positive = histogram_.mean_positive_order();
    metric("APO(non-0) (impure edges)", positive ? fmt::format("{:.4f}", *positive) : "-");
    if (!worst_.empty()) {
      y += 12;
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">Circles: the {} worst edges, with</text>\n", kPanelX, y,
          worst_.size());
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">the nodes inside them in red.</text>\n", kPanelX, y + 18);
    }
  }

  const Instance& instance_;
  const Tour& tour_;
  std::span<const std::uint32_t> orders_;
  const TourPictureOptions& options_;
  std::span<const Point> points_;
  MapFrame frame_;
  PurityHistogram histogram_;
  std::vector<std::size_t> worst_;  // positions of the edges whose circles are drawn
  double stroke_ = 1;
  double dot_ = 1;
  std::string out_;
};

}  // namespace

std::string tour_picture_svg(const Instance& instance, const Tour& tour, std::span<const std::uint32_t> orders,
                             const TourPictureOptions& options) {
  if (instance.size() > kMaxPictureNodes) {
    throw InputError(
        fmt::format("picture: {} nodes are too many for an SVG file (at most {})", instance.size(), kMaxPictureNodes));
  }
  return Picture(instance, tour, orders, options).svg();
}

}  // namespace puretour
