// The program as a whole: help, examples, unknown words, standard output that cannot be written.
// SPDX-License-Identifier: MIT
#include <sstream>

#include "cli/command_line.h"
#include "models/legacy_file.h"
#include "models/model_checks.h"
#include "puretour/base/build_info.h"

namespace puretour::test {
namespace {

using Program = CommandLine;

const std::vector<std::string> kVerbs = {"generate", "solve",  "purity",    "convert", "law",
                                         "evaluate", "report", "reproduce", "models",  "info"};

TEST_F(Program, CalledBareItPrintsTheHelp) {
  const std::string help = output({});
  EXPECT_EQ(output({"--help"}), help);
  EXPECT_EQ(output({"-h"}), help);
  for (const std::string& verb : kVerbs) EXPECT_NE(help.find("\n  " + verb + " "), std::string::npos) << verb;
  EXPECT_NE(help.find("Examples:\n"), std::string::npos);
}

TEST_F(Program, EveryVerbHasHelpWithAnExampleThatFitsTheTerminal) {
  for (const std::string& verb : kVerbs) {
    const std::string help = output({verb, "--help"});
    EXPECT_NE(help.find("Usage: puretour " + verb), std::string::npos) << help;
    EXPECT_NE(help.find("\nExample"), std::string::npos) << help;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  }
}

TEST_F(Program, EveryExampleOfTheHelpRuns) {
  write("berlin52.tsp", kHandTsp);
  write("berlin52.tour", kHandTour);
  write("cities.npz", output({"generate", "-n", "5", "--to", "npz"}));
  write("epoch-99.pt", LegacyFile(tiny_checkpoint().weights).bytes());
  write("am.safetensors", format_checkpoint(tiny_checkpoint()));
  make_folder("models");
  write("models/am.safetensors", format_checkpoint(tiny_checkpoint()));
  std::size_t num_examples = 0;
  for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                                  {"generate", "--help"},
                                                                                  {"purity", "--help"},
                                                                                  {"convert", "--help"},
                                                                                  {"models", "--help"},
                                                                                  {"info", "--help"}}) {
    std::istringstream lines(output(arguments));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  puretour ")) continue;
      if (line.starts_with("  puretour train")) continue;      // needs LibTorch and minutes: see tests/train
      if (line.starts_with("  puretour reproduce")) continue;  // needs minutes
      ++num_examples;
      const CommandResult result = shell(line);
      EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
      EXPECT_EQ(result.err, "") << line;
    }
  }
  EXPECT_GE(num_examples, 8U);
  for (const char* name : {"cities.txt", "berlin52.svg", "explosion1000.npz", "berlin52.txt", "cities.tsp"}) {
    EXPECT_TRUE(exists(name)) << name;
  }
}

TEST_F(Program, ItsVersionIsThatOfTheLibrary) {
  EXPECT_EQ(output({"--version"}), build_info().version + "\n");
}

TEST_F(Program, UnknownWordsAreNamedAndVerbsListed) {
  expect_refused({"frobnicate"},
                 "unknown verb 'frobnicate'; choose one of: generate, solve, purity, convert, law, train, evaluate, "
                 "report, reproduce, models, info");
  expect_refused({"--frobnicate"}, "unknown option '--frobnicate'");
  for (const std::string& verb : kVerbs) {
    if (verb == "models") continue;                        // it asks for its action first
    if (verb == "evaluate" || verb == "report") continue;  // these ask for their output first
    expect_refused({verb, "--frobnicate", "a.txt", "b.txt"}, "unknown option '--frobnicate'");
  }
  expect_refused({"convert", "a.txt", "b.txt", "c.txt"}, "unexpected argument 'c.txt'");
  expect_refused({"generate", "extra"}, "unexpected argument 'extra'");
  expect_refused({"purity"}, "FILE is required");
  expect_refused({"convert"}, "INPUT is required");
  expect_refused({"generate", "--output"}, "--output: 1 required FILE missing");
}

TEST_F(Program, AMistypedVerbOrOptionPointsToTheRightHelp) {
  EXPECT_NE(puretour({"frobnicate"}).err.find("\nSay \"puretour --help\""), std::string::npos);
  EXPECT_NE(puretour({"info", "--frobnicate"}).err.find("\nSay \"puretour info --help\""), std::string::npos);
}

TEST_F(Program, AFullDiskBehindStandardOutputIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  write("hand.txt", kHandLine);
  for (const char* call : {"puretour", "puretour --version", "puretour info", "puretour info --json hand.txt",
                           "puretour purity hand.txt", "puretour purity hand.txt --json", "puretour generate",
                           "puretour convert hand.txt -", "puretour purity hand.txt --svg -"}) {
    const CommandResult result = shell(std::string(call) + " > /dev/full");
    EXPECT_EQ(result.exit_code, 2) << call;
    EXPECT_EQ(result.err, "puretour: standard output: could not write everything\n") << call;
  }
}

TEST_F(Program, AReaderThatStopsEarlyCausesNoMessage) {
  const CommandResult result = shell("puretour generate -n 100000 | head -c 3");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.size(), 3U);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace puretour::test
