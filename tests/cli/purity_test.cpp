// SPDX-License-Identifier: MIT
#include <cmath>
#include <numeric>
#include <sstream>

#include "cli/command_line.h"
#include "puretour/purity/pupo.h"
#include "puretour/purity/tour_purity.h"
#include "puretour/tour/line_format.h"
#include "support/point_sets.h"
#include "support/xml.h"

namespace puretour::test {
namespace {

using Purity = CommandLine;

std::string sample_line(std::span<const Point> points, std::span<const NodeId> tour) {
  std::string line;
  append_sample_line(line, {Instance(std::vector<Point>(points.begin(), points.end())),
                            Tour(std::vector<NodeId>(tour.begin(), tour.end()))});
  return line;
}

const double kHandLength = 2 * std::sqrt(5) + std::sqrt(10) + std::sqrt(41) + std::sqrt(13);

TEST_F(Purity, TheHandExampleAsATable) {
  write("hand.txt", kHandLine);
  EXPECT_EQ(output({"purity", "hand.txt"}),
            "tour      nodes       length   Prop-0  APO(all)  APO(non-0)  worst\n"
            "------------------------------------------------------------------\n"
            "hand.txt      5  17.64308913  80.00 %    0.2000      1.0000      1\n");
}

TEST_F(Purity, TheHandExampleAsJson) {
  const nlohmann::json document = json({"purity", "-", "--json"}, kHandLine);
  const nlohmann::json metrics = {
      {"edges", 5}, {"prop_0", 0.8}, {"apo_all", 0.2}, {"apo_non_0", 1.0}, {"histogram", {4, 1}}};
  EXPECT_EQ(document["pooled"], metrics);
  ASSERT_EQ(document["tours"].size(), 1U);
  nlohmann::json tour = document["tours"][0];
  EXPECT_EQ(tour["name"], "stdin");
  EXPECT_EQ(tour["nodes"], 5);
  EXPECT_NEAR(tour["length"].get<double>(), kHandLength, 1e-12);
  for (const char* key : {"name", "nodes", "length"}) tour.erase(key);
  EXPECT_EQ(tour, metrics);
}

TEST_F(Purity, ATourFileGivesTheSameAsATourInALine) {
  write("hand.tsp", kHandTsp);
  write("hand.tour", kHandTour);
  const nlohmann::json expected = json({"purity", "-", "--json"}, kHandLine)["pooled"];
  EXPECT_EQ(json({"purity", "hand.tsp", "--tour", "hand.tour", "--json"})["pooled"], expected);
  EXPECT_EQ(json({"purity", "hand.tsp", "--tour", "-", "--json"}, kHandTour)["pooled"], expected);
  EXPECT_EQ(json({"purity", "-", "--tour", "hand.tour", "--json"}, kHandTsp)["pooled"], expected);
  // EUC_2D rounds every distance: 2 + 2 + 3 + 6 + 4.
  EXPECT_EQ(json({"purity", "hand.tsp", "--tour", "hand.tour", "--json"})["tours"][0]["length"], 17.0);
}

TEST_F(Purity, ManyToursArePooledAndAgreeWithTheLibrary) {
  std::string lines;
  PurityHistogram expected;
  std::vector<NodeId> tour(40);
  std::iota(tour.begin(), tour.end(), 0);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto points = integer_points(tour.size(), seed, 1000);
    lines += sample_line(points, tour);
    expected.add(tour_orders(points, tour));
  }
  const nlohmann::json document = json({"purity", "-", "--json"}, lines);
  EXPECT_EQ(document["tours"].size(), 3U);
  EXPECT_EQ(document["tours"][2]["name"], "stdin #3");
  const nlohmann::json& pooled = document["pooled"];
  EXPECT_EQ(pooled["histogram"], std::vector<std::uint64_t>(expected.counts().begin(), expected.counts().end()));
  EXPECT_EQ(pooled["edges"], 3 * tour.size());
  EXPECT_EQ(pooled["apo_all"], expected.mean_order());
  for (const char* threads : {"1", "3"}) {
    EXPECT_EQ(json({"purity", "-", "--json", "--threads", threads}, lines), document);
  }
}

TEST_F(Purity, ManyToursGetOneRowUnlessEachIsAskedFor) {
  const auto num_lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += kHandLine;
  EXPECT_EQ(num_lines(output({"purity", "-"}, lines)), 2 + 20 + 1);
  lines += kHandLine;
  const std::string table = output({"purity", "-"}, lines);
  EXPECT_EQ(num_lines(table), 2 + 1);
  EXPECT_NE(table.find("all 21 tours"), std::string::npos);
  EXPECT_EQ(num_lines(output({"purity", "-", "--each"}, lines)), 2 + 21 + 1);
}

TEST_F(Purity, EdgesAreListedWithLengthAndOrder) {
  const std::string expected =
      fmt::format("from,to,length,order\n1,3,{0},0\n3,2,{0},0\n2,5,{1},0\n5,4,{2},1\n4,1,{3},0\n", std::sqrt(5.0),
                  std::sqrt(10.0), std::sqrt(41.0), std::sqrt(13.0));
  output({"purity", "-", "--edges", "edges.csv"}, kHandLine);
  EXPECT_EQ(read("edges.csv"), expected);
  EXPECT_EQ(output({"purity", "-", "--edges", "-"}, kHandLine), expected) << "without a table in between";
}

TEST_F(Purity, WeightsAreThoseWorkedOutByHand) {
  const std::string header = "step,node,weight,availability_after,cost_of_next_edge\n";
  EXPECT_EQ(output({"purity", "-", "--weights", "-", "--discount", "1"}, kHandLine),
            header + "1,1,1,0,0\n2,3,2,0,1\n3,2,2,1,-1\n4,5,1,0,1\n5,4,2,0,0\n");
  output({"purity", "-", "--weights", "w.csv", "--discount", "0.5"}, kHandLine);
  EXPECT_EQ(read("w.csv"), header + "1,1,1,0,0\n2,3,1.375,0,1\n3,2,1.75,1,-1\n4,5,0.5,0,1\n5,4,2,0,0\n");
}

TEST_F(Purity, ClampingRaisesNegativeWeightsToZero) {
  const auto points = integer_points(60, 5, 1000);
  const OrderMatrix orders(points);
  std::vector<NodeId> tour(points.size());
  std::iota(tour.begin(), tour.end(), 0);
  std::vector<double> expected;
  // Most tours have no negative weight; the first of these that has one is taken.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng(seed).shuffle(tour.data(), tour.size());
    expected = pupo_trace(orders, tour, {.discount = 0}).weights;
    if (*std::min_element(expected.begin(), expected.end()) < 0) break;
  }
  ASSERT_LT(*std::min_element(expected.begin(), expected.end()), 0);
  const auto weights = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"purity", "-", "--weights", "-", "--discount", "0"});
    std::istringstream csv(output(options, sample_line(points, tour)));
    std::vector<double> result;
    std::string line;
    std::getline(csv, line);
    while (std::getline(csv, line)) result.push_back(std::stod(line.substr(line.find(',', line.find(',') + 1) + 1)));
    return result;
  };
  EXPECT_EQ(weights({}), expected);
  for (double& weight : expected) weight = std::max(weight, 0.0);
  EXPECT_EQ(weights({"--clamp-weights"}), expected);
}

