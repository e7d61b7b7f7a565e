// SPDX-License-Identifier: MIT
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "support/xml.h"

namespace puretour::test {
namespace {

using Law = CommandLine;

TEST_F(Law, TheExperimentLeavesTableAndPictures) {
  const std::vector<std::string> arguments = {
      "law", "--scales", "20,25", "--distributions", "uniform,explosion", "--instances", "5", "-o", "out"};
  const std::string table = output(arguments);
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
  EXPECT_EQ(output(arguments), table);
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

TEST_F(Law, RefusesWhatItCanNotDo) {
  write("bare.txt", output({"generate", "-n", "10"}));
  expect_refused({"law"}, "give a folder with -o");
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
