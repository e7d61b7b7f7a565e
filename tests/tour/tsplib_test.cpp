// SPDX-License-Identifier: MIT
#include "puretour/tour/tsplib.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "puretour/base/files.h"
#include "puretour/base/rng.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

const std::filesystem::path kTsplib = std::filesystem::path(PURETOUR_SHARED_DATA) / "tsplib";

Instance read_tsplib(const std::string& name) {
  const std::string path = (kTsplib / (name + ".tsp")).string();
  return parse_tsplib(read_file(path), path);
}

// "berlin52 : 7542", or "name : 123 (note)".
std::map<std::string, double> tsplib_optima() {
  std::map<std::string, double> optima;
  std::istringstream lines(read_file((kTsplib / "solutions").string()));
  std::string name;
  std::string colon;
  std::string rest;
  for (double length = 0; lines >> name >> colon >> length; std::getline(lines, rest)) optima[name] = length;
  return optima;
}

// The optimal tour length by dynamic programming over subsets of nodes 1 .. n - 1 (Held and Karp).
double optimal_length(const Instance& instance) {
  const std::size_t n = instance.size();
  const std::size_t m = n - 1;
  const auto distance = [&](std::size_t i, std::size_t j) {
    return instance.distance(static_cast<NodeId>(i), static_cast<NodeId>(j));
  };
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> best(m << m, infinity);  // [subset * m + last]: shortest path from 0 over subset to last + 1
  for (std::size_t last = 0; last < m; ++last) best[(std::size_t{1} << last) * m + last] = distance(0, last + 1);
  for (std::size_t subset = 1; subset < std::size_t{1} << m; ++subset) {
    for (std::size_t last = 0; last < m; ++last) {
      const double length = best[subset * m + last];
      if (length == infinity) continue;
      for (std::size_t next = 0; next < m; ++next) {
        if ((subset >> next & 1) != 0) continue;
        double& extended = best[(subset | std::size_t{1} << next) * m + next];
        extended = std::min(extended, length + distance(last + 1, next + 1));
      }
    }
  }
  double shortest = infinity;
  for (std::size_t last = 0; last < m; ++last) {
    shortest = std::min(shortest, best[((std::size_t{1} << m) - 1) * m + last] + distance(last + 1, 0));
  }
  return shortest;
}

class TsplibFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTsplib)) GTEST_SKIP() << "no TSPLIB files in " << kTsplib;
  }
};

TEST_F(TsplibFiles, AllParseAndSurviveARoundTrip) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kTsplib)) {
    if (entry.path().extension() != ".tsp") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++count;
    const std::string text = read_file(entry.path().string());
    const Instance instance = parse_tsplib(text, entry.path().string());
    EXPECT_TRUE(same_instance(instance, parse_tsplib(format_tsplib(instance), "again")));
    // The number in the file's name is the number of nodes.
    const std::string stem = entry.path().stem().string();
    EXPECT_EQ(std::stoul(stem.substr(stem.find_first_of("0123456789"))), instance.size());
  }
  EXPECT_EQ(count, 111U);
}

TEST_F(TsplibFiles, CanonicalToursHaveTheDocumentedLengths) {
  for (const auto& [name, length] :
       std::map<std::string, double>{{"pcb442", 221440}, {"gr666", 423710}, {"att532", 309636}}) {
    const Instance instance = read_tsplib(name);
    EXPECT_EQ(tour_length(instance, Tour::identity(instance.size())), length) << name;
  }
}

TEST_F(TsplibFiles, Berlin52OptimumIs7542) {
  std::istringstream numbers(
      "1 49 32 45 19 41 8 9 10 43 33 51 11 52 14 13 47 26 27 28 12 25 4 6 15 5 24 48 38 37 40 39 36 35 34 44 46 16 29 "
      "50 20 23 30 2 7 42 21 17 3 18 31 22");
  std::vector<NodeId> order;
  for (NodeId id = 0; numbers >> id;) order.push_back(id - 1);
  EXPECT_EQ(tour_length(read_tsplib("berlin52"), Tour(order)), 7542);
}