TEST_F(Purity, GabrielCountsPairsUpToAnOrder) {
  const std::array<std::pair<const char*, int>, 3> expected = {{{"0", 6}, {"1", 9}, {"2", 10}}};
  for (const auto& [order, count] : expected) {
    EXPECT_EQ(json({"purity", "-", "--json", "--gabriel", order}, kHandLine)["tours"][0]["gabriel_edges"], count);
  }
  EXPECT_NE(output({"purity", "-", "--gabriel", "1"}, kHandLine).find("pairs of order <= 1\n"), std::string::npos);
}

TEST_F(Purity, ThePictureHasEveryEdge) {
  output({"purity", "-", "--svg", "a.svg"}, kHandLine);
  const auto elements = read_xml(read("a.svg"));
  EXPECT_EQ(elements[0].name, "svg");
  std::vector<std::string> edges;
  for (const XmlElement& element : elements) {
    if (element.name == "title" && element.text.find(" to ") != std::string::npos &&
        element.text.find(": order ") != std::string::npos) {
      edges.push_back(element.text);
    }
  }
  std::sort(edges.begin(), edges.end());
  EXPECT_EQ(edges, (std::vector<std::string>{"1 to 3: order 0", "2 to 5: order 0", "3 to 2: order 0", "4 to 1: order 0",
                                             "5 to 4: order 1"}));
  EXPECT_EQ(output({"purity", "-", "--svg", "-"}, kHandLine).find("Prop-0  "), std::string::npos);
}

