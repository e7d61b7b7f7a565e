// SPDX-License-Identifier: MIT
#include "cli/command_line.h"
#include "puretour/base/build_info.h"

namespace puretour::test {
namespace {

using Info = CommandLine;

TEST_F(Info, WithoutFilesItDescribesTheProgram) {
  const nlohmann::json document = json({"info", "--json"});
  EXPECT_EQ(document["version"], build_info().version);
  EXPECT_EQ(document["compiler"], build_info().compiler);
  EXPECT_GE(document["threads"].get<int>(), 1);
  EXPECT_TRUE(output({"info"}).starts_with("PureTour " + build_info().version));
}

TEST_F(Info, DescribesFilesInATable) {
  write("hand.txt", kHandLine);
  write("weights.tsp", kExplicitTsp);
  EXPECT_EQ(output({"info", "hand.txt", "weights.tsp"}),
            "instance  nodes       metric  places  low corner  high corner    tour length\n"
            "----------------------------------------------------------------------------\n"
            "hand.txt      5  EUC_2D_REAL       5     (0, -3)       (7, 1)  17.6430891281\n"
            "weights       3     EXPLICIT       -           -            -              -\n");
}

TEST_F(Info, DescribesFilesInJson) {
  write("two.txt", "1 2 1 2 3 5\n0 0 3 0 0 4 output 1 2 3 1\n");
  const nlohmann::json document = json({"info", "--json", "two.txt"});
  ASSERT_EQ(document.size(), 2U);
  EXPECT_EQ(document[0], (nlohmann::json{{"name", "two.txt #1"},
                                         {"nodes", 3},
                                         {"metric", "EUC_2D_REAL"},
                                         {"low", {1.0, 2.0}},
                                         {"high", {3.0, 5.0}},
                                         {"distinct_places", 2}}));
  EXPECT_EQ(document[1]["tour_length"], 12.0);
}

TEST_F(Info, ReadsStandardInput) {
  EXPECT_EQ(json({"info", "-", "--json"}, kHandLine)[0]["name"], "stdin");
  EXPECT_EQ(json({"info", "-", "--json"}, kHandTsp)[0]["metric"], "EUC_2D");
}

TEST_F(Info, NamesInOtherEncodingsGiveValidJsonAndCannotControlTheTerminal) {
  std::string text = kHandTsp;
  text.replace(text.find("hand"), 4, "K\xf6ln \x1b[31m");
  const nlohmann::json document = json({"info", "-", "--json"}, text);
  EXPECT_EQ(document[0]["name"], "K\xef\xbf\xbdln ?[31m");
  EXPECT_EQ(output({"info", "-"}, text).find('\x1b'), std::string::npos);
}

TEST_F(Info, BadFilesAreRefused) {
  write("hand.txt", kHandLine);
  write("empty.tsp", "");
  write("zero.tsp", "TYPE: TSP\nDIMENSION: 0\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\nEOF\n");
  write("bad.npz", "not an archive");
  expect_refused({"info", "hand.txt", "missing.txt"}, "missing.txt: cannot read it: No such file or directory");
  expect_refused({"info", "hand.txt", "empty.tsp"}, "empty.tsp:1: the file is empty");
  expect_refused({"info", "zero.tsp"}, "zero.tsp:2: DIMENSION is 0");
  expect_refused({"info", "bad.npz"}, "bad.npz");
  expect_refused({"info", "."}, ".: is a directory");
  expect_refused({"info", "-"}, "standard input:1: the file is empty");
  expect_refused({"info", "-", "-"}, "standard input (-) is named more than once", kHandLine);
}

}  // namespace
}  // namespace puretour::test
