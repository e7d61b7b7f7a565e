// SPDX-License-Identifier: MIT
#include "puretour/tour/formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "puretour/base/files.h"
#include "puretour/tour/tsplib.h"
#include "tour/format_checks.h"

namespace puretour {
namespace {

class Formats : public testing::Test {
 protected:
  Formats() : folder_(std::filesystem::temp_directory_path() / fmt::format("puretour_formats_test.{}", getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~Formats() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

const std::vector<Sample> kSamples = {{Instance({{0, 0.1}, {1, 0}, {1, 1}}), Tour(std::vector<NodeId>{2, 0, 1})},
                                      {Instance({{5, 6}, {7, 8}, {0.3, 9}}), Tour::identity(3)}};
const std::vector<Sample> kPoints = {{kSamples[0].instance, std::nullopt}, {kSamples[1].instance, std::nullopt}};

TEST_F(Formats, SamplesSurviveEveryFormat) {
  for (const char* name : {"a.txt", "a.lines", "a.npz"}) {
    write_samples(path(name), std::nullopt, kSamples);
    EXPECT_TRUE(same_samples(read_samples(path(name)), kSamples)) << name;
  }
  write_samples(path("a.NPY"), std::nullopt, kPoints);
  EXPECT_TRUE(same_samples(read_samples(path("a.NPY")), kPoints));
  write_samples(path("a.tsp"), std::nullopt, {&kPoints[0], 1});
  EXPECT_TRUE(same_samples(read_samples(path("a.tsp")), {&kPoints[0], 1}));
}

TEST_F(Formats, ContentTellsTheFormatWhereTheNameDoesNot) {
  for (const FileFormat format : {FileFormat::kTsplib, FileFormat::kLines, FileFormat::kNpy, FileFormat::kNpz}) {
    write_samples(path("data"), format, {&kPoints[0], 1});
    EXPECT_EQ(SampleReader(path("data")).format(), format);
    EXPECT_TRUE(same_samples(read_samples(path("data")), {&kPoints[0], 1})) << file_format_name(format);
  }
  write_file(path("blank_first"), "\n \n0 0.1 1 0 1 1\n");
  EXPECT_TRUE(same_samples(read_samples(path("blank_first")), {&kPoints[0], 1}));
  write_file(path("comment_first"), "# square\n" + format_tsplib(kPoints[0].instance));
  EXPECT_TRUE(same_samples(read_samples(path("comment_first")), {&kPoints[0], 1}));
  write_file(path("strange"), "<xml>");
  EXPECT_EQ(input_error([&] { read_samples(path("strange")); }),
            path("strange") +
                ":1: begins with '<xml>': no format that is known; name it if it is one of tsplib (.tsp), lines (.txt, "
                ".lines), npy (.npy), npz (.npz)");
}

TEST_F(Formats, ANamedFormatWinsOverTheExtension) {
  write_samples(path("a.tsp"), FileFormat::kLines, kSamples);
  EXPECT_TRUE(same_samples(read_samples(path("a.tsp"), FileFormat::kLines), kSamples));
  EXPECT_THROW(read_samples(path("a.tsp")), InputError);
}

TEST_F(Formats, StandardInputIsReadLineByLine) {
  std::istringstream input("0 0 1 1\n2 2 3 3\n");
  std::streambuf* const original = std::cin.rdbuf(input.rdbuf());
  SampleReader reader("-");
  EXPECT_EQ(reader.format(), FileFormat::kLines);
  EXPECT_EQ(reader.next()->instance.points()[1], (Point{1, 1}));
  std::string rest;
  std::getline(input, rest);
  EXPECT_EQ(rest, "2 2 3 3");
  std::cin.clear();
  std::cin.rdbuf(original);
}

TEST_F(Formats, StandardInputIsRecognisedByItsContent) {
  std::istringstream input(format_npz_samples(kSamples));
  std::streambuf* const original = std::cin.rdbuf(input.rdbuf());
  EXPECT_TRUE(same_samples(read_samples("-"), kSamples));
  std::cin.clear();
  std::cin.rdbuf(original);
}

TEST_F(Formats, WhatAFormatCannotHoldLeavesNoFile) {
  EXPECT_EQ(input_error([&] { write_samples(path("a.tsp"), std::nullopt, kPoints); }),
            path("a.tsp") + ": a TSPLIB file holds one instance, not 2; use lines, npy or npz for many");
  EXPECT_EQ(input_error([&] { write_samples(path("a.npy"), std::nullopt, kSamples); }),
            path("a.npy") + ": the format npy holds no tours; use lines or npz, or leave the tours out");
  EXPECT_EQ(input_error([&] {
              write_samples(path("a.tsp"), std::nullopt, {&kSamples[0], 1});
            }),
            path("a.tsp") + ": the format tsplib holds no tours; use lines or npz, or leave the tours out");
  EXPECT_EQ(input_error([&] { write_samples(path("a.txt"), std::nullopt, {}); }),
            path("a.txt") + ": there are no instances to write");
  EXPECT_EQ(
      input_error([&] { write_samples(path("a.xyz"), std::nullopt, kPoints); }).find(path("a.xyz") + ": the name"), 0U);
  const std::vector<Sample> second_is_geo = {kPoints[0], {Instance({{1, 2}}, Metric::kGeo, "gr1"), std::nullopt}};
  EXPECT_EQ(input_error([&] { write_samples(path("a.txt"), std::nullopt, second_is_geo); }),
            path("a.txt") +
                ": gr1 has GEO coordinates (degrees and minutes), which one-line text cannot hold; write it as tsplib");
  EXPECT_EQ(num_files(), 0U);
}

TEST_F(Formats, FilesWithoutSamplesAreErrors) {
  for (const char* name : {"a.tsp", "a.txt", "a.npy", "a.npz", "a"}) {
    write_file(path(name), "");
    EXPECT_NE(input_error([&] { read_samples(path(name)); }).find("the file is empty"), std::string::npos) << name;
  }
  EXPECT_THROW(read_samples(path("missing.txt")), InputError);
  EXPECT_THROW(read_samples(path(".")), InputError);
  EXPECT_EQ(input_error([&] { read_samples("a.tour"); }),
            "a.tour: a tour file holds no instance; give the .tsp file, and this one as its tour");
}

TEST_F(Formats, ToursSurviveTheirFile) {
  const Tour tour(std::vector<NodeId>{2, 0, 3, 1});
  write_tour(path("a.tour"), tour, "a", 12);
  EXPECT_EQ(read_tour(path("a.tour"), 4), tour.normal_form());
  EXPECT_EQ(input_error([&] { read_tour(path("a.tour"), 5); }),
            path("a.tour") + ":4: DIMENSION is 4, but the instance has 5 nodes");
}

TEST_F(Formats, NamesAreListedWhenUnknown) {
  EXPECT_EQ(parse_file_format("npz"), FileFormat::kNpz);
  EXPECT_EQ(input_error([] { parse_file_format("csv"); }),
            "unknown file format 'csv'; known are tsplib (.tsp), lines (.txt, .lines), npy (.npy), npz (.npz)");
}

TEST_F(Formats, NumPyReadsWhatWeWrite) {
  const auto python = [](const std::string& code) {
    return std::system(fmt::format("/usr/bin/python3 -c \"{}\" 2>/dev/null", code).c_str());
  };
  if (python("import numpy") != 0) GTEST_SKIP() << "no NumPy for /usr/bin/python3";
  write_samples(path("a.npz"), std::nullopt, kSamples);
  write_samples(path("a.npy"), std::nullopt, kPoints, {.single_precision = true});
  EXPECT_EQ(python(fmt::format("import numpy as np; d = np.load('{}'); "
                               "assert sorted(d) == ['points', 'tours'] and d['points'].dtype == '<f8'; "
                               "assert (d['points'][:, 0] == [[0, 0.1], [5, 6]]).all(); "
                               "assert (d['tours'] == [[2, 0, 1], [0, 1, 2]]).all()",
                               path("a.npz"))),
            0);
  EXPECT_EQ(python(fmt::format("import numpy as np; a = np.load('{}'); assert a.dtype == '<f4'; "
                               "assert a.shape == (2, 3, 2) and a[1, 2, 0] == np.float32(0.3)",
                               path("a.npy"))),
            0);
}

}  // namespace
}  // namespace puretour
