// SPDX-License-Identifier: MIT
#include "puretour/generate/generate.h"

#include "cli/command_line.h"
#include "puretour/tour/formats.h"
#include "tour/format_checks.h"

namespace puretour::test {
namespace {

using Generate = CommandLine;

const std::vector<std::string> kDistributions = {"uniform", "clustered", "explosion", "implosion"};

// Without names, which only TSPLIB files keep.
std::vector<Sample> expected(const std::string& distribution, std::size_t nodes, std::uint64_t seed, std::size_t count,
                             const GeneratorOptions& options = {}) {
  std::vector<Sample> samples;
  for (const Instance& made : generate_instances(options, distribution_from_name(distribution), nodes, seed, count)) {
    const auto points = made.points();
    samples.push_back({Instance(std::vector<Point>(points.begin(), points.end())), std::nullopt});
  }
  return samples;
}

std::vector<Sample> without_names(std::vector<Sample> samples) {
  for (Sample& sample : samples) {
    const auto points = sample.instance.points();
    sample.instance = Instance(std::vector<Point>(points.begin(), points.end()), sample.instance.metric());
  }
  return samples;
}

TEST_F(Generate, EveryDistributionInEveryFormatIsWhatTheLibraryMakes) {
  for (const std::string& distribution : kDistributions) {
    for (const std::string name : {"a.txt", "a.lines", "a.npy", "a.npz"}) {
      EXPECT_EQ(output({"generate", "-d", distribution, "-n", "30", "-c", "4", "--seed", "9", "-o", name}), "");
      EXPECT_TRUE(same_samples(read_samples(path(name)), expected(distribution, 30, 9, 4))) << distribution << name;
    }
    output({"generate", "-d", distribution, "-n", "30", "-o", "a.tsp"});
    EXPECT_TRUE(same_samples(without_names(read_samples(path("a.tsp"))), expected(distribution, 30, 0, 1)))
        << distribution;
  }
}

TEST_F(Generate, WithoutOptionsItPrintsOneUniformInstanceOf100NodesAsALine) {
  write("a.txt", output({"generate"}));
  EXPECT_TRUE(same_samples(read_samples(path("a.txt")), expected("uniform", 100, 0, 1)));
}

TEST_F(Generate, StandardOutputTakesEveryFormat) {
  for (const std::string format : {"tsplib", "lines", "npy", "npz"}) {
    write("a", output({"generate", "-n", "7", "-o", "-", "--to", format}));
    EXPECT_EQ(SampleReader(path("a")).format(), parse_file_format(format));
    EXPECT_TRUE(same_samples(without_names(read_samples(path("a"))), expected("uniform", 7, 0, 1))) << format;
  }
}

TEST_F(Generate, OptionsOfTheDistributionsReachTheLibrary) {
  output({"generate", "-d", "clustered", "-n", "40", "--clusters", "2", "--diversity", "50", "--raw", "-o", "a.txt"});
  EXPECT_TRUE(
      same_samples(read_samples(path("a.txt")),
                   expected("clustered", 40, 0, 1, {.cluster_num = 2, .cluster_diversity = 50, .normalise = false})));
  output({"generate", "-d", "explosion", "-n", "40", "--radius-min", "0.2", "--radius-max", "0.3", "--explosion-rate",
          "5", "--full-precision", "-o", "a.npz"});
  EXPECT_TRUE(same_samples(
      read_samples(path("a.npz")),
      expected("explosion", 40, 0, 1, {.radius_min = 0.2, .radius_max = 0.3, .explosion_rate = 5, .float32 = false})));
}

TEST_F(Generate, ASmallerCountGivesAPrefixAndFirstAPart) {
  for (const std::string& distribution : kDistributions) {
    const auto lines = [&](const std::string& first, const std::string& count) {
      return output({"generate", "-d", distribution, "-n", "12", "--seed", "3", "--first", first, "-c", count});
    };
    const std::string all = lines("0", "6");
    EXPECT_EQ(lines("0", "2") + lines("2", "3") + lines("5", "1"), all) << distribution;
  }
}

TEST_F(Generate, ThreadsDoNotChangeTheResult) {
  const auto made = [this](const std::string& threads) {
    return output({"generate", "-d", "clustered", "-n", "50", "-c", "40", "--threads", threads});
  };
  const std::string one = made("1");
  EXPECT_EQ(made("4"), one);
  EXPECT_EQ(made("0"), one);
}

TEST_F(Generate, SeedAndNumberOfNodesChangeTheResult) {
  const std::string one = output({"generate", "-n", "5"});
  EXPECT_NE(output({"generate", "-n", "5", "--seed", "1"}), one);
  EXPECT_NE(output({"generate", "-n", "6"}).substr(0, 10), one.substr(0, 10));
}

TEST_F(Generate, BadNumbersAreRefusedWithTheRange) {
  for (const std::string bad : {"0", "-1", "abc", "2.5", "1e3", "", " 5", "99999999999", "99999999999999999999999"}) {
    expect_refused({"generate", "--nodes", bad},
                   "--nodes: '" + bad.substr(0, 40) + "' is not a whole number from 1 to");
  }
  expect_refused({"generate", "--count", "0"}, "--count: '0' is not a whole number from 1 to");
  expect_refused({"generate", "--count", "-3"}, "--count: '-3'");
  expect_refused({"generate", "--first", "-1"}, "--first: '-1'");
  expect_refused({"generate", "--seed", "-1"}, "--seed: '-1'");
  expect_refused({"generate", "--threads", "-1"}, "--threads: '-1' is not a whole number from 0 to 1024");
  expect_refused({"generate", "--threads", "many"}, "--threads: 'many'");
  expect_refused({"generate", "--clusters", "0"}, "--clusters: '0'");
}

TEST_F(Generate, MoreThanTheMemoryHoldsIsRefusedBeforeAnythingIsMade) {
  expect_refused({"generate", "-n", "100000000", "-c", "1000000000"}, "make them in parts with --first and --count");
  expect_refused({"generate", "-c", "18446744073709551615", "-n", "1"}, "make them in parts");
}

TEST_F(Generate, UnknownNamesListTheKnownOnes) {
  expect_refused({"generate", "-d", "normal"}, "uniform, clustered, explosion, implosion");
  expect_refused({"generate", "--to", "csv"}, "'csv'; known are tsplib");
  expect_refused({"generate", "-o", "cities.csv"}, "cities.csv: the name does not end in .tsp, .txt");
}

TEST_F(Generate, OptionsOutOfRangeAreRefused) {
  expect_refused({"generate", "--radius-min", "0.6"}, "radius_min is 0.6, above radius_max");
  expect_refused({"generate", "--radius-max", "nan"}, "radius_max is nan");
  expect_refused({"generate", "--explosion-rate", "0"}, "explosion_rate is 0");
  expect_refused({"generate", "--diversity", "-1"}, "cluster_diversity is -1");
  expect_refused({"generate", "--diversity", "wide"}, "--diversity = wide");
}

TEST_F(Generate, AnOutputThatCannotBeWrittenIsNamedAndOldFilesStay) {
  write("old.tsp", "an older file");
  make_folder("folder.txt");
  expect_refused({"generate", "-c", "2", "-o", "old.tsp"}, "old.tsp: a TSPLIB file holds one instance, not 2");
  expect_refused({"generate", "-o", "folder.txt"}, "folder.txt: is a directory");
  expect_refused({"generate", "-o", "nowhere/a.txt"}, "nowhere/a.txt: cannot write there: No such file");
  expect_refused({"generate", "-o", "old.tsp/a.txt"}, "old.tsp/a.txt: cannot write there: Not a directory");
  expect_refused({"generate", "-o", ""}, "the name");
}

}  // namespace
}  // namespace puretour::test