TEST_F(TsplibFiles, SmallInstancesHaveThePublishedOptima) {
  const std::map<std::string, double> optima = tsplib_optima();
  for (const auto& [name, length] :
       std::map<std::string, double>{{"burma14", 3323}, {"ulysses16", 6859}, {"gr17", 2085}}) {
    EXPECT_EQ(optima.at(name), length);
    EXPECT_EQ(optimal_length(read_tsplib(name)), length) << name;
  }
}

TEST_F(TsplibFiles, ExplicitFilesHaveDisplayPointsWhereTsplibGivesThem) {
  EXPECT_TRUE(read_tsplib("bayg29").has_points());
  EXPECT_FALSE(read_tsplib("gr17").has_points());
}

TEST(Tsplib, MetricsGiveTheDistancesOfTheDefinition) {
  const Point origin{0, 0};
  EXPECT_EQ(metric_distance(Metric::kEuc2d, origin, {1, 1}), 1);       // 1.41
  EXPECT_EQ(metric_distance(Metric::kEuc2d, origin, {1.5, 0}), 2);     // halves go up
  EXPECT_EQ(metric_distance(Metric::kCeil2d, origin, {1, 1}), 2);      // 1.41
  EXPECT_EQ(metric_distance(Metric::kCeil2d, origin, {3, 4}), 5);      // exact
  EXPECT_EQ(metric_distance(Metric::kMan2d, origin, {1.3, -1.3}), 3);  // 2.6
  EXPECT_EQ(metric_distance(Metric::kMan2d, origin, {1.2, -1.2}), 2);  // 2.4
  EXPECT_EQ(metric_distance(Metric::kMax2d, origin, {1.4, -2.5}), 3);
  EXPECT_EQ(metric_distance(Metric::kMax2d, origin, {-7, 2}), 7);
  EXPECT_EQ(metric_distance(Metric::kAtt, origin, {10, 0}), 4);  // sqrt(10) = 3.16 rounds to 3, which is below
  EXPECT_EQ(metric_distance(Metric::kAtt, origin, {12, 0}), 4);  // 3.79
  EXPECT_EQ(metric_distance(Metric::kAtt, origin, {1, 3}), 1);   // exact
  EXPECT_EQ(metric_distance(Metric::kEuclidean, origin, {3, 4}), 5);
}

const char* const kSquare =
    "NAME: square\nTYPE: TSP\nCOMMENT: a\nCOMMENT: b\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
    "1 0 0\n2 0 10\n3 10 10\n4 10 0\nEOF\n";

TEST(Tsplib, ReadsTheUsualFile) {
  const Instance instance = parse_tsplib(kSquare, "square.tsp");
  EXPECT_EQ(instance.name(), "square");
  EXPECT_EQ(instance.metric(), Metric::kEuc2d);
  ASSERT_EQ(instance.size(), 4U);
  EXPECT_EQ(instance.points()[1], (Point{0, 10}));
}

TEST(Tsplib, LayoutDoesNotMatter) {
  const Instance plain = parse_tsplib(kSquare, "square.tsp");
  const char* const variants[] = {
      // blanks around colons, no EOF, no end of the last line
      "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 10\n3 10 "
      "10\n4 10 0",
      // CRLF, tabs, blank lines, trailing blanks, a comment, ids in any order, other spellings of numbers
      "\r\n# made by hand\r\nNAME:square \r\nTYPE:\tTSP\t\r\nDIMENSION:4\r\nEDGE_WEIGHT_TYPE:EUC_2D\r\n"
      "NODE_COORD_SECTION \r\n\r\n 3 1e1 +10.0\r\n\t1\t0.\t-0\r\n4 10 .0\r\n  0002 0.0e0 1.0E+01 \r\n\r\nEOF \r\n \r\n",
      // a byte order mark, keywords repeated with equal values, an empty section
      "\xEF\xBB\xBFNAME: square\nTYPE: TSP (by hand)\nDIMENSION: 4\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\n"
      "EDGE_WEIGHT_FORMAT: FUNCTION\nNODE_COORD_TYPE: TWOD_COORDS\nDISPLAY_DATA_TYPE: COORD_DISPLAY\n"
      "FIXED_EDGES_SECTION\n-1\nNODE_COORD_SECTION\n1 0 0\n2 0 10\n3 10 10\n4 10 0\nEOF"};
  for (const char* text : variants) EXPECT_TRUE(same_instance(parse_tsplib(text, "x"), plain)) << text;
}