TEST_F(Purity, CirclesAreCountedFromTheWorst) {
  const auto num_circles = [this](const std::string& count) {
    const auto elements =
        read_xml(output({"purity", "-", "--svg", "-", "--circles", count}, "0 0 1 0 2 0 3 0 4 0 output 1 5 2 4 3 1\n"));
    return std::count_if(elements.begin(), elements.end(),
                         [](const XmlElement& e) { return e.text.ends_with("nodes inside"); });
  };
  EXPECT_EQ(num_circles("0"), 0);
  EXPECT_EQ(num_circles("2"), 2);
  EXPECT_EQ(num_circles("1000"), 4) << "only impure edges have one";
}

TEST_F(Purity, SmallAndDegenerateInstancesWork) {
  // Two nodes, three nodes, and one place for all.
  for (const std::string line :
       {"1 2 3 4 output 1 2 1\n", "0 0 1 0 0 1 output 1 3 2 1\n", "1 2 1 2 1 2 1 2 output 1 2 3 4 1\n"}) {
    const nlohmann::json pooled = json({"purity", "-", "--json"}, line)["pooled"];
    EXPECT_EQ(pooled["prop_0"], 1.0) << line;
    EXPECT_EQ(pooled["apo_all"], 0.0) << line;
    EXPECT_TRUE(pooled["apo_non_0"].is_null()) << line;
    EXPECT_EQ(pooled["histogram"].size(), 1U) << line;
    EXPECT_NE(output({"purity", "-"}, line).find("100.00 %    0.0000           -      0\n"), std::string::npos);
    EXPECT_NO_THROW(read_xml(output({"purity", "-", "--svg", "-"}, line))) << line;
    output({"purity", "-", "--weights", "-"}, line);
  }
}

TEST_F(Purity, AMissingTourIsSaidTogetherWithTheWayOut) {
  write("hand.tsp", kHandTsp);
  expect_refused({"purity", "hand.tsp"}, "hand: has no tour; give one with --tour FILE");
  expect_refused({"purity", "-"}, "stdin #2: has no tour", std::string(kHandLine) + kHandPoints + "\n");
}

TEST_F(Purity, InstancesWithoutEdgesOrCoordinatesAreRefused) {
  write("weights.tsp", kExplicitTsp);
  write("three.tour", "TYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n1\n3\n2\n-1\nEOF\n");
  write("zero.tsp", "TYPE: TSP\nDIMENSION: 0\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\nEOF\n");
  write("empty.txt", "");
  expect_refused({"purity", "weights.tsp", "--tour", "three.tour"}, "weights: purity needs coordinates");
  expect_refused({"purity", "weights.tsp"}, "weights: purity needs coordinates");
  expect_refused({"purity", "zero.tsp"}, "zero.tsp:2: DIMENSION is 0");
  expect_refused({"purity", "empty.txt"}, "empty.txt:1: the file is empty");
  expect_refused({"purity", "-"}, "standard input:1: the file is empty");
  expect_refused({"purity", "-"}, "stdin: a single node has no edge", "1 2 output 1 1\n");
}

