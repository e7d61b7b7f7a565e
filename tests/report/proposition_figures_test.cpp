// SPDX-License-Identifier: MIT
#include "puretour/report/proposition_figures.h"

#include <gtest/gtest.h>

#include "puretour/base/error.h"
#include "support/xml.h"

namespace puretour {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(CounterexampleFigure, ShowsSetsCirclesAndAllFourValues) {
  // Worked out by hand in tests/law/propositions_test.cpp.
  Counterexample example;
  example.points = {{0, 0}, {0, 1}, {8, 0}, {3, 1}};
  example.set = {0, 1};
  example.first = 2;
  example.second = 3;
  const OrderMatrix orders(example.points);
  example.sides = supermodularity_case(orders, example.set, 2, 3);
  const std::string svg = counterexamples_svg(std::vector<Counterexample>{example});
  EXPECT_NO_THROW(test::XmlReader(svg).read());
  EXPECT_NE(svg.find("φ(U + v1) = 1/3"), std::string::npos);
  EXPECT_NE(svg.find("φ(U + v2) = 0"), std::string::npos);
  EXPECT_NE(svg.find("φ(U + v1 + v2) = 0"), std::string::npos);
  EXPECT_NE(svg.find("φ(U) = 0"), std::string::npos);
  EXPECT_NE(svg.find("u1 = (0, 0), u2 = (0, 1), v1 = (8, 0), v2 = (3, 1)"), std::string::npos) << svg;
  EXPECT_EQ(occurrences(svg, ">K=1</text>"), 1U) << "v1 without v2 only";
  EXPECT_EQ(occurrences(svg, ">v1</text>"), 4U) << "one in each map";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_THROW(counterexamples_svg({}), InputError);
}

TEST(SupermodularityFigure, HasALineForEachNumberOfVertices) {
  const std::vector<SetSizeResult> results = {
      {10, 0, {3, 1, 0}}, {10, 5, {1, 1, 2}}, {50, 1, {1, 0, 0}}, {50, 25, {0, 0, 4}}};
  const std::string svg = supermodularity_svg(results);
  EXPECT_NO_THROW(test::XmlReader(svg).read());
  EXPECT_NE(svg.find("10 vertices: 50, 50"), std::string::npos);
  EXPECT_NE(svg.find("50 vertices: 50, 100"), std::string::npos);
}

}  // namespace
}  // namespace puretour
