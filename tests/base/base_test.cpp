// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "puretour/base/deadline.h"
#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/parallel.h"
#include "puretour/base/progress.h"

namespace puretour {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("puretour_files_test_" + std::to_string(getpid()));
};

TEST_F(Files, AppearOnlyWhenCommitted) {
  const std::string path = folder_ / "out.txt";
  {
    OutputFile file(path);
    file.stream() << "half";
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(num_files(), 0U) << "an abandoned file leaves nothing behind";
  write_file(path, "whole");
  EXPECT_EQ(read_file(path), "whole");
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(Files, OldContentSurvivesAFailedWrite) {
  const std::string path = folder_ / "out.txt";
  write_file(path, "old");
  try {
    OutputFile file(path);
    file.stream() << "new";
    throw InputError("something else went wrong");
  } catch (const InputError&) {
  }
  EXPECT_EQ(read_file(path), "old");
}

TEST_F(Files, BadPathsAreInputErrors) {
  EXPECT_THROW(read_file(folder_ / "missing"), InputError);
  EXPECT_THROW(read_file(folder_), InputError);
  EXPECT_THROW(write_file(folder_, "x"), InputError);
  EXPECT_THROW(write_file(folder_ / "no" / "such" / "folder", "x"), InputError);
  EXPECT_THROW(write_file("", "x"), InputError);
}

TEST(ParallelFor, RunsEveryItemOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(runs.size(), threads, [&](std::size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    std::vector<std::atomic<int>> in_blocks(1003);
    parallel_for_blocks(in_blocks.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++in_blocks[i];
    });
    for (const auto& count : in_blocks) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, PassesTheFirstErrorOn) {
  for (const int threads : {1, 4}) {
    std::atomic<int> started{0};
    try {
      parallel_for(100000, threads, [&](std::size_t i) {
        ++started;
        if (i >= 10) throw InputError("item " + std::to_string(i));
      });
      FAIL();
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), "item 10");
    }
    EXPECT_LT(started, 100000) << "later items are not started";
  }
}

TEST(Deadline, GivesAShareOfTheTimeThatIsLeft) {
  const Deadline whole = Deadline::after_seconds(1000);
  EXPECT_NEAR(whole.after_share(0.1).seconds_left(), 100, 5);
  EXPECT_FALSE(Deadline().after_share(0.1).expired()) << "a share of forever";
  std::atomic<bool> stop = true;
  EXPECT_TRUE(whole.with_stop_flag(&stop).after_share(0.1).expired()) << "the flag is kept";
}

TEST(Deadline, ExpiresByTimeAndByFlag) {
  EXPECT_FALSE(Deadline().expired());
  EXPECT_TRUE(Deadline::after_seconds(0).expired());
  EXPECT_FALSE(Deadline::after_seconds(1e6).expired());
  EXPECT_FALSE(Deadline::after_seconds(1e300).expired());
  EXPECT_EQ(Deadline::after_seconds(-5).seconds_left(), 0);
  std::atomic<bool> stop{false};
  const Deadline deadline = Deadline().with_stop_flag(&stop);
  EXPECT_FALSE(deadline.expired());
  stop = true;
  EXPECT_TRUE(deadline.expired());
}

TEST(FormatDuration, IsForPeople) {
  EXPECT_EQ(format_duration(0.44), "0.4 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(185), "3 min 05 s");
  EXPECT_EQ(format_duration(7800), "2 h 10 min");
}

}  // namespace
}  // namespace puretour
