// SPDX-License-Identifier: MIT
#include "puretour/tour/line_format.h"

#include <gtest/gtest.h>

#include <sstream>

#include "puretour/base/rng.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

std::string line_of(const Sample& sample) {
  std::string line;
  append_sample_line(line, sample);
  return line;
}

TEST(LineFormat, ReadsPointsAndTour) {
  const Sample sample = parse_sample_line("0 0.5 1 0 1 1 output 1 3 2 1", "x");
  EXPECT_EQ(sample.instance.metric(), Metric::kEuclidean);
  ASSERT_EQ(sample.instance.size(), 3U);
  EXPECT_EQ(sample.instance.points()[0], (Point{0, 0.5}));
  EXPECT_EQ(sample.tour, Tour(std::vector<NodeId>{0, 2, 1}));
}

TEST(LineFormat, LayoutDoesNotMatter) {
  const Sample sample = parse_sample_line("0 0.5 1 0 1 1 output 1 3 2 1", "x");
  for (const char* line : {"0 0.5 1 0 1 1 output 1 3 2", "  0\t5e-1  1.0 0 1 1  output  1 3 2 1 \r\n",
                           "0,0.5 1,0 1,1 output 1 3 2 1", "0,.5 +1,-0 1,1 output 1 3 2\n"}) {
    EXPECT_TRUE(same_samples({&sample, 1}, std::vector{parse_sample_line(line, "x")})) << line;
  }
  EXPECT_FALSE(parse_sample_line("0 0.5 1 0 1 1", "x").tour.has_value());
  EXPECT_FALSE(parse_sample_line("0,0.5 1,0 1,1 ", "x").tour.has_value());
}

TEST(LineFormat, WritesTheClosingNode) {
  EXPECT_EQ(line_of({Instance({{0, 0.5}, {1, 0}, {1, 1}}), Tour(std::vector<NodeId>{1, 2, 0})}),
            "0 0.5 1 0 1 1 output 2 3 1 2\n");
  EXPECT_EQ(line_of({Instance({{0.1, 1e-9}}), std::nullopt}), "0.1 1e-09\n");
  EXPECT_EQ(line_of({Instance({{1, 2}}), Tour::identity(1)}), "1 2 output 1 1\n");
}

TEST(LineFormat, RandomSamplesSurviveARoundTrip) {
  Rng rng(5);
  std::string text;
  std::vector<Sample> samples;
  for (std::size_t n = 1; n < 40; ++n) {
    std::vector<Point> points;
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < n; ++i) {
      points.push_back({rng.uniform(), rng.normal() * 1e5});
      order.push_back(static_cast<NodeId>(i));
    }
    rng.shuffle(order.data(), n);
    samples.push_back({Instance(points), n % 3 == 0 ? std::nullopt : std::optional(Tour(order))});
    append_sample_line(text, samples.back());
  }
  std::istringstream stream(text);
  LineReader reader(stream, "x");
  std::vector<Sample> again;
  while (std::optional<Sample> sample = reader.next()) again.push_back(*sample);
  EXPECT_TRUE(same_samples(samples, again));
}

TEST(LineFormat, TheReaderCountsBlankLines) {
  std::istringstream stream("0 0 1 1\n\n \r\n0 0 1 1 output 1 2\n\n0 0 1 x\n0 0\n");
  LineReader reader(stream, "set.txt");
  EXPECT_FALSE(reader.next()->tour.has_value());
  EXPECT_TRUE(reader.next()->tour.has_value());
  EXPECT_EQ(input_error([&] { reader.next(); }), "set.txt:6: a coordinate is 'x', not a finite number");
}

TEST(LineFormat, TheReaderTakesOnlyOneLineAtATime) {
  std::istringstream stream("0 0 1 1\n2 2 3 3\n");
  LineReader reader(stream, "x");
  reader.next();
  std::string rest;
  std::getline(stream, rest);
  EXPECT_EQ(rest, "2 2 3 3");
}

TEST(LineFormat, ErrorsNameTheLineAndTheProblem) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "f.txt:7: no coordinates"},
      {"output 1", "f.txt:7: no coordinates"},
      {"0 0 1", "f.txt:7: 3 coordinates: the y of point 2 is missing"},
      {"0 0 1 output 1", "f.txt:7: 3 coordinates: the y of point 2 is missing"},
      {"0 0 nan 1", "f.txt:7: a coordinate is 'nan', not a finite number"},
      {"0 0 1e999 1", "f.txt:7: a coordinate is '1e999', not a finite number"},
      {"0 0 Output 1 1", "f.txt:7: a coordinate is 'Output', not a finite number"},
      {"0 0 " + std::string(100, '\x01') + " 1",
       "f.txt:7: a coordinate is '\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01...',"},
      {"0,0 1", "f.txt:7: point 2 is '1', not two finite numbers 'x,y'"},
      {"0,0 1,2,3", "f.txt:7: point 2 is '1,2,3', not two"},
      {"0,0 1,inf", "f.txt:7: point 2 is '1,inf', not two"},
      {"0,0 1,", "f.txt:7: point 2 is '1,', not two"},
      {"0 0 1,1", "f.txt:7: a coordinate is '1,1', not a finite number"},
      {"0 0 1 1 output", "f.txt:7: the tour has 0 nodes, the instance 2"},
      {"0 0 1 1 output 1", "f.txt:7: the tour has 1 nodes, the instance 2"},
      {"0 0 1 1 output 1 3", "f.txt:7: node 2 of the tour is 3; nodes are 1 to 2"},
      {"0 0 1 1 output 0 1", "f.txt:7: node 1 of the tour is 0; nodes are 1 to 2"},
      {"0 0 1 1 output 1 1", "f.txt:7: node 1 appears twice in the tour, the second time at position 2 of 2"},
      {"0 0 1 1 output 1 2 2", "f.txt:7: the tour goes on after all 2 nodes; only its first node, 1, may follow"},
      {"0 0 1 1 output 1 2 1 1", "f.txt:7: the tour goes on after all 2 nodes"},
      {"0 0 1 1 output 1 2.0", "f.txt:7: a node of the tour is '2.0', not a whole number"},
      {"0 0 1 1 output 1 99999999999999999999", "f.txt:7: a node of the tour is '99999999999999999999', not"},
      {"0 0 1 1\n2 2", "f.txt:8: unexpected second line"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&, line = text] { parse_sample_line(line, "f.txt", 7); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
}

TEST(LineFormat, OnlyPlanarPointsCanBeWritten) {
  EXPECT_EQ(line_of({Instance({{1, 2}}, Metric::kEuc2d), std::nullopt}), "1 2\n");
  EXPECT_EQ(input_error([] {
              line_of({Instance({{1, 2}}, Metric::kGeo, "gr1"), std::nullopt});
            }),
            "gr1 has GEO coordinates (degrees and minutes), which one-line text cannot hold; write it as tsplib");
  EXPECT_EQ(
      input_error([] {
        line_of({Instance(WeightMatrix{1, {0}}), std::nullopt});
      }),
      "the instance has weights but no coordinates, and one-line text holds only coordinates; write it as tsplib");
  EXPECT_EQ(line_of({Instance(WeightMatrix{1, {0}}, {{3, 4}}), std::nullopt}), "3 4\n");
  EXPECT_THROW(line_of({Instance(), std::nullopt}), InputError);
  EXPECT_THROW(line_of({Instance({{1, 2}}), Tour::identity(2)}), InputError);
}

}  // namespace
}  // namespace puretour
