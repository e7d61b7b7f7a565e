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

// Up to this many edges each is an element of its own, with a tooltip; above, one path holds many to keep the file
// small.
constexpr std::size_t kMaxTooltips = 5000;

std::size_t colour_class(std::uint32_t order) {
  return std::min<std::size_t>(order, kColours.size() - 1);
}

// The length of the UTF-8 sequence at the beginning of `text`, or 0 if there is none that XML allows.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (length == 0 || length > text.size() || byte(0) > 0xf4) return 0;
  std::uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool no_character = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return code < kSmallest[length] || surrogate || no_character ? 0 : length;
}

// The characters of a name, each as UTF-8. Old files are not UTF-8 but nearly always Latin-1.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length > 0) {
      result.emplace_back(text.substr(0, length));
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      result.push_back({static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3f))});
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string escaped(std::span<const std::string> text) {
  std::string result;
  for (const std::string& c : text) {
    if (c == "<") {
      result += "&lt;";
    } else if (c == ">") {
      result += "&gt;";
    } else if (c == "&") {
      result += "&amp;";
    } else if (c.size() == 1 && static_cast<unsigned char>(c[0]) < 0x20) {
      result += ' ';  // XML has no control characters
    } else {
      result += c;
    }
  }
  return result;
}

struct Circle {
  Point centre;
  double radius = 0;
};

Circle covering_circle(Point a, Point b) {
  return {{(a.x + b.x) / 2, (a.y + b.y) / 2}, std::sqrt(squared_distance(a, b)) / 2};
}

// Places nodes and the covering circles of some edges in the map, aspect ratio kept, y upwards.
class MapFrame {
 public:
  MapFrame(std::span<const Point> points, std::span<const std::array<Point, 2>> circled_edges)
      : nodes_(bounding_box(points)) {
    // Halves, because the width of a box may be beyond the largest number.
    half_side_ = std::max(nodes_.high.x / 2 - nodes_.low.x / 2, nodes_.high.y / 2 - nodes_.low.y / 2);
    box_.add(unit(nodes_.low));
    box_.add(unit(nodes_.high));
    for (const auto& [a, b] : circled_edges) {
      const auto [centre, radius] = covering_circle(unit(a), unit(b));
      box_.add({centre.x - radius, centre.y - radius});
      box_.add({centre.x + radius, centre.y + radius});
    }
    const double side = std::max(box_.width(), box_.height());
    scale_ = kMapSide / (side > 0 ? side : 1);
    left_ = kMargin + (kMapSide - box_.width() * scale_) / 2;
    top_ = kMargin + (kMapSide - box_.height() * scale_) / 2;
  }

  [[nodiscard]] Point place(Point p) const {
    const Point q = unit(p);
    return {left_ + (q.x - box_.low.x) * scale_, top_ + (box_.high.y - q.y) * scale_};
  }

  /// The longer side of the box around the nodes, in SVG units.
  [[nodiscard]] double side_of_nodes() const { return scale_; }

 private:
  // The longer side of the box around the nodes becomes 1.
  [[nodiscard]] Point unit(Point p) const {
    if (half_side_ == 0) return {0, 0};
    return {(p.x / 2 - nodes_.low.x / 2) / half_side_, (p.y / 2 - nodes_.low.y / 2) / half_side_};
  }

  Box nodes_;
  double half_side_ = 0;
  Box box_;  // of everything that is drawn, in units
  double scale_ = 1;
  double left_ = 0;
  double top_ = 0;
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
        worst_(worst_edges()),
        frame_(points_, circled_edges()),
        title_(characters(!options.title.empty()     ? options.title
                          : !instance.name().empty() ? instance.name()
                                                     : "tour")) {
    histogram_.add(orders);
    // Thinner and smaller with more nodes, within what the eye can follow.
    const double spacing =
        frame_.side_of_nodes() / std::sqrt(static_cast<double>(std::max<std::size_t>(points_.size(), 1)));
    stroke_ = std::clamp(spacing / 12, 0.4, 3.0);
    dot_ = std::clamp(spacing / 11, 0.3, 3.5);
  }

  std::string svg() {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" font-family=\"Helvetica, Arial, "
        "sans-serif\" font-size=\"14\" fill=\"#222\">\n",
        kWidth, kHeight);
    put("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    put("<title>{}: a tour with its edges coloured by purity order</title>\n", escaped(title_));
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

  [[nodiscard]] std::vector<std::size_t> worst_edges() const {
    std::vector<std::size_t> worst(orders_.size());
    std::iota(worst.begin(), worst.end(), std::size_t{0});
    const std::size_t count = std::min(options_.num_circles, worst.size());
    const auto worse = [this](std::size_t e, std::size_t f) {
      if (orders_[e] != orders_[f]) return orders_[e] > orders_[f];
      const double length_e = squared_distance(node(e), node(e + 1));
      const double length_f = squared_distance(node(f), node(f + 1));
      return length_e != length_f ? length_e > length_f : e < f;
    };
    std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(count), worst.end(), worse);
    worst.resize(count);
    // The circle of a pure edge shows nothing.
    while (!worst.empty() && orders_[worst.back()] == 0) worst.pop_back();
    return worst;
  }

  [[nodiscard]] std::vector<std::array<Point, 2>> circled_edges() const {
    std::vector<std::array<Point, 2>> edges;
    for (const std::size_t e : worst_) edges.push_back({node(e), node(e + 1)});
    return edges;
  }

  [[nodiscard]] Circle placed_circle(std::size_t edge) const {
    return covering_circle(frame_.place(node(edge)), frame_.place(node(edge + 1)));
  }

