// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include "cli/command_line.h"
#include "puretour/tour/formats.h"

namespace puretour::test {
namespace {

class Solve : public CommandLine {};

TEST_F(Solve, FindsTheTourAndMeasuresIt) {
  output({"generate", "-n", "60", "-o", "a.txt"});
  const auto result = json({"solve", "a.txt", "--bound", "--json", "-o", "b.txt"});
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0]["nodes"], 60);
  EXPECT_EQ(result[0]["method"], "eax");
  EXPECT_LE(result[0]["bound"].get<double>(), result[0]["length"].get<double>());
  EXPECT_LT(result[0]["gap_to_bound"].get<double>(), 0.05);
  const auto measured = json({"purity", "b.txt", "--json"});
  EXPECT_NEAR(measured["tours"][0]["length"].get<double>(), result[0]["length"].get<double>(), 1e-12);
  EXPECT_EQ(measured["tours"][0]["prop_0"], result[0]["prop_0"]);
}

TEST_F(Solve, WritesTourFilesAndStartsFromThem) {
  output({"generate", "-n", "80", "-o", "a.tsp"});
  output({"solve", "a.tsp", "--with", "lk", "--kicks", "0", "-o", "first.tour"});
  const auto first = json({"solve", "a.tsp", "--with", "lk", "--kicks", "0", "--json"});
  const auto better = json({"solve", "a.tsp", "--initial", "first.tour", "--json", "-o", "second.tour"});
  EXPECT_LE(better[0]["length"].get<double>(), first[0]["length"].get<double>());
  EXPECT_EQ(read_tour(path("second.tour")).size(), 80U);
}

TEST_F(Solve, GivesTheSameToursOnAnyNumberOfThreads) {
  output({"generate", "-n", "40", "-c", "6", "-o", "a.txt"});
  const std::string one = output({"solve", "a.txt", "--threads", "1", "-o", "-"});
  EXPECT_EQ(output({"solve", "a.txt", "--threads", "3", "-o", "-"}), one);
}

TEST_F(Solve, KeepsTheBestTourWhenItIsStopped) {
  output({"generate", "-n", "20000", "-o", "a.tsp"});
  const auto result =
      shell("timeout --preserve-status -s TERM 2 puretour solve a.tsp --with lk --time-limit 1000 -o a.tour");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("stopped early"), std::string::npos);
  EXPECT_EQ(read_tour(path("a.tour")).size(), 20000U);
}

TEST_F(Solve, CallsAnInstalledLkh) {
  // A stand-in that writes the identity tour where the parameter file tells it to.
  const std::string script =
      "#!/bin/sh\nout=$(sed -n 's/^OUTPUT_TOUR_FILE = //p' \"$1\")\n"
      "printf 'TYPE : TOUR\\nDIMENSION : 5\\nTOUR_SECTION\\n1\\n2\\n3\\n4\\n5\\n-1\\nEOF\\n' > \"$out\"\n";
  write("lkh", script);
  chmod(path("lkh").c_str(), 0755);
  output({"generate", "-n", "5", "-o", "a.tsp"});
  const auto result = json({"solve", "a.tsp", "--with", "lkh", "--lkh-binary", "./lkh", "--json", "-o", "a.tour"});
  EXPECT_EQ(result[0]["method"], "lkh");
  EXPECT_EQ(read_tour(path("a.tour")), Tour::identity(5));
  expect_refused({"solve", "a.tsp", "--with", "lkh", "--lkh-binary", "./missing"}, "can not start it");
  write("broken", "#!/bin/sh\necho no licence\n");
  chmod(path("broken").c_str(), 0755);
  expect_refused({"solve", "a.tsp", "--with", "lkh", "--lkh-binary", "./broken"}, "no licence");
}

TEST_F(Solve, RefusesWhatItCanNotDo) {
  output({"generate", "-n", "5", "-c", "2", "-o", "a.txt"});
  expect_refused({"solve", "a.txt", "--with", "magic"}, "choose auto, lk, eax or lkh");
  expect_refused({"solve", "missing.tsp"}, "missing.tsp");
  expect_refused({"solve", "a.txt", "-o", "two.tour"}, "a tour file holds one tour");
  expect_refused({"solve", "a.txt", "--initial", "x.tour"}, "--initial goes with one instance");
  expect_refused({"solve", "a.txt", "--time-limit", "-3"}, "--time-limit");
}

}  // namespace
}  // namespace puretour::test
