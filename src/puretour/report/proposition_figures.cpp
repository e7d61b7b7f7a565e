// SPDX-License-Identifier: MIT
#include "puretour/report/proposition_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/report/line_chart.h"

namespace puretour {
namespace {

// Layout in SVG units.
constexpr double kMapSide = 190;
constexpr double kGap = 44;  // between two maps, for the sign of the inequality
constexpr double kMargin = 24;
constexpr double kTitleHeight = 44;
constexpr double kHeadingHeight = 40;
constexpr double kCaptionHeight = 78;
constexpr double kRowHeight = kHeadingHeight + kMapSide + kCaptionHeight;
constexpr double kWidth = 2 * kMargin + 4 * kMapSide + 3 * kGap;
constexpr double kMapPadding = 26;  // room for labels

// Okabe and Ito's blue and vermilion, told apart with any colour vision; members and others also differ in form.
constexpr const char* kMemberColour = "#0072b2";
constexpr const char* kImpureColour = "#d55e00";
constexpr const char* kOtherColour = "#777777";

std::size_t at(NodeId node) {
  return static_cast<std::size_t>(node);
}

// A pair of members and its order: the one by which some member attains its lowest order.
struct Partner {
  NodeId a;
  NodeId b;
  unsigned order;
  bool operator<(const Partner& other) const { return std::tie(a, b) < std::tie(other.a, other.b); }
};

class Drawing {
 public:
  std::string svg(std::span<const Counterexample> counterexamples) {
    const double height = kTitleHeight + kRowHeight * static_cast<double>(counterexamples.size()) + 30;
    put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
        R"(font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="#222222">)",
        kWidth, height);
    put("<title>Availability is not supermodular: the smallest counterexamples</title>");
    put(R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
    text(kMargin, 28, "Availability is not supermodular: the smallest counterexamples",
         R"(font-size="17" font-weight="600")");
    for (std::size_t i = 0; i < counterexamples.size(); ++i) {
      put(R"svg(<g transform="translate({:.0f} {:.0f})">)svg", kMargin,
          kTitleHeight + kRowHeight * static_cast<double>(i));
      draw_row(counterexamples[i]);
      put("</g>");
    }
    text(kMargin, height - 12,
         "Blue: vertices of the set, each joined to the partner of lowest order K. Hollow: not in the set, but counted "
         "in K all the same.",
         R"(font-size="12" fill="#555555")");
    put("</svg>");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void text(double x, double y, const std::string& content, const std::string& attributes) {
    put(R"(<text x="{:.1f}" y="{:.1f}" {}>{}</text>)", x, y, attributes, content);
  }

  void draw_row(const Counterexample& example) {
    const OrderMatrix orders(example.points);
    name_vertices(example);
    fit_map(example.points);
    std::string places;
    for (std::size_t i = 0; i < example.points.size(); ++i) {
      places +=
          fmt::format("{}{} = ({:g}, {:g})", i == 0 ? "" : ", ", names_[i], example.points[i].x, example.points[i].y);
    }
    std::string set_names;
    for (const NodeId i : example.set) set_names += (set_names.empty() ? "" : ", ") + names_[at(i)];
    text(0, 16, fmt::format("{} vertices, U = {{{}}}: {}", example.points.size(), set_names, places),
         R"(font-weight="600")");

    const auto with = [&](std::initializer_list<NodeId> more) {
      std::vector<NodeId> members = example.set;
      members.insert(members.end(), more);
      return members;
    };
    const std::array<std::vector<NodeId>, 4> sets = {with({example.first}), with({example.second}),
                                                     with({example.first, example.second}), with({})};
    const std::array<const char*, 4> set_labels = {"U + v1", "U + v2", "U + v1 + v2", "U"};
    const std::array<const Fraction*, 4> values = {&example.sides.with_first, &example.sides.with_second,
                                                   &example.sides.with_both, &example.sides.of_set};
    const std::array<const char*, 3> signs = {"+", "&gt;", "+"};
    for (std::size_t m = 0; m < sets.size(); ++m) {
      const double x = static_cast<double>(m) * (kMapSide + kGap);
      put(R"svg(<g transform="translate({:.1f} {:.1f})">)svg", x, kHeadingHeight);
      draw_map(example.points, orders, sets[m]);
      text(kMapSide / 2, kMapSide + 20, fmt::format("φ({}) = {}", set_labels[m], values[m]->text()),
           R"(text-anchor="middle" font-size="14" font-weight="600")");
      put("</g>");
      if (m < signs.size()) {
        text(x + kMapSide + kGap / 2, kHeadingHeight + kMapSide / 2 + 8, signs[m],
             R"(text-anchor="middle" font-size="22")");
      }
    }
    text(0, kHeadingHeight + kMapSide + 50,
         fmt::format("{} + {} = {:.4g} is more than {} + {} = {:.4g}; supermodular would be at most.",
                     values[0]->text(), values[1]->text(), values[0]->value() + values[1]->value(), values[2]->text(),
                     values[3]->text(), values[2]->value() + values[3]->value()),
         "");
  }

  void name_vertices(const Counterexample& example) {
    names_.assign(example.points.size(), "w");
    const bool is_single = example.set.size() == 1;
    for (std::size_t u = 0; u < example.set.size(); ++u) {
      names_[at(example.set[u])] = is_single ? "u" : fmt::format("u{}", u + 1);
    }
    names_[at(example.first)] = "v1";
    names_[at(example.second)] = "v2";
  }

  // One scale for the four maps of a row; circles of all pairs must fit.
  void fit_map(std::span<const Point> points) {
    Box box;
    for (const Point a : points) {
      for (const Point b : points) {
        const Point centre{(a.x + b.x) / 2, (a.y + b.y) / 2};
        const double radius = std::sqrt(squared_distance(a, b)) / 2;
        box.add({centre.x - radius, centre.y - radius});
        box.add({centre.x + radius, centre.y + radius});
      }
    }
    scale_ = (kMapSide - 2 * kMapPadding) / std::max({box.width(), box.height(), 1e-9});
    middle_ = {(box.low.x + box.high.x) / 2, (box.low.y + box.high.y) / 2};
  }

  // y grows upwards in the plane and downwards in SVG.
  [[nodiscard]] Point on_map(Point p) const {
    return {kMapSide / 2 + (p.x - middle_.x) * scale_, kMapSide / 2 - (p.y - middle_.y) * scale_};
  }

  static std::set<Partner> partners(std::span<const Point> points, const OrderMatrix& orders,
                                    std::span<const NodeId> members) {
    std::set<Partner> result;
    for (const NodeId i : members) {
      const NodeId* best = nullptr;
      const auto rank = [&](NodeId j) {
        return std::pair(orders.at(i, j), squared_distance(points[at(i)], points[at(j)]));
      };
      for (const NodeId& j : members) {
        if (j != i && (best == nullptr || rank(j) < rank(*best))) best = &j;
      }
      if (best != nullptr) result.insert({std::min(i, *best), std::max(i, *best), orders.at(i, *best)});
    }
    return result;
  }

  void draw_map(std::span<const Point> points, const OrderMatrix& orders, std::span<const NodeId> members) {
    put(R"(<rect width="{0:.0f}" height="{0:.0f}" fill="#fafafa" stroke="#dddddd"/>)", kMapSide);
    const std::set<Partner> pairs = partners(points, orders, members);
    for (const Partner& pair : pairs) {
      const Point a = on_map(points[at(pair.a)]);
      const Point b = on_map(points[at(pair.b)]);
      const char* colour = pair.order == 0 ? kMemberColour : kImpureColour;
      put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}" fill-opacity="{}" stroke="{}" )"
          R"(stroke-dasharray="{}"/>)",
          (a.x + b.x) / 2, (a.y + b.y) / 2, std::sqrt(squared_distance(a, b)) / 2, colour,
          pair.order == 0 ? 0.05 : 0.14, colour, pair.order == 0 ? "3 3" : "");
      put(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="2.5"/>)", a.x, a.y, b.x,
          b.y, colour);
    }
    std::vector<Point> occupied;
    for (const Point p : points) occupied.push_back(on_map(p));
    for (const Partner& pair : pairs) {
      draw_order_label(on_map(points[at(pair.a)]), on_map(points[at(pair.b)]), pair, occupied);
    }
    for (const Partner& pair : pairs) {
      // A label keeps away from lines, too: from some points of them.
      const Point a = on_map(points[at(pair.a)]);
      const Point b = on_map(points[at(pair.b)]);
      for (const double t : {0.2, 0.4, 0.6, 0.8}) occupied.push_back({a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_member = std::find(members.begin(), members.end(), static_cast<NodeId>(i)) != members.end();
      draw_vertex(on_map(points[i]), names_[i], is_member, occupied);
    }
    if (members.size() < 2) {
      text(kMapSide / 2, kMapSide - 9, "one vertex: 0 by convention",
           R"(text-anchor="middle" font-size="11" fill="#555555")");
    }
  }

  // Of some places for a label the one farthest from everything that is there already but `own`, to which it belongs;
  // it is taken then.
  static Point freest(std::span<const Point> places, std::vector<Point>& occupied, std::optional<Point> own = {}) {
    const auto room = [&](Point place) {
      double nearest = kMapSide * kMapSide;
      for (const Point other : occupied) {
        if (other != own) nearest = std::min(nearest, squared_distance(place, other));
      }
      return nearest;
    };
    const Point best =
        *std::max_element(places.begin(), places.end(), [&](Point a, Point b) { return room(a) < room(b); });
    occupied.push_back(best);
    return best;
  }

  void label(Point middle, const char* colour, const std::string& content) {
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" font-size="12" fill="{}" stroke="#ffffff" )"
        R"(stroke-width="3" paint-order="stroke">{}</text>)",
        middle.x, middle.y + 4, colour, content);
  }

  // On one side of the line.
  void draw_order_label(Point a, Point b, const Partner& pair, std::vector<Point>& occupied) {
    const double length = std::max(1e-9, std::sqrt(squared_distance(a, b)));
    const double dx = -(b.y - a.y) / length * 18;
    const double dy = (b.x - a.x) / length * 13;
    std::vector<Point> places;
    for (const double t : {0.5, 0.35, 0.65}) {
      for (const double side : {1.0, -1.0}) {
        places.push_back({a.x + t * (b.x - a.x) + side * dx, a.y + t * (b.y - a.y) + side * dy});
      }
    }
    const Point middle = freest(places, occupied);
    for (const double end : {-12.0, 12.0}) occupied.push_back({middle.x + end, middle.y});  // it is wider than a point
    label(middle, pair.order == 0 ? kMemberColour : kImpureColour, fmt::format("K={}", pair.order));
  }

  void draw_vertex(Point p, const std::string& name, bool is_member, std::vector<Point>& occupied) {
    put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="5" fill="{}" stroke="{}" stroke-width="1.8"/>)", p.x, p.y,
        is_member ? kMemberColour : "#ffffff", is_member ? kMemberColour : kOtherColour);
    std::vector<Point> places;
    for (const Point direction : {Point{1, 0}, Point{0, -1}, Point{-1, 0}, Point{0, 1}, Point{0.7, -0.7},
                                  Point{-0.7, -0.7}, Point{-0.7, 0.7}, Point{0.7, 0.7}}) {
      places.push_back({p.x + 15 * direction.x, p.y + 15 * direction.y});
    }
    label(freest(places, occupied, p), is_member ? "#222222" : "#777777", name);
  }

  std::string out_;
  std::vector<std::string> names_;
  double scale_ = 1;
  Point middle_;
};

}  // namespace

std::string counterexamples_svg(std::span<const Counterexample> counterexamples) {
  if (counterexamples.empty()) throw InputError("there is no counterexample to draw");
  return Drawing().svg(counterexamples);
}

std::string supermodularity_svg(std::span<const SetSizeResult> results) {
  ChartPanel panel{"uniform vertices; the peaks are |U| = 1", {}};
  for (const SetSizeResult& result : results) {
    const std::string name = fmt::format("{} vertices", result.vertices);
    if (panel.series.empty() || panel.series.back().name != name) panel.series.push_back({name, {}, {}});
    panel.series.back().x.push_back(100 * static_cast<double>(result.set_size) / static_cast<double>(result.vertices));
    panel.series.back().y.push_back(100 * result.counts.share_violated());
  }
  ChartOptions options;
  options.title = "Violations of supermodularity";
  options.x = {.label = "vertices in U (%)", .logarithmic = false, .least = 0, .most = 100};
  options.y.label = "cases violated (%)";
  options.y.least = 0;
  return line_chart_svg(std::vector<ChartPanel>{panel}, options);
}

}  // namespace puretour
