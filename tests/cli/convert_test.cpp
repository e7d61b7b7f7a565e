// SPDX-License-Identifier: MIT
#include "cli/command_line.h"
#include "puretour/tour/formats.h"
#include "tour/format_checks.h"

namespace puretour::test {
namespace {

using Convert = CommandLine;

TEST_F(Convert, AnInstanceSurvivesEveryPairOfFormats) {
  const std::vector<Sample> sample = {{Instance({{0.1, -2}, {1e-9, 3e7}, {5, 0.30000000000000004}}), std::nullopt}};
  const std::vector<std::string> names = {"a.tsp", "a.txt", "a.lines", "a.npy", "a.npz"};
  for (const std::string& from : names) {
    write_samples(path(from), std::nullopt, sample);
    for (const std::string& to : names) {
      EXPECT_EQ(output({"convert", from, "b" + to}), "");
      EXPECT_TRUE(same_samples(read_samples(path("b" + to)), sample)) << from << " to " << to;
    }
  }
}

TEST_F(Convert, ManyInstancesWithToursSurviveLinesAndArrays) {
  const std::vector<Sample> samples = {{Instance({{0, 0.1}, {1, 0}, {1, 1}}), Tour(std::vector<NodeId>{2, 0, 1})},
                                       {Instance({{5, 6}, {7, 8}, {0.3, 9}}), Tour::identity(3)}};
  write_samples(path("a.txt"), std::nullopt, samples);
  output({"convert", "a.txt", "a.npz"});
  EXPECT_TRUE(same_samples(read_samples(path("a.npz")), samples));
  output({"convert", "a.npz", "-o", "b.txt"});
  EXPECT_EQ(read("b.txt"), read("a.txt"));
}

TEST_F(Convert, PipesOfVerbsWork) {
  const CommandResult result = shell("puretour generate -n 6 -c 3 --seed 5 | puretour convert - x.npz");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
  EXPECT_EQ(output({"convert", "x.npz", "-"}), output({"generate", "-n", "6", "-c", "3", "--seed", "5"}));
  EXPECT_EQ(shell("puretour generate -n 6 --to npz | puretour convert - - --to tsplib | puretour convert - -").out,
            output({"generate", "-n", "6"}));
}

TEST_F(Convert, ToAndFromNameFormatsThatFileNamesDoNot) {
  write("data", kHandLine);
  output({"convert", "data", "other", "--from", "lines", "--to", "npz"});
  EXPECT_EQ(SampleReader(path("other")).format(), FileFormat::kNpz);
  EXPECT_EQ(output({"convert", "other", "-"}), kHandLine);
}

TEST_F(Convert, ATourFileJoinsItsInstance) {
  write("hand.tsp", kHandTsp);
  write("hand.tour", kHandTour);
  EXPECT_EQ(output({"convert", "hand.tsp", "-", "--tour", "hand.tour"}), kHandLine);
  EXPECT_EQ(output({"convert", "hand.tsp", "-", "--tour", "-"}, kHandTour), kHandLine);
}

TEST_F(Convert, TheTourGoesToAFileOfItsOwn) {
  write("hand.txt", kHandLine);
  EXPECT_EQ(output({"convert", "hand.txt", "hand.tsp", "--tour-output", "hand.tour"}), "");
  EXPECT_EQ(read_tour(path("hand.tour")).normal_form(), Tour(std::vector<NodeId>{0, 2, 1, 4, 3}).normal_form());
  EXPECT_NE(read("hand.tour").find("Length = 17.64308"), std::string::npos);
  EXPECT_EQ(output({"convert", "hand.tsp", "-"}), std::string(kHandPoints) + "\n");
  // Only the tour: no second name is needed.
  EXPECT_EQ(output({"convert", "hand.txt", "--tour-output", "-"}), read("hand.tour"));
}

TEST_F(Convert, ToursAreLeftOutOnlyWhenAsked) {
  write("hand.txt", kHandLine);
  EXPECT_EQ(output({"convert", "hand.txt", "-", "--drop-tours"}), std::string(kHandPoints) + "\n");
  output({"convert", "hand.txt", "hand.npy", "--drop-tours"});
  EXPECT_FALSE(read_samples(path("hand.npy"))[0].tour);
  expect_refused({"convert", "hand.txt", "a.npy"}, "a.npy: the format npy holds no tours; add --drop-tours");
  expect_refused({"convert", "hand.txt", "a.tsp"}, "a.tsp: the format tsplib holds no tours; add --drop-tours");
}

TEST_F(Convert, NormaliseScalesToTheUnitSquareAndKeepsTheTour) {
  EXPECT_EQ(output({"convert", "-", "-", "--normalise"}, "10 10 20 10 10 15 output 2 1 3 2\n"),
            "0 0 1 0 0 0.5 output 2 1 3 2\n");
  write("hand.tsp", kHandTsp);
  EXPECT_NE(output({"convert", "hand.tsp", "-", "--to", "tsplib", "--normalise"}).find("EUC_2D_REAL"),
            std::string::npos);
}

TEST_F(Convert, Float32RoundsArrays) {
  write("a.txt", "0.1 0.2 0.3 0.4\n");
  output({"convert", "a.txt", "a.npy", "--float32"});
  const auto samples = read_samples(path("a.npy"));
  EXPECT_EQ(samples[0].instance.points()[0], (Point{double{0.1F}, double{0.2F}}));
}

TEST_F(Convert, AnOutputIsNeeded) {
  write("hand.txt", kHandLine);
  expect_refused({"convert", "hand.txt"}, "name an output file, or - for standard output");
  expect_refused({"convert", "hand.txt", "hand.csv"}, "hand.csv: the name does not end in");
  expect_refused({"convert", "hand.txt", "-", "--tour-output", "-"}, "cannot go to the same place");
  expect_refused({"convert", "hand.txt", "a.tsp", "--tour-output", "a.tsp"}, "cannot go to the same place");
}

TEST_F(Convert, OptionsForOneInstanceRefuseMany) {
  write("two.txt", std::string(kHandLine) + kHandLine);
  write("bare.txt", std::string(kHandPoints) + "\n");
  write("hand.tour", kHandTour);
  expect_refused({"convert", "two.txt", "a.txt", "--tour", "hand.tour"}, "--tour goes with one instance");
  expect_refused({"convert", "two.txt", "a.txt", "--tour-output", "a.tour"}, "has 2 instances and 2 tours");
  expect_refused({"convert", "bare.txt", "a.txt", "--tour-output", "a.tour"}, "has 1 instances and 0 tours");
  expect_refused({"convert", "two.txt", "a.tsp", "--drop-tours"}, "a TSPLIB file holds one instance, not 2");
}

TEST_F(Convert, StandardInputIsReadOnce) {
  expect_refused({"convert", "-", "a.txt", "--tour", "-"}, "standard input (-) is named more than once", kHandLine);
}

TEST_F(Convert, AFailureLeavesNeitherNewNorDamagedFiles) {
  write("hand.txt", kHandLine);
  write("weights.tsp", kExplicitTsp);
  write("different.txt", "0 0 1 1\n0 0 1 1 2 2\n");
  write("a.npz", "an older file");
  write("a.txt", "an older file");
  write("a.tour", "an older file");
  make_folder("folder");
  expect_refused({"convert", "different.txt", "a.npz"}, "a.npz: ");
  expect_refused({"convert", "weights.tsp", "a.txt"}, "a.txt: weights has weights but no coordinates");
  expect_refused({"convert", "weights.tsp", "a.tsp", "--normalise"}, "--normalise needs coordinates");
  // One of two files cannot be written.
  expect_refused({"convert", "hand.txt", "a.npz", "--tour-output", "nowhere/a.tour"}, "nowhere/a.tour: cannot write");
  expect_refused({"convert", "hand.txt", "nowhere/a.npz", "--tour-output", "a.tour"}, "nowhere/a.npz: cannot write");
  expect_refused({"convert", "hand.txt", "a.npz", "--tour-output", "folder"}, "folder: is a directory");
  expect_refused({"convert", "hand.txt", "folder", "--to", "npz"}, "folder: is a directory");
}

TEST_F(Convert, BadInputIsNamedWithFileAndLine) {
  write("truncated.npz", output({"generate", "-n", "20", "--to", "npz"}).substr(0, 150));
  write("truncated.npy", output({"generate", "-n", "20", "--to", "npy"}).substr(0, 150));
  write("words.txt", "hello world\n");
  write("odd.txt", "0 0 1 1\n0 0 1\n");
  write("hand.tsp", kHandTsp);
  write("hand.tour", kHandTour);
  write("doubled.tour", "TYPE: TOUR\nDIMENSION: 5\nTOUR_SECTION\n1\n3\n2\n5\n3\n-1\nEOF\n");
  write("other.tour", "TYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n1\n3\n2\n-1\nEOF\n");
  make_folder("folder");
  expect_refused({"convert", "truncated.npz", "a.txt"}, "truncated.npz:byte ");
  expect_refused({"convert", "truncated.npy", "a.txt"}, "truncated.npy");
  expect_refused({"convert", "words.txt", "a.npz"}, "words.txt:1: ");
  expect_refused({"convert", "odd.txt", "a.npz"}, "odd.txt:2: ");
  expect_refused({"convert", "hand.tour", "a.txt"}, "hand.tour: a tour file holds no instance");
  expect_refused({"convert", "missing.txt", "a.npz"}, "missing.txt: cannot read it: No such file or directory");
  expect_refused({"convert", "folder", "a.npz"}, "folder: is a directory");
  expect_refused({"convert", "hand.tsp", "a.txt", "--tour", "missing.tour"}, "missing.tour: cannot read it");
  expect_refused({"convert", "hand.tsp", "a.txt", "--tour", "doubled.tour"}, "node 3 appears twice");
  expect_refused({"convert", "hand.tsp", "a.txt", "--tour", "other.tour"}, "DIMENSION is 3, but the instance has 5");
  expect_refused({"convert", "hand.tsp", "a.txt", "--from", "csv"}, "unknown file format 'csv'");
  expect_refused({"convert", "-", "a.npz"}, "standard input:1: the file is empty");
}

}  // namespace
}  // namespace puretour::test
