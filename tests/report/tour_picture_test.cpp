// SPDX-License-Identifier: MIT
#include "puretour/report/tour_picture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "puretour/base/error.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/tour/tsplib.h"
#include "support/point_sets.h"
#include "support/xml.h"

namespace puretour {
namespace {

std::string picture(const std::vector<Point>& points, const TourPictureOptions& options = {}) {
  const Instance instance(points, Metric::kEuclidean);
  const Tour tour = Tour::identity(points.size());
  return tour_picture_svg(instance, tour, tour_orders(points, tour.order()), options);
}

struct Canvas {
  double width = 0;
  double height = 0;
};

Canvas canvas(const test::XmlElement& svg) {
  Canvas result;
  double x = 0;
  double y = 0;
  std::istringstream(svg.attributes.at("viewBox")) >> x >> y >> result.width >> result.height;
  return result;
}

bool is_edge(const test::XmlElement& element) {
  return element.name == "title" && element.text.find(" to ") != std::string::npos &&
         element.text.find(": order ") != std::string::npos;
}

TEST(TourPicture, EverythingIsInsideTheCanvasForEveryKindOfPoints) {
  for (const std::size_t n : {2, 3, 5, 40, 300}) {
    for (const auto& [name, points] : test::all_point_sets(n, n)) {
      SCOPED_TRACE(fmt::format("{} n = {}", name, n));
      const auto elements = test::read_xml(picture(points, {.title = name, .num_circles = 5}));
      const auto [width, height] = canvas(elements[0]);
      for (const test::XmlElement& e : elements) {
        const double r = e.name == "circle" ? e.number("r") : 0;
        for (const auto& [key, value] : e.attributes) {
          const bool horizontal = key == "cx" || key == "x1" || key == "x2" || key == "x";
          const bool vertical = key == "cy" || key == "y1" || key == "y2" || key == "y";
          if (!horizontal && !vertical) continue;
          ASSERT_GE(e.number(key) - r, 0) << e.name << " " << key;
          ASSERT_LE(e.number(key) + r, horizontal ? width : height) << e.name << " " << key;
        }
      }
      EXPECT_EQ(static_cast<std::size_t>(std::count_if(elements.begin(), elements.end(), is_edge)), n);
    }
  }
}

TEST(TourPicture, LabelsOfCirclesDoNotOverlap) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto elements = test::read_xml(picture(test::uniform_points(30, seed), {.title = "", .num_circles = 8}));
    std::vector<Point> labels;
    for (const test::XmlElement& e : elements) {
      if (e.name == "text" && e.attributes.contains("paint-order")) labels.push_back({e.number("x"), e.number("y")});
    }
    EXPECT_GE(labels.size(), 3U);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_TRUE(std::fabs(labels[i].x - labels[j].x) > 60 || std::fabs(labels[i].y - labels[j].y) > 14) << seed;
      }
    }
  }
}

TEST(TourPicture, MarksTheNodesInsideTheCirclesOnce) {
  // On a line, the edge from end to end covers the three nodes between; so does the one that is shorter by one step.
  const std::string svg = picture({{0, 0}, {4, 0}, {1, 0}, {3, 0}, {2, 0}}, {.title = "", .num_circles = 2});
  const auto elements = test::read_xml(svg);
  const auto red = std::find_if(elements.begin(), elements.end(), [](const test::XmlElement& e) {
    return e.name == "g" && e.attributes.contains("fill") && e.attributes.at("fill") == "#c00000";
  });
  ASSERT_NE(red, elements.end());
  std::size_t num_marked = 0;
  for (auto e = red + 1; e != elements.end() && e->name == "circle"; ++e) ++num_marked;
  EXPECT_EQ(num_marked, 3U);
}

TEST(TourPicture, NamesBecomeValidXml) {
  const auto title = [](const std::string& name) {
    return test::read_xml(picture(test::uniform_points(4, 1), {.title = name}))[2].text;
  };
  const std::string end = ": a tour with its edges coloured by purity order";
  EXPECT_EQ(title("<a> & \"b\" 'c'"), "<a> & \"b\" 'c'" + end);
  EXPECT_EQ(title("tab\tbell\a"), "tab bell " + end);
  EXPECT_EQ(title("K\xc3\xb6ln \xe6\x9d\xb1 \xf0\x9f\x97\xba"), "K\xc3\xb6ln \xe6\x9d\xb1 \xf0\x9f\x97\xba" + end);
  EXPECT_EQ(title("K\xf6ln"), "K\xc3\xb6ln" + end) << "Latin-1";
  // Overlong, surrogate, beyond Unicode, cut off: bytes of no character.
  for (const std::string bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\x9d", "\xef\xbf\xbf"}) {
    EXPECT_NE(title(bad), bad + end);
  }
}

TEST(TourPicture, LongNamesAreShortenedInThePanelOnly) {
  const std::string name(200, 'w');
  const std::string svg = picture(test::uniform_points(4, 1), {.title = name});
  EXPECT_NE(svg.find(name + ": a tour"), std::string::npos);
  EXPECT_NE(svg.find("w...</text>"), std::string::npos);
  EXPECT_EQ(svg.find(name + "</text>"), std::string::npos);
}

TEST(TourPicture, WithoutATitleTheInstanceNamesIt) {
  const Instance instance({{0, 0}, {1, 0}, {0, 1}}, Metric::kEuclidean, "berlin3");
  const Tour tour = Tour::identity(3);
  EXPECT_NE(tour_picture_svg(instance, tour, tour_orders(instance.points(), tour.order())).find(">berlin3</text>"),
            std::string::npos);
}

TEST(TourPicture, ExtremeCoordinatesGiveFiniteOnes) {
  for (const double size : {1e308, 1e-300, 5e-324}) {
    const std::string svg = picture({{-size, -size}, {size, size}, {0, 0}, {size, 0}});
    EXPECT_NO_THROW(test::read_xml(svg));
    for (const char* bad : {"\"nan", "\"-nan", "\"inf", "\"-inf"}) EXPECT_EQ(svg.find(bad), std::string::npos) << size;
  }
}

TEST(TourPicture, ManyNodesMakeASmallFileWithEveryEdge) {
  const std::size_t n = 6000;
  const std::string svg = picture(test::uniform_points(n, 2));
  EXPECT_NO_THROW(test::read_xml(svg));
  EXPECT_EQ(static_cast<std::size_t>(std::count(svg.begin(), svg.end(), 'L')), n) << "one line of a path per edge";
  EXPECT_LT(svg.size(), 80 * n);
}

TEST(TourPicture, TooManyNodesAndMissingCoordinatesAreRefused) {
  const std::vector<Point> points(kMaxPictureNodes + 1);
  const std::vector<std::uint32_t> orders(points.size());
  EXPECT_THROW(tour_picture_svg(Instance(points), Tour::identity(points.size()), orders), InputError);
  const Instance weights = parse_tsplib(
      "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
      "0 1\n1 0\nEOF\n",
      "weights.tsp");
  EXPECT_THROW(tour_picture_svg(weights, Tour::identity(2), std::vector<std::uint32_t>(2)), InputError);
}

}  // namespace
}  // namespace puretour