TEST(Tsplib, EveryMatrixFormatGivesTheSameWeights) {
  const std::string head = "TYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: ";
  const std::map<std::string, std::string> without_diagonal = {
      {"UPPER_ROW", "12 13 23"}, {"LOWER_ROW", "12\n13 23"}, {"UPPER_COL", "12 13\n23"}, {"LOWER_COL", "12 13 23"}};
  const std::map<std::string, std::string> with_diagonal = {{"FULL_MATRIX", "1 12 13\n12 2 23\n13 23 3"},
                                                            {"UPPER_DIAG_ROW", "1 12 13 2 23 3"},
                                                            {"LOWER_DIAG_ROW", "1 12 2 13 23 3"},
                                                            {"UPPER_DIAG_COL", "1 12 2 13 23 3"},
                                                            {"LOWER_DIAG_COL", "1 12 13 2 23 3"}};
  for (const auto& [format, weights] : without_diagonal) {
    const Instance instance = parse_tsplib(head + format + "\nEDGE_WEIGHT_SECTION\n" + weights + "\nEOF\n", "x");
    EXPECT_EQ(instance.matrix()->weights, (std::vector<double>{0, 12, 13, 12, 0, 23, 13, 23, 0})) << format;
  }
  for (const auto& [format, weights] : with_diagonal) {
    const Instance instance = parse_tsplib(head + format + "\nEDGE_WEIGHT_SECTION\n" + weights + "\nEOF\n", "x");
    EXPECT_EQ(instance.matrix()->weights, (std::vector<double>{1, 12, 13, 12, 2, 23, 13, 23, 3})) << format;
  }
}

TEST(Tsplib, InstancesSurviveWritingBitByBit) {
  Rng rng(3);
  std::vector<Point> points;
  for (int i = 0; i < 200; ++i) points.push_back({rng.normal() * 1e-7, rng.uniform() * 1e9});
  points.push_back({std::numeric_limits<double>::denorm_min(), -std::numeric_limits<double>::max()});
  for (const Metric metric : {Metric::kEuclidean, Metric::kEuc2d, Metric::kCeil2d, Metric::kMan2d, Metric::kMax2d,
                              Metric::kAtt, Metric::kGeo}) {
    const Instance instance(points, metric, "two words");
    EXPECT_TRUE(same_instance(instance, parse_tsplib(format_tsplib(instance), "x"))) << metric_name(metric);
  }
  const WeightMatrix matrix{3, {9999, 0.1, 2, 0.1, 0, -1, 2, -1, 0}};
  for (const Instance& instance : {Instance(matrix), Instance(matrix, {{1, 2}, {3, 4}, {5, 6}}, "m")}) {
    EXPECT_TRUE(same_instance(instance, parse_tsplib(format_tsplib(instance), "x")));
  }
}

TEST(Tsplib, FixedEdgesSurviveWriting) {
  const std::vector<FixedEdge> edges = {{2, 0}, {1, 2}};
  const WeightMatrix matrix{4, std::vector<double>(16, 1)};
  for (const Instance& plain :
       {Instance({{0, 0}, {0, 10}, {10, 10}, {10, 0}}, Metric::kEuc2d), Instance(matrix, {}, "m")}) {
    const Instance instance = plain.with_fixed_edges(edges);
    const std::string text = format_tsplib(instance);
    EXPECT_TRUE(text.ends_with("FIXED_EDGES_SECTION\n3 1\n2 3\n-1\nEOF\n")) << text;
    EXPECT_TRUE(same_instance(instance, parse_tsplib(text, "x")));
    EXPECT_FALSE(same_instance(plain, parse_tsplib(text, "x")));
  }
}