TEST_F(Purity, BadInputIsNamed) {
  write("hand.tsp", kHandTsp);
  write("doubled.tour", "TYPE: TOUR\nDIMENSION: 5\nTOUR_SECTION\n1\n3\n2\n5\n3\n-1\nEOF\n");
  write("short.tour", "TYPE: TOUR\nTOUR_SECTION\n1\n3\n2\n5\n-1\nEOF\n");
  write("other.tour", "TYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n1\n3\n2\n-1\nEOF\n");
  write("truncated.npz", output({"generate", "-n", "20", "--to", "npz"}).substr(0, 150));
  make_folder("folder");
  expect_refused({"purity", "hand.tsp", "--tour", "doubled.tour"}, "node 3 appears twice");
  expect_refused({"purity", "hand.tsp", "--tour", "short.tour"}, "short.tour:");
  expect_refused({"purity", "hand.tsp", "--tour", "other.tour"}, "DIMENSION is 3, but the instance has 5 nodes");
  expect_refused({"purity", "hand.tsp", "--tour", "folder"}, "folder: is a directory");
  expect_refused({"purity", "hand.tsp", "--tour", "hand.tsp"}, "hand.tsp:");
  expect_refused({"purity", "-"}, "node 2 appears twice", "0 0 1 0 0 1 output 1 2 2 1\n");
  expect_refused({"purity", "-"}, "standard input:1: a coordinate is 'nan'", "0 0 1 nan 0 1 output 1 2 3 1\n");
  expect_refused({"purity", "-"}, "standard input:2: ", std::string(kHandLine) + "0 0 1 x output 1 2 1\n");
  expect_refused({"purity", "truncated.npz"}, "truncated.npz:byte ");
  expect_refused({"purity", "missing.txt"}, "missing.txt: cannot read it: No such file or directory");
  expect_refused({"purity", "folder"}, "folder: is a directory");
}

TEST_F(Purity, BadOptionsAreNamed) {
  write("hand.txt", kHandLine);
  expect_refused({"purity", "hand.txt", "--discount", "0.5"}, "--discount requires --weights");
  expect_refused({"purity", "hand.txt", "--clamp-weights"}, "--clamp-weights requires --weights");
  expect_refused({"purity", "hand.txt", "--circles", "2"}, "--circles requires --svg");
  for (const std::string discount : {"2", "-0.1", "nan"}) {
    expect_refused({"purity", "hand.txt", "--weights", "w.csv", "--discount", discount}, "discount is " + discount);
  }
  expect_refused({"purity", "hand.txt", "--weights", "w.csv", "--discount", "half"}, "--discount = half");
  expect_refused({"purity", "hand.txt", "--svg", "a.svg", "--circles", "-1"}, "--circles: '-1'");
  expect_refused({"purity", "hand.txt", "--gabriel", "-1"}, "--gabriel: '-1'");
  expect_refused({"purity", "hand.txt", "--threads", "-1"}, "--threads: '-1'");
  expect_refused({"purity", "hand.txt", "--from", "csv"}, "unknown file format 'csv'");
  expect_refused({"purity", "-", "--tour", "-"}, "standard input (-) is named more than once", kHandLine);
}

TEST_F(Purity, FilesForOneTourRefuseMany) {
  write("two.txt", std::string(kHandLine) + kHandLine);
  for (const std::string option : {"--tour", "--svg", "--edges", "--weights"}) {
    expect_refused({"purity", "two.txt", option, "a"}, "go with one instance, but the input holds 2");
  }
}

TEST_F(Purity, OneResultGoesToOnePlace) {
  write("hand.txt", kHandLine);
  expect_refused({"purity", "hand.txt", "--edges", "-", "--svg", "-"}, "standard output: two results");
  expect_refused({"purity", "hand.txt", "--edges", "a", "--svg", "a"}, "a: two results");
  expect_refused({"purity", "hand.txt", "--edges", "-", "--json"}, "--json and a file (-)");
}

TEST_F(Purity, AllFilesAppearOrNone) {
  write("hand.txt", kHandLine);
  write("a.svg", "an older file");
  make_folder("folder");
  expect_refused({"purity", "hand.txt", "--svg", "a.svg", "--edges", "nowhere/a.csv"}, "nowhere/a.csv: cannot write");
  expect_refused({"purity", "hand.txt", "--svg", "a.svg", "--weights", "folder"}, "folder: is a directory");
  expect_refused({"purity", "hand.txt", "--svg", "a.svg", "--weights", "w.csv", "--discount", "2"}, "discount is 2");
  output({"purity", "hand.txt", "--svg", "a.svg", "--edges", "e.csv", "--weights", "w.csv"});
  EXPECT_EQ(files().size(), 5U);
  EXPECT_NO_THROW(read_xml(read("a.svg")));
}

}  // namespace
}  // namespace puretour::test
