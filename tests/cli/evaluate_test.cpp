// SPDX-License-Identifier: MIT
#include <sstream>

#include "cli/command_line.h"
#include "models/model_checks.h"
#include "support/xml.h"

namespace puretour::test {
namespace {

class Evaluate : public CommandLine {
 protected:
  /// The standard output of a call that makes a picture; where PNGs cannot be made, it says so.
  std::string output_with_picture(const std::vector<std::string>& arguments) const {
    const CommandResult result = puretour(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.err.empty() || result.err.starts_with("puretour: rsvg-convert is not installed")) << result.err;
    return result.out;
  }
};

Checkpoint trained(const std::string& method) {
  Checkpoint checkpoint = tiny_checkpoint();
  if (method == "pupo") {
    for (auto& [name, tensor] : checkpoint.weights) {
      for (float& value : tensor.values) value *= 0.5F;
    }
  }
  checkpoint.notes["training_recipe"] = "nodes = 50\nmethod = \"" + method + "\"\n";
  return checkpoint;
}

TEST_F(Evaluate, ComparesNetworksAndClassicalSolvers) {
  make_folder("models");
  write("models/am50-vanilla.safetensors", format_checkpoint(trained("vanilla")));
  write("models/am50-pupo.safetensors", format_checkpoint(trained("pupo")));
  const std::vector<std::string> arguments = {
      "evaluate",        "--models", "models",      "--solvers", "2opt,lk", "--scales", "20,30",
      "--distributions", "uniform",  "--instances", "4,3",       "-o",      "out"};
  const std::string table = output_with_picture(arguments);
  EXPECT_NE(table.find("AM-50: am50-pupo - am50-vanilla"), std::string::npos) << table;
  const auto document = nlohmann::json::parse(read("out/evaluate.json"));
  EXPECT_EQ(document["results"].size(), 8U);
  EXPECT_EQ(document["pairs"].size(), 3U);
  EXPECT_GT(document["results"][0]["gap"]["mean"], 0.01) << "random weights";
  EXPECT_NEAR(document["results"][3]["gap"]["mean"].get<double>(), 0, 1e-6) << "20 nodes are easy for lk";
  // Again: nothing is left to solve, and nothing changes; the data are files that other verbs read.
  const std::string csv = read("out/instances.csv");
  EXPECT_EQ(output_with_picture(arguments), table);
  EXPECT_EQ(read("out/instances.csv"), csv);
  EXPECT_NO_THROW(XmlReader(read("out/gaps.svg")).read());
  EXPECT_NE(output({"purity", "out/data/uniform-20.txt"}).find("4 tours"), std::string::npos);
}

// Everything but the column of seconds.
std::string without_times(const std::string& csv) {
  std::string result;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int column = 0; std::getline(fields, field, ','); ++column) {
      constexpr int kSecondsColumn = 7;
      if (column != kSecondsColumn) result += field + ",";
    }
    result += "\n";
  }
  return result;
}

TEST_F(Evaluate, GoesOnAfterAKill) {
  const std::string work = "evaluate -q --solvers 2opt,lk --scales 60 --instances 3 --seed 3 --threads 2";
  ASSERT_EQ(shell("puretour " + work + " -o whole").exit_code, 0);
  for (const char* seconds : {"0.05", "0.1", "0.2", "0.3", "0.4", "0.6", "0.8"}) {
    static_cast<void>(shell(fmt::format("timeout -s KILL {} puretour {} -o parts", seconds, work)));
  }
  ASSERT_EQ(shell("puretour " + work + " -o parts").exit_code, 0);
  EXPECT_EQ(without_times(read("parts/instances.csv")), without_times(read("whole/instances.csv")));
}

TEST_F(Evaluate, RefusesWhatItCannotDo) {
  make_folder("empty");
  expect_refused({"evaluate", "-o", "out"}, "there is nothing to evaluate");
  expect_refused({"evaluate", "--models", "empty", "-o", "out"}, "there is no network");
  expect_refused({"evaluate", "--models", "nowhere", "-o", "out"}, "no such file or folder");
  expect_refused({"evaluate", "--solvers", "magic", "-o", "out"}, "unknown solver 'magic'");
  expect_refused({"evaluate", "--solvers", "2opt", "--data", "empty", "-o", "out"}, "holds no instances");
  expect_refused({"evaluate", "--solvers", "2opt", "--data", "nowhere", "-o", "out"}, "no such folder");
  expect_refused({"evaluate", "--solvers", "2opt", "--data", "uniform-3", "-o", "out"}, "'3' is not a whole number");
  expect_refused({"evaluate", "--solvers", "2opt", "--data", "uniform-20:x", "-o", "out"}, "'x' is not a whole number");
  expect_refused({"evaluate", "--solvers", "2opt", "--scales", "3", "-o", "out"}, "outside 5 .. 100000");
  expect_refused({"evaluate", "--solvers", "2opt", "--scales", "20", "--instances", "1,2", "-o", "out"}, "2 numbers");
  expect_refused({"evaluate", "--solvers", "2opt", "--instances", "0", "-o", "out"}, "0 instances");
  expect_refused({"evaluate", "--solvers", "2opt", "--distributions", "odd", "-o", "out"}, "odd");
  expect_refused({"evaluate", "--solvers", "2opt,2opt", "--scales", "20", "-o", "out"}, "two solvers");
  expect_refused({"evaluate", "--solvers", "2opt", "--reference", "magic", "-o", "out"}, "unknown solver");
  expect_refused({"evaluate", "--solvers", "2opt"}, "--output is required");
  write("m.safetensors", format_checkpoint(tiny_checkpoint()));
  expect_refused({"evaluate", "--models", "m.safetensors", "--augment", "7", "-o", "out"}, "7");
  expect_refused({"evaluate", "--models", "m.safetensors", "--decode", "best", "-o", "out"}, "decoding 'best'");
}

}  // namespace
}  // namespace puretour::test