TEST(Tsplib, ReadsFixedEdgesWhereverTheSectionStands) {
  const std::string head = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n";
  const std::string points = "NODE_COORD_SECTION\n1 0 0\n2 0 1\n3 1 0\n";
  const std::string edges = "FIXED_EDGES_SECTION\n1 2 2 1\n3 1\n2 3\n-1\n";  // a repetition and a whole cycle
  for (const std::string& text : {head + points + edges, head + edges + points + "EOF\n"}) {
    const Instance instance = parse_tsplib(text, "x");
    EXPECT_EQ(std::vector(instance.fixed_edges().begin(), instance.fixed_edges().end()),
              (std::vector<FixedEdge>{{0, 1}, {2, 0}, {1, 2}}));
  }
}

TEST(Tsplib, ReadsTheFixedEdgeOfLinhp318) {
  if (!std::filesystem::exists(kTsplib)) GTEST_SKIP() << "no TSPLIB files in " << kTsplib;
  const Instance instance = parse_tsplib(read_file(kTsplib / "linhp318.tsp"), "linhp318.tsp");
  ASSERT_EQ(instance.fixed_edges().size(), 1U);
  EXPECT_EQ(instance.fixed_edges()[0], (FixedEdge{0, 213}));
}

TEST(Tsplib, WritesTheExpectedText) {
  EXPECT_EQ(format_tsplib(Instance({{0.5, 1000000}, {2, 3}}, Metric::kEuclidean, " a\nb ")),
            "NAME: a b\nTYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D_REAL\nNODE_COORD_SECTION\n1 0.5 1000000\n2 2 "
            "3\nEOF\n");
  EXPECT_EQ(format_tsplib(Instance(WeightMatrix{2, {0, 7, 7, 0}}, {{1, 2}, {3, 4}})),
            "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_DIAG_ROW\n"
            "DISPLAY_DATA_TYPE: TWOD_DISPLAY\nEDGE_WEIGHT_SECTION\n0\n7 0\nDISPLAY_DATA_SECTION\n1 1 2\n2 3 4\nEOF\n");
  EXPECT_THROW(format_tsplib(Instance()), InputError);
}

struct ErrorCase {
  const char* text;
  const char* message;  // the beginning of it
};

