// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cmath>

#include "cli/command_line.h"
#include "models/model_checks.h"
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

TEST_F(Solve, TakesSignalsAtOneMomentForOneRequest) {
  output({"generate", "-n", "20000", "-o", "a.tsp"});
  // As terminals and launchers do, which signal the program and its process group.
  const auto result = shell(
      "puretour solve a.tsp --with lk --time-limit 1000 -o a.tour & job=$!; sleep 2; "
      "kill -TERM $job; kill -TERM $job; sleep 0.01; kill -TERM $job; wait $job");
  EXPECT_EQ(result.exit_code, 0) << result.err;
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
  expect_refused({"solve", "a.tsp", "--with", "lkh", "--lkh-binary", "./missing"}, "cannot start it");
  write("broken", "#!/bin/sh\necho no licence\n");
  chmod(path("broken").c_str(), 0755);
  expect_refused({"solve", "a.tsp", "--with", "lkh", "--lkh-binary", "./broken"}, "no licence");
}

const char* const kFixedEdges =
    "NAME: f\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 10 0\n3 20 0\n4 20 10\n5 0 10\n"
    "FIXED_EDGES_SECTION\n1 4\n-1\nEOF\n";

TEST_F(Solve, KeepsFixedEdges) {
  write("f.tsp", kFixedEdges);
  const auto result = json({"solve", "f.tsp", "--json", "-o", "f.tour"});
  EXPECT_EQ(result[0]["length"], 22 + 10 + 10 + 14 + 10);  // 1 4 3 2 5
  EXPECT_EQ(result[0]["length_without_fixed_edges"], 10 + 10 + 14 + 10);
  // Before the work, not after it.
  expect_refused({"solve", "f.tsp", "-o", "f.txt"}, "f has fixed edges, which lines cannot hold; write it as tsplib");
  write("without.tour", "TOUR_SECTION\n1 2 3 4 5 -1\nEOF\n");
  expect_refused({"solve", "f.tsp", "--initial", "without.tour"}, "the initial tour lacks the fixed edge 1-4");
}

TEST_F(Solve, GivesFixedEdgesToLkh) {
  // A stand-in that answers only if the problem has the section, with a tour that lacks the edge or not.
  const auto script = [](const char* nodes) {
    return fmt::format(
        "#!/bin/sh\nout=$(sed -n 's/^OUTPUT_TOUR_FILE = //p' \"$1\")\nin=$(sed -n 's/^PROBLEM_FILE = //p' \"$1\")\n"
        "grep -A1 FIXED_EDGES_SECTION \"$in\" | grep -q '^1 4$' || exit 1\n"
        "printf 'DIMENSION : 5\\nTOUR_SECTION\\n{}\\n-1\\nEOF\\n' > \"$out\"\n",
        nodes);
  };
  write("f.tsp", kFixedEdges);
  write("lkh", script("1 4 3 2 5"));
  write("bad", script("1 2 3 4 5"));
  for (const char* name : {"lkh", "bad"}) chmod(path(name).c_str(), 0755);
  EXPECT_EQ(json({"solve", "f.tsp", "--with", "lkh", "--lkh-binary", "./lkh", "--json"})[0]["method"], "lkh");
  expect_refused({"solve", "f.tsp", "--with", "lkh", "--lkh-binary", "./bad"},
                 "the tour of ./bad lacks the fixed edge");
}

TEST_F(Solve, RefusesWhatItCannotDo) {
  output({"generate", "-n", "5", "-c", "2", "-o", "a.txt"});
  expect_refused({"solve", "a.txt", "--with", "magic"}, "choose auto, lk, eax, lkh, nearest, greedy or 2opt");
  expect_refused({"solve", "missing.tsp"}, "missing.tsp");
  expect_refused({"solve", "a.txt", "-o", "two.tour"}, "a tour file holds one tour");
  expect_refused({"solve", "a.txt", "--initial", "x.tour"}, "--initial goes with one instance");
  expect_refused({"solve", "a.txt", "--time-limit", "-3"}, "--time-limit: '-3' is not a number above 0");
}

class SolveWithAModel : public CommandLine {
 protected:
  SolveWithAModel() {
    Checkpoint checkpoint = tiny_checkpoint(AmConfig{16, 2, 1, 16, 10});
    for (auto& [name, tensor] : checkpoint.weights) {
      if (name.find("running_var") != std::string::npos) continue;
      for (float& v : tensor.values) v -= 0.5F;
    }
    write("m.safetensors", format_checkpoint(checkpoint));
  }
};

