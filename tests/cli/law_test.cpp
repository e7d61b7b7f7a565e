// SPDX-License-Identifier: MIT
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "support/xml.h"

namespace puretour::test {
namespace {

constexpr const char* kNoPngs =
    "puretour: rsvg-convert is not installed, so PNGs are left out (Debian: librsvg2-bin)\n";

class Law : public CommandLine {
 protected:
  /// The standard output of a call that makes pictures; where PNGs cannot be made, it says so once.
  std::string output_with_pictures(const std::vector<std::string>& arguments) const {
    const CommandResult result = puretour(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.err.empty() || result.err == kNoPngs) << result.err;
    return result.out;
  }
};

TEST_F(Law, TheExperimentLeavesTableAndPictures) {
  const std::vector<std::string> arguments = {
      "law", "--scales", "20,25", "--distributions", "uniform,explosion", "--instances", "5", "-o", "out"};
  const std::string table = output_with_pictures(arguments);
  EXPECT_NE(table.find("explosion 25"), std::string::npos) << table;
  const std::string csv = read("out/law.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  for (const char* name : {"law_curves", "law_metrics", "law_fits"}) {
    EXPECT_NO_THROW(XmlReader(read(std::string("out/") + name + ".svg")).read()) << name;
  }
  const auto json = nlohmann::json::parse(read("out/law.json"));
  EXPECT_EQ(json.at("types").size(), 4U);
  EXPECT_EQ(json.at("types").at(0).at("edges"), 100);
  // Again: nothing is left to solve, and nothing changes.
  EXPECT_EQ(output_with_pictures(arguments), table);
  EXPECT_EQ(read("out/law.csv"), csv);
}

TEST_F(Law, MeasuresToursInFiles) {
  const CommandResult made = shell("puretour generate -n 60 -c 10 --seed 3 | puretour solve - -q -o solved.txt");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string table = output({"law", "solved.txt"});
  EXPECT_NE(table.find("solved.txt"), std::string::npos) << table;
  const auto json = nlohmann::json::parse(output({"law", "solved.txt", "--json"}));
  EXPECT_EQ(json.at("solved.txt").at("edges"), 600);
  EXPECT_GT(json.at("solved.txt").at("prop_0"), 0.8);
  EXPECT_NE(output({"law", "solved.txt", "solved.txt"}).find("all 20 tours"), std::string::npos);
}

TEST_F(Law, TakesToursOfTsplibFilesFromAFolder) {
  write("hand.tsp", kHandTsp);
  make_folder("tours");
  write("tours/hand.tour", kHandTour);
  // By hand: in the circle on (7,1) and (2,-3) lies (4,0), and on it (2,1), where the angle is right; the four other
  // edges have order 0 and no ties.
  const auto measured = json({"law", "hand.tsp", "--tours", "tours", "--json"});
  EXPECT_EQ(measured.at("hand.tsp").at("histogram"), nlohmann::json({4, 1}));
  EXPECT_EQ(measured.at("hand.tsp").at("tied_edges"), 0.2);
  const std::string table = output({"law", "hand.tsp", "hand.tsp", "--tours", "tours"});
  EXPECT_NE(table.find("ties"), std::string::npos) << table;
  EXPECT_NE(table.find("all 2 tours"), std::string::npos) << table;
  expect_refused({"law", "hand.tsp"}, "name its folder here with --tours");
  expect_refused({"law", "hand.tsp", "--tours", "."}, "hand.tour");
}

TEST_F(Law, ChecksThePropositions) {
  const std::vector<std::string> arguments = {"law", "--propositions", "--instances", "1", "-o", "out"};
  const std::string table = output_with_pictures(arguments);
  EXPECT_NE(table.find("the 0-order graph is connected"), std::string::npos) << table;
  EXPECT_NE(table.find("FAILS"), std::string::npos) << table;
  EXPECT_NE(table.find("3 vertices: U = {"), std::string::npos) << table;
  EXPECT_NO_THROW(XmlReader(read("out/counterexamples.svg")).read());
  EXPECT_NO_THROW(XmlReader(read("out/supermodularity.svg")).read());
  const std::string csv = read("out/propositions.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 8 * 5);
  const auto one = json({"law", "--propositions", "--instances", "1", "--json", "--threads", "1"});
  EXPECT_EQ(one, json({"law", "--propositions", "--instances", "1", "--json", "--threads", "3"}));
  EXPECT_EQ(one.at("claims").at("existence").at("violations"), 0);
  EXPECT_EQ(one.at("claims").at("supermodularity").at("verdict"), "FAILS");
  EXPECT_EQ(one, nlohmann::json::parse(read("out/propositions.json")));
}

TEST_F(Law, MeasuresToursOfDifferentQuality) {
  const std::string table = output_with_pictures({"law", "--sensitivity", "--scales", "40", "--instances", "2",
                                                  "--distributions", "uniform,clustered", "-o", "out"});
  EXPECT_NE(table.find("clustered 40: nearest neighbour"), std::string::npos) << table;
  const std::string csv = read("out/sensitivity.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 13);
  EXPECT_NO_THROW(XmlReader(read("out/sensitivity.svg")).read());
  EXPECT_NO_THROW(XmlReader(read("out/sensitivity_named.svg")).read());
  EXPECT_EQ(nlohmann::json::parse(read("out/sensitivity.json")).at("rows").at(0).at("group"), "optimal");
}

TEST_F(Law, WithoutTheProgramForPngsEverythingElseIsThere) {
  const CommandResult result = run_command(
      {"/usr/bin/env", "PATH=/nowhere", PURETOUR_COMMAND, "law", "--propositions", "--instances", "1", "-o", "out"}, "",
      path(""));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, kNoPngs);
  EXPECT_TRUE(exists("out/counterexamples.svg"));
  EXPECT_FALSE(exists("out/counterexamples.png"));
}

TEST_F(Law, RefusesWhatItCannotDo) {
  write("bare.txt", output({"generate", "-n", "10"}));
  expect_refused({"law"}, "give a folder with -o");
  expect_refused({"law", "--propositions", "--sensitivity"}, "not both");
  expect_refused({"law", "--propositions", "bare.txt"}, "leave out bare.txt");
  expect_refused({"law", "--propositions", "--scales", "20"}, "leave out --scales");
  expect_refused({"law", "--sensitivity", "--scales", "5"}, "5 nodes; give 12 .. 20000");
  expect_refused({"law", "--sensitivity", "--scales", "20001"}, "20001 nodes; give 12 .. 20000");
  expect_refused({"law", "--sensitivity", "--with", "lk"}, "--with is for the experiment");
  expect_refused({"law", "-o", "out", "--tours", "."}, "--tours is for files to measure");
  expect_refused({"law", "--sensitivity", "--instances", "0"}, "--instances is '0'");
  expect_refused({"law", "--propositions", "-o", "bare.txt/x", "--instances", "1"}, "cannot make this folder");
  expect_refused({"law", "bare.txt"}, "has no tour");
  expect_refused({"law", "bare.txt", "-o", "out"}, "not both");
  expect_refused({"law", "-o", "out", "--instances", "many"}, "--instances is 'many'");
  expect_refused({"law", "-o", "out", "--instances", "0"}, "--instances is '0'");
  expect_refused({"law", "-o", "out", "--scales", "3"}, "3 is outside 5 .. 100000");
  expect_refused({"law", "-o", "out", "--distributions", "round"}, "round");
  expect_refused({"law", "-o", "out", "--with", "magic", "--scales", "20"}, "unknown solver 'magic'");
}

}  // namespace
}  // namespace puretour::test