  void draw_circles() {
    for (const std::size_t e : worst_) {
      const auto [centre, radius] = placed_circle(e);
      const char* colour = kColours[colour_class(orders_[e])];
      put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" fill=\"{}\" fill-opacity=\"0.13\" stroke=\"{}\" "
          "stroke-width=\"1.5\" stroke-dasharray=\"5 4\"><title>{} nodes inside</title></circle>\n",
          centre.x, centre.y, radius, colour, colour, orders_[e]);
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
    draw_dots(points_, dot_, "#333", 0);
    // The nodes that make an edge impure; one that lies in several circles is drawn once.
    std::vector<Point> inside;
    if (!worst_.empty()) {
      std::copy_if(points_.begin(), points_.end(), std::back_inserter(inside), [this](Point x) {
        return std::any_of(worst_.begin(), worst_.end(),
                           [this, x](std::size_t e) { return inside_diametral_disc(node(e), node(e + 1), x); });
      });
    }
    const bool crowded = points_.size() > kMaxTooltips;
    draw_dots(inside, crowded ? 1.6 * dot_ : std::max(1.6 * dot_, 2.5), "#c00000", crowded ? 0 : 1);
  }

  void draw_dots(std::span<const Point> points, double radius, const char* colour, double halo) {
    if (points.size() > kMaxTooltips) {
      // A line of no length with round ends is a dot, and takes a fifth of the bytes of a circle.
      put("<path stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-linecap=\"round\" d=\"", colour, 2 * radius);
      for (const Point p : points) {
        const Point q = frame_.place(p);
        put("M{:.1f} {:.1f}h0", q.x, q.y);
      }
      put("\"/>\n");
      return;
    }
    put("<g fill=\"{}\" stroke=\"white\" stroke-width=\"{:g}\">\n", colour, halo);
    for (const Point p : points) {
      const Point q = frame_.place(p);
      put("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\"/>\n", q.x, q.y, radius);
    }
    put("</g>\n");
  }

  // Each label stands beside its circle where no other label is; one that finds no place is left to the tooltip.
  void draw_circle_labels() {
    std::vector<Box> taken;
    const auto is_free = [&taken](const Box& box) {
      return box.low.x > 0 && box.high.x < kPanelX &&
             std::none_of(taken.begin(), taken.end(), [&box](const Box& other) {
               return box.low.x < other.high.x && other.low.x < box.high.x && box.low.y < other.high.y &&
                      other.low.y < box.high.y;
             });
    };
    for (const std::size_t e : worst_) {
      const std::string text = fmt::format("order {}", orders_[e]);
      const auto [centre, radius] = placed_circle(e);
      // Of 14-unit bold letters, generously; the baseline is at the bottom of the box.
      const double half_width = 4.5 * static_cast<double>(text.size());
      constexpr double kTextHeight = 14;
      const std::array<Point, 4> middles = {{{centre.x, centre.y - radius - 6},
                                             {centre.x, centre.y + radius + 18},
                                             {centre.x + radius + half_width + 4, centre.y + 5},
                                             {centre.x - radius - half_width - 4, centre.y + 5}}};
      for (const Point middle : middles) {
        const Box box{{middle.x - half_width, middle.y - kTextHeight}, {middle.x + half_width, middle.y + 3}};
        if (!is_free(box)) continue;
        taken.push_back(box);
        put("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" font-weight=\"bold\" fill=\"{}\" stroke=\"white\" "
            "stroke-width=\"4\" paint-order=\"stroke\">{}</text>\n",
            middle.x, middle.y, kColours[colour_class(orders_[e])], text);
        break;
      }
    }
  }

  void draw_panel() {
    double y = 64;
    draw_title(y);
    y += 24;
    put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">{} nodes, length {:.10g}</text>\n", kPanelX, y, points_.size(),
        tour_length(instance_, tour_));
    y += 40;
    y = draw_explanation(y);
    y = draw_histogram(y);
    draw_metrics(y);
  }

  // A long title becomes smaller, and one that is still too long loses its end.
  void draw_title(double y) {
    constexpr double kLargest = 20;
    constexpr double kSmallest = 12;
    constexpr double kLettersTimesSize = 440;  // what fits into the panel: 22 letters of size 20
    const auto letters = static_cast<double>(title_.size());
    const double size = std::clamp(kLettersTimesSize / letters, kSmallest, kLargest);
    std::vector<std::string> shown = title_;
    if (size * letters > kLettersTimesSize) {
      shown.resize(static_cast<std::size_t>(kLettersTimesSize / kSmallest));
      shown.emplace_back("...");
    }
    put("<text x=\"{:g}\" y=\"{:g}\" font-size=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", kPanelX, y, size,
        escaped(shown));
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
    metric("Prop-0: pure edges", fmt::format("{:.2f} %", 100 * histogram_.proportion_zero()));
    metric("APO(all): mean order", fmt::format("{:.4f}", histogram_.mean_order()));
    const auto positive = histogram_.mean_positive_order();
    metric("APO(non-0): of impure", positive ? fmt::format("{:.4f}", *positive) : "-");
    if (!worst_.empty()) {
      y += 12;
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">{}, with</text>\n", kPanelX, y,
          worst_.size() == 1 ? "Circle: the worst edge" : fmt::format("Circles: the {} worst edges", worst_.size()));
      put("<text x=\"{:g}\" y=\"{:g}\" fill=\"#555\">the nodes inside in red.</text>\n", kPanelX, y + 18);
    }
  }

  const Instance& instance_;
  const Tour& tour_;
  std::span<const std::uint32_t> orders_;
  const TourPictureOptions& options_;
  std::span<const Point> points_;
  std::vector<std::size_t> worst_;  // positions of the edges whose circles are drawn
  MapFrame frame_;
  std::vector<std::string> title_;  // its characters
  PurityHistogram histogram_;
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