TEST(Tsplib, ErrorsNameTheLineAndTheProblem) {
  const ErrorCase cases[] = {
      {"", "f.tsp:1: the file is empty"},
      {" \r\n\n", "f.tsp:2: the file is empty"},
      {"NAME: x\nTYPE: TSP\n", "f.tsp:2: DIMENSION is missing"},
      {"NODE_COORD_SECTION\n1 0 0\n", "f.tsp:1: no DIMENSION before NODE_COORD_SECTION"},
      {"DIMENSION: 2\nNODE_COORD_SECTION\n1 0 0\n2 0 0\nEOF\n",
       "f.tsp:5: EDGE_WEIGHT_TYPE is missing; add one of EUC_2D"},
      {"DIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\n", "f.tsp:2: EDGE_WEIGHT_TYPE is EUC_2D, but there is no NODE_COORD"},
      {"DIMENSION: 1\nEDGE_WEIGHT_TYPE: EXPLICIT\n", "f.tsp:2: EDGE_WEIGHT_TYPE is EXPLICIT, but there is no EDGE_W"},
      {"DIMENSION: 2\nDIMENSION: 3\n", "f.tsp:2: DIMENSION is '3' here but '2' in line 1"},
      {"DIMENSION: many\n", "f.tsp:1: DIMENSION is 'many', not a whole number"},
      {"DIMENSION: 2.5\n", "f.tsp:1: DIMENSION is '2.5', not a whole number"},
      {"DIMENSION:\n", "f.tsp:1: DIMENSION is '', not a whole number"},
      {"DIMENSION 5\n", "f.tsp:1: unknown keyword 'DIMENSION 5'"},
      {"DIMENSION\n", "f.tsp:1: no ':' after DIMENSION"},
      {"DIMENSION: 0\n", "f.tsp:1: DIMENSION is 0; supported are 1 to 100000000 nodes"},
      {"DIMENSION: -5\n", "f.tsp:1: DIMENSION is -5;"},
      {"DIMENSION: 2000000000\n", "f.tsp:1: DIMENSION is 2000000000;"},
      {"DIMENSION: 99999999999999999999\n", "f.tsp:1: DIMENSION is '99999999999999999999', not"},
      {"TYPE: ATSP\n", "f.tsp:1: TYPE 'ATSP' is not supported; only TSP is"},
      {"TYPE: TOUR\n", "f.tsp:1: TYPE is TOUR: this is a tour file"},
      {"TOUR_SECTION\n", "f.tsp:1: TOUR_SECTION in an instance"},
      {"CAPACITY: 5\n", "f.tsp:1: CAPACITY is not supported; only symmetric TSP"},
      {"EDGE_WEIGHT_TYPE: EUC_3D\n",
       "f.tsp:1: EDGE_WEIGHT_TYPE 'EUC_3D' is not supported; supported are EUC_2D, CEIL_2D, MAN_2D, MAX_2D, ATT, GEO, "
       "EXPLICIT, EUC_2D_REAL"},
      {"EDGE_WEIGHT_FORMAT: ROWS\n", "f.tsp:1: EDGE_WEIGHT_FORMAT 'ROWS' is not supported"},
      {"NODE_COORD_TYPE: THREED_COORDS\n", "f.tsp:1: NODE_COORD_TYPE 'THREED_COORDS' is not supported; supported are"},
      {"DISPLAY_DATA_TYPE: X\n", "f.tsp:1: DISPLAY_DATA_TYPE 'X' is not supported"},
      {"\nDIMENSON: 5\n", "f.tsp:2: unknown keyword 'DIMENSON'; known are NAME"},
      {"12 13\n", "f.tsp:1: unknown keyword '12 13'"},
      {"EOF\nmore\n", "f.tsp:2: unexpected 'more' after EOF"},
      {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
       "f.tsp:1: unknown keyword 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...';"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&] { parse_tsplib(text, "f.tsp"); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
}

TEST(Tsplib, ErrorsInCoordinatesNameTheLine) {
  const std::string head = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n";  // 2 lines
  const ErrorCase cases[] = {
      {"NODE_COORD_SECTION\n1 0 0\n2 0 0\nEOF\n", "f.tsp:6: NODE_COORD_SECTION ends after 2 of 3 nodes"},
      {"NODE_COORD_SECTION\n1 0 0\n2 0 0\n", "f.tsp:5: NODE_COORD_SECTION ends after 2 of 3 nodes"},
      {"NODE_COORD_SECTION\n1 0 0\n2 0", "f.tsp:5: the y coordinate is missing"},
      {"NODE_COORD_SECTION\n1 0 0\n2\n3 0 0\n", "f.tsp:5: the x coordinate is missing"},
      {"NODE_COORD_SECTION\n1 0 0\n1 0 0\n3 0 0\n", "f.tsp:5: node 1 appears twice"},
      {"NODE_COORD_SECTION\n1 0 0\n4 0 0\n3 0 0\n", "f.tsp:5: node number 4 is out of range; nodes are 1 to 3"},
      {"NODE_COORD_SECTION\n0 0 0\n1 0 0\n2 0 0\n", "f.tsp:4: node number 0 is out of range"},
      {"NODE_COORD_SECTION\n1 0 0\n2 0 0\n3 0 0\n4 0 0\n", "f.tsp:7: NODE_COORD_SECTION goes on after all 3 nodes"},
      {"NODE_COORD_SECTION\n1 0 zero\n", "f.tsp:4: the y coordinate is 'zero', not a finite number"},
      {"NODE_COORD_SECTION\n1 nan 0\n", "f.tsp:4: the x coordinate is 'nan', not a finite number"},
      {"NODE_COORD_SECTION\n1 -inf 0\n", "f.tsp:4: the x coordinate is '-inf', not a finite number"},
      {"NODE_COORD_SECTION\n1 1e999 0\n", "f.tsp:4: the x coordinate is '1e999', not a finite number"},
      {"NODE_COORD_SECTION\n1 0x10 0\n", "f.tsp:4: the x coordinate is '0x10', not a finite number"},
      {"NODE_COORD_SECTION\n1 1,5 0\n", "f.tsp:4: the x coordinate is '1,5', not a finite number"},
      {"NODE_COORD_SECTION\n1 +-5 0\n", "f.tsp:4: the x coordinate is '+-5', not a finite number"},
      {"NODE_COORD_SECTION\n1.0 0 0\n", "f.tsp:4: the node number is '1.0', not a whole number"},
      {"NODE_COORD_SECTION\n1 0 0 0\n", "f.tsp:4: unexpected '0' after the coordinates of node 1"},
      {"NODE_COORD_SECTION : 1\n", "f.tsp:3: unexpected '1' after NODE_COORD_SECTION"},
      {"NODE_COORD_SECTION\n1 0 0\n2 0 0\n3 0 0\nNODE_COORD_SECTION\n",
       "f.tsp:7: second NODE_COORD_SECTION; the first"},
      {"NODE_COORD_SECTION\n1 0 0\n2 0 0\n3 0 0\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n",
       "f.tsp:7: EDGE_WEIGHT_FORMAT UPPER_ROW contradicts EDGE_WEIGHT_TYPE EUC_2D in line 2"},
      {"EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3\n", "f.tsp:4: EDGE_WEIGHT_SECTION contradicts"},
      {"FIXED_EDGES_SECTION\n1 2\nEOF\n", "f.tsp:5: FIXED_EDGES_SECTION is not finished"},
      {"FIXED_EDGES_SECTION\n1 4\n-1\n", "f.tsp:4: node number 4 is out of range; nodes are 1 to 3 (DIMENSION)"},
      {"FIXED_EDGES_SECTION\n1 2\n0 1\n-1\n", "f.tsp:5: node number 0 is out of range; nodes are 1 to 3 (DIMENSION)"},
      {"FIXED_EDGES_SECTION\n1 2\n3 3\n-1\n", "f.tsp:5: fixed edge 3-3 joins node 3 to itself; remove it"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&] { parse_tsplib(head + text, "f.tsp"); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
}

TEST(Tsplib, ErrorsInFixedEdgesNameTheLine) {
  const std::string head = "DIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nFIXED_EDGES_SECTION\n";  // 3 lines
  const ErrorCase cases[] = {
      {"1 2\n1 3\n4 1\n-1\n",
       "f.tsp:6: node 1 has three fixed edges, to 2, 3 and 4; a tour has two edges at each node, so remove one of "
       "them"},
      {"5 4\n1 2\n3 2\n1 3\n-1\n",
       "f.tsp:7: fixed edge 1-3 closes a cycle of 3 of the 5 nodes; a tour is one cycle through all of them, so remove "
       "an "
       "edge of it"},
      {"1 2\n1", "f.tsp:5: the second node of a fixed edge is missing"},
      {"1 2\n-9223372036854775808 1\n-1\n", "f.tsp:5: node number -9223372036854775808 is out of range"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&] { parse_tsplib(head + text, "f.tsp"); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
}

TEST(Tsplib, ErrorsInWeightsNameTheLine) {
  const std::string head = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\n";  // 2 lines
  const ErrorCase cases[] = {
      {"EDGE_WEIGHT_SECTION\n1 2 3\n", "f.tsp:3: no EDGE_WEIGHT_FORMAT before EDGE_WEIGHT_SECTION; add one of FULL_"},
      {"EDGE_WEIGHT_FORMAT: FUNCTION\nEDGE_WEIGHT_SECTION\n",
       "f.tsp:3: EDGE_WEIGHT_FORMAT 'FUNCTION' is not supported"},
      {"EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2\n",
       "f.tsp:5: EDGE_WEIGHT_SECTION ends after 2 of 3 weights (UPPER_ROW, DIMENSION 3)"},
      {"EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1\n2 x\n",
       "f.tsp:6: EDGE_WEIGHT_SECTION ends after 2 of 3 weights (UPPER_ROW, DIMENSION 3) at 'x'"},
      {"EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3\n4\n",
       "f.tsp:6: EDGE_WEIGHT_SECTION goes on after all 3 weights"},
      {"EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3x\n", "f.tsp:5: the weight is '3x', not a finite"},
      {"EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n2 4 0\n",
       "f.tsp:7: weight (3, 2) is 4 but (2, 3) is 3; only symmetric weights are supported"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&] { parse_tsplib(head + text, "f.tsp"); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
  EXPECT_EQ(input_error([] {
              parse_tsplib("DIMENSION: 20001\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1\n", "f.tsp");
            }),
            "f.tsp:3: a matrix of weights for 20001 nodes is too large; at most 20000 nodes are supported");
}

TEST(Tsplib, AFalseDimensionTakesNoMemory) {
  // 100 million points or 20,000^2 weights would take gigabytes and seconds.
  EXPECT_EQ(input_error([] {
              parse_tsplib("DIMENSION: 100000000\nNODE_COORD_SECTION\n99999999 1 2\n100000000 1 2\n", "f.tsp");
            }),
            "f.tsp:4: NODE_COORD_SECTION ends after 2 of 100000000 nodes (DIMENSION)");
  EXPECT_EQ(input_error([] {
              parse_tsplib("DIMENSION: 20000\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n1 2\n", "f.tsp");
            }),
            "f.tsp:4: EDGE_WEIGHT_SECTION ends after 2 of 400000000 weights (FULL_MATRIX, DIMENSION 20000)");
}

TEST(TsplibTour, ReadsTheUsualLayouts) {
  const Tour tour(std::vector<NodeId>{2, 0, 1, 3});
  const char* const texts[] = {
      "NAME : x\nCOMMENT : Length = 5\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n3\n1\n2\n4\n-1\nEOF\n",
      "TYPE: TOUR\r\nTOUR_SECTION\r\n3 1\r\n2 4 -1\r\n",
      "TOUR_SECTION\n3 1 2 4\nEOF",
      "TOUR_SECTION\n3 1 2 4 -1 -1\nEOF\n",
      "DIMENSION: 4\nTOUR_SECTION\n3 1 2 4",
      "TOUR_SECTION\n3 1 2 4\n-1\nDIMENSION: 4\n"};
  for (const char* text : texts) {
    EXPECT_EQ(parse_tsplib_tour(text, "x"), tour) << text;
    EXPECT_EQ(parse_tsplib_tour(text, "x", 4), tour) << text;
  }
}

TEST(TsplibTour, WritesTheNormalForm) {
  EXPECT_EQ(format_tsplib_tour(Tour(std::vector<NodeId>{2, 1, 0, 3}), "x", 12.5),
            "NAME: x\nTYPE: TOUR\nCOMMENT: Length = 12.5\nDIMENSION: 4\nTOUR_SECTION\n1\n2\n3\n4\n-1\nEOF\n");
  EXPECT_EQ(format_tsplib_tour(Tour::identity(1), ""), "TYPE: TOUR\nDIMENSION: 1\nTOUR_SECTION\n1\n-1\nEOF\n");
  EXPECT_THROW(format_tsplib_tour(Tour(), "x"), InputError);
}

TEST(TsplibTour, RandomToursSurviveARoundTrip) {
  Rng rng(11);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<NodeId> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<NodeId>(i);
    rng.shuffle(order.data(), n);
    const Tour tour(order);
    EXPECT_EQ(parse_tsplib_tour(format_tsplib_tour(tour, "r"), "x", n), tour.normal_form());
  }
}

TEST(TsplibTour, ErrorsNameTheLineAndTheProblem) {
  const ErrorCase cases[] = {
      {"", "f.tour:1: the file is empty"},
      {"NAME: x\nTYPE: TOUR\n", "f.tour:2: TOUR_SECTION is missing"},
      {"TYPE: TSP\n", "f.tour:1: TYPE is 'TSP', but a tour file needs TOUR"},
      {"EDGE_WEIGHT_TYPE: EUC_2D\n", "f.tour:1: unknown keyword 'EDGE_WEIGHT_TYPE' in a tour file"},
      {"TOUR_SECTION\n1\n2\n2\n3\n-1\n", "f.tour:4: node 2 appears twice in the tour (positions 2 and 3)"},
      {"TOUR_SECTION\n1\n5\n2\n-1\n", "f.tour:3: node number 5 is out of range; the tour has 3 nodes"},
      {"TOUR_SECTION\n1\n0\n-1\n", "f.tour:3: node number 0 is out of range"},
      {"TOUR_SECTION\n1\n-2\n-1\n", "f.tour:3: node number -2 is out of range"},
      {"TOUR_SECTION\n1\n2\n", "f.tour:3: the tour ends after 2 nodes without -1 or EOF: the file is cut off"},
      {"TOUR_SECTION\n-1\n", "f.tour:2: the tour ends after 0 of 1 nodes"},
      {"DIMENSION: 3\nTOUR_SECTION\n1\n2\nEOF\n", "f.tour:5: the tour ends after 2 of 3 nodes"},
      {"DIMENSION: 2\nTOUR_SECTION\n1\n2\n1\n-1\n", "f.tour:5: the tour goes on after all 2 nodes"},
      {"DIMENSION: 2\nTOUR_SECTION\n1\n3\n-1\n", "f.tour:4: node number 3 is out of range; nodes are 1 to 2"},
      {"TOUR_SECTION\n1 2 -1\n2 1 -1\n", "f.tour:3: unexpected '2' after the end of the tour"},
      {"TOUR_SECTION\n1 x\n", "f.tour:2: unknown keyword 'x' in a tour file"},
      {"TOUR_SECTION\n1 2x\n", "f.tour:2: the node number is '2x', not a whole number"},
      {"TOUR_SECTION\n1 -1\nTOUR_SECTION\n", "f.tour:3: second TOUR_SECTION"},
      {"TOUR_SECTION\n1 2 -1\nDIMENSION: 3\n", "f.tour:3: the tour has 2 nodes, expected 3"},
      {"TOUR_SECTION\n1 -1\nEOF\nx\n", "f.tour:4: unexpected 'x' after EOF"},
      {"DIMENSION: 100000000\nTOUR_SECTION\n1\n", "f.tour:3: the tour ends after 1 of 100000000 nodes"},
  };
  for (const auto& [text, message] : cases) {
    const std::string seen = input_error([&] { parse_tsplib_tour(text, "f.tour"); });
    EXPECT_TRUE(seen.starts_with(message)) << "input: " << text << "\nmessage: " << seen;
  }
  EXPECT_EQ(input_error([] { parse_tsplib_tour("DIMENSION: 2\nTOUR_SECTION\n1 2 -1\n", "f.tour", 3); }),
            "f.tour:1: DIMENSION is 2, but the instance has 3 nodes");
  EXPECT_EQ(input_error([] { parse_tsplib_tour("TOUR_SECTION\n1 2 -1\n", "f.tour", 3); }),
            "f.tour:2: the tour ends after 2 of 3 nodes");
}

}  // namespace
}  // namespace puretour
