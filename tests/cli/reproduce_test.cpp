// SPDX-License-Identifier: MIT
#include "cli/command_line.h"
#include "models/model_checks.h"

namespace puretour::test {
namespace {

using Reproduce = CommandLine;

const std::vector<std::string> kTiny = {"reproduce", "--quick",  "--law-scales", "20",          "--law-instances",
                                        "3",         "--scales", "20",           "--instances", "1",
                                        "-o",        "out",      "--models",     "models"};

TEST_F(Reproduce, EndsWithTheNumbersAndTheReport) {
  const CommandResult result = puretour(kTiny);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("12 instances of 4 types"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("There are no networks in models"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("alpha and beta of the law"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("no model"), std::string::npos) << result.out;
  EXPECT_TRUE(result.out.ends_with("/out/report.html\n")) << result.out;
  EXPECT_NE(read("out/report.html").find("report-data"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(read("out/law/law.json"))["instances"], 12);
  EXPECT_EQ(nlohmann::json::parse(read("out/evaluation/evaluate.json"))["results"].size(), 4U * 4);

  // With a network the same folder goes on: only the network's tours are made.
  const std::string samples = read("out/law/samples/uniform-20.samples");
  const std::string references = read("out/evaluation/data/uniform-20.references");
  make_folder("models");
  write("models/am.safetensors", format_checkpoint(tiny_checkpoint()));
  ASSERT_EQ(puretour(kTiny).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(read("out/evaluation/evaluate.json"))["results"].size(), 4U * 5);
  EXPECT_EQ(read("out/law/samples/uniform-20.samples"), samples);
  EXPECT_EQ(read("out/evaluation/data/uniform-20.references"), references);
}

TEST_F(Reproduce, PlansBeforeItWorks) {
  const std::string plan = output({"reproduce", "--full", "--plan"});
  EXPECT_NE(plan.find("15872 instances of 84 types"), std::string::npos) << plan;
  EXPECT_NE(plan.find("2240 instances, 0 networks, 4 other solvers"), std::string::npos) << plan;
  EXPECT_FALSE(exists("out"));
}

TEST_F(Reproduce, RefusesWhatItCannotDo) {
  expect_refused({"reproduce"}, "either --quick");
  expect_refused({"reproduce", "--quick", "--full"}, "either --quick");
  expect_refused({"reproduce", "--quick", "--tsplib", "nowhere"}, "no such folder");
  expect_refused({"reproduce", "--quick", "--law-instances", "many"}, "--instances is 'many'");
}

}  // namespace
}  // namespace puretour::test