TEST_F(SolveWithAModel, ReportsNeuralAndImprovedLengthAndTheGapToTheInput) {
  output({"generate", "-n", "40", "-c", "3", "-o", "a.txt"});
  output({"solve", "a.txt", "-o", "best.txt"});
  const auto result = json({"solve", "best.txt", "--model", "m.safetensors", "--decode", "sample:20", "--json"});
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0]["method"], "am sample:20");
  EXPECT_GT(result[0]["gap_to_reference"].get<double>(), 0);
  EXPECT_NEAR(result[0]["length"].get<double>() / result[0]["reference_length"].get<double>() - 1,
              result[0]["gap_to_reference"].get<double>(), 1e-12);
  const auto improved =
      json({"solve", "best.txt", "--model", "m.safetensors", "--decode", "sample:20", "--improve", "--json"});
  EXPECT_EQ(improved[1]["unimproved_length"], result[1]["length"]);
  EXPECT_LT(improved[1]["length"].get<double>(), result[1]["length"].get<double>());
  const std::string table = output({"solve", "best.txt", "--model", "m.safetensors", "--improve"});
  EXPECT_NE(table.find("unimproved"), std::string::npos);
  EXPECT_NE(table.find("gap to input"), std::string::npos);
}

TEST_F(SolveWithAModel, GivesTheSameToursOnAnyNumberOfThreadsAndWithAnyInstructions) {
  output({"generate", "-n", "70", "-c", "5", "-o", "many.txt"});
  output({"generate", "-n", "300", "-o", "one.tsp"});
  for (const std::string& file : {std::string("many.txt"), std::string("one.tsp")}) {
    const std::vector<std::string> arguments = {"solve",    file,       "--model",   "m.safetensors",
                                                "--decode", "sample:5", "--augment", "8",
                                                "-o",       "-",        "--to",      "lines"};
    auto with_threads = arguments;
    with_threads.insert(with_threads.end(), {"--threads", "1"});
    const std::string expected = output(with_threads);
    with_threads.back() = "3";
    EXPECT_EQ(output(with_threads), expected);
    const auto plain = shell("PURETOUR_ISA=plain puretour solve " + file +
                             " --model m.safetensors --decode sample:5 --augment 8 -o - --to lines");
    EXPECT_EQ(plain.out, expected) << plain.err;
    auto with_option = arguments;
    with_option.insert(with_option.end(), {"--isa", "plain"});
    EXPECT_EQ(output(with_option), expected);
  }
}

TEST_F(SolveWithAModel, RoundsToBfloat16WhenAsked) {
  output({"generate", "-n", "30", "-c", "20", "-o", "many.txt"});
  const auto mean_length = [&](const std::string& precision) {
    double sum = 0;
    for (const auto& solved :
         json({"solve", "many.txt", "--model", "m.safetensors", "--precision", precision, "--json"})) {
      sum += solved["length"].get<double>();
    }
    return sum / 20;
  };
  EXPECT_NEAR(mean_length("bfloat16") / mean_length("float32"), 1, 0.05);
}

TEST_F(SolveWithAModel, WorksOnTsplibMetrics) {
  write("hand.tsp", kHandTsp);
  const auto result = json({"solve", "hand.tsp", "--model", "m.safetensors", "--decode", "multistart", "--json"});
  EXPECT_EQ(result[0]["length"], std::floor(result[0]["length"].get<double>()));
  output({"solve", "hand.tsp", "--model", "m.safetensors", "--raw-coordinates", "-o", "hand.tour"});
  EXPECT_EQ(read_tour(path("hand.tour")).size(), 5U);
}

TEST_F(SolveWithAModel, RefusesWhatItCannotDo) {
  write("a.txt", kHandLine);
  write("w.tsp", kExplicitTsp);
  expect_refused({"solve", "a.txt", "--model", "missing"}, "missing");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--with", "lk"}, "excludes");
  expect_refused({"solve", "a.txt", "--decode", "greedy"}, "requires --model");
  expect_refused({"solve", "a.txt", "--improve"}, "requires --model");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--precision", "half"}, "float32 or bfloat16");
  expect_refused({"solve", "a.txt", "--isa", "sse9"}, "choose one of: plain");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--decode", "beam:3"}, "choose greedy, sample:K");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--augment", "7"}, "choose 1 (none), 8");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--temperature", "0"}, "--temperature");
  expect_refused({"solve", "a.txt", "--model", "m.safetensors", "--device", "cuda"},
                 "--device is 'cuda', but tours are");
  expect_refused({"solve", "w.tsp", "--model", "m.safetensors"}, "a neural solver needs coordinates");
  write("bad.safetensors", "what");
  EXPECT_EQ(puretour({"solve", "a.txt", "--model", "bad.safetensors"}).exit_code, 3);
}

}  // namespace
}  // namespace puretour::test
