// SPDX-License-Identifier: MIT
#include "puretour/law/experiment.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/law/paper_table.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class LawExperiment : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("puretour-law-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
               std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] LawRun run(const std::string& name, int threads = 1) const {
    LawRun run;
    run.folder = (folder_ / name).string();
    run.seed = 7;
    run.threads = threads;
    return run;
  }

  fs::path folder_;
};

const std::vector<std::size_t> kScales = {20, 30};
const std::vector<Distribution> kDistributions = {Distribution::kUniform, Distribution::kClustered};

std::vector<std::vector<std::uint64_t>> histograms(const std::vector<std::vector<LawSample>>& samples) {
  std::vector<std::vector<std::uint64_t>> result;
  for (const auto& of_type : samples) {
    for (const LawSample& s : of_type) result.emplace_back(s.orders.counts().begin(), s.orders.counts().end());
  }
  return result;
}

TEST_F(LawExperiment, DoesNotDependOnThreads) {
  const auto types = law_types(kScales, kDistributions, 6);
  const auto one = run_law(types, run("one"));
  const auto three = run_law(types, run("three", 3));
  ASSERT_EQ(one.size(), 4U);
  EXPECT_EQ(histograms(one), histograms(three));
  for (const auto& of_type : one) {
    ASSERT_EQ(of_type.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(of_type[i].index, i);
  }
}

TEST_F(LawExperiment, GoesOnWhereItWasStopped) {
  const auto types = law_types(kScales, kDistributions, 8);
  const auto whole = run_law(types, run("whole"));
  // Stopped after some instances, one of them torn in the middle of its line.
  LawRun stopped = run("parts");
  std::atomic<bool> stop = false;
  stopped.deadline = Deadline().with_stop_flag(&stop);
  stopped.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 32U);
    if (done == 10) stop = true;
  };
  std::size_t num_samples = 0;
  for (const auto& of_type : run_law(types, stopped)) num_samples += of_type.size();
  EXPECT_EQ(num_samples, 10U);
  std::ofstream(stopped.folder + "/uniform-20.samples", std::ios::app) << "3 1.234 0.1 1";

  std::size_t num_solved = 0;
  LawRun rest = run("parts");
  rest.progress = [&](std::size_t, std::size_t) { ++num_solved; };
  const auto resumed = run_law(types, rest);
  EXPECT_EQ(num_solved, 22U) << "nothing is solved twice";
  EXPECT_EQ(histograms(resumed), histograms(whole));
  // More instances of the same: only the new ones are solved; fewer: a prefix.
  num_solved = 0;
  EXPECT_EQ(run_law(law_types(kScales, kDistributions, 9), rest)[3].size(), 9U);
  EXPECT_EQ(num_solved, 4U);
  EXPECT_EQ(run_law(law_types(kScales, kDistributions, 2), rest)[0].size(), 2U);
}

TEST_F(LawExperiment, RefusesFilesThatAreNotItsOwn) {
  const auto types = law_types(std::vector<std::size_t>{20}, std::vector{Distribution::kUniform}, 2);
  run_law(types, run("a"));
  LawRun other_seed = run("a");
  other_seed.seed = 8;
  EXPECT_THROW(run_law(types, other_seed), InputError);
  const std::string path = run("a").folder + "/uniform-20.samples";
  const std::string good = read_file(path);
  for (const std::string line : {"x 1 2 20", "5 1 0.1 19", "0 1 0.1 20", "5 nan 0.1 20", "5 1 0.1", "5 1 0.1 20 "}) {
    write_file(path, good + line + "\n");
    EXPECT_THROW(run_law(types, run("a")), InputError) << line;
    EXPECT_EQ(read_file(path), good + line + "\n") << "left as it was";
  }
}

TEST_F(LawExperiment, TellsTheLawOfGoodTours) {
  const auto types = law_types(std::vector<std::size_t>{100}, std::vector{Distribution::kUniform}, 40);
  const auto samples = run_law(types, run("law", 2));
  const LawRow row = make_law_row(types[0], samples[0]);
  ASSERT_TRUE(row.fit && row.log_fit && row.spread && row.alpha_z && row.beta_z);
  EXPECT_EQ(row.pooled.num_edges(), 4000U);
  // 64 instances of an independent implementation gave 0.916 and 2.54, the paper 0.9204 and 2.5974.
  EXPECT_NEAR(row.fit->alpha, 0.918, 0.02);
  EXPECT_NEAR(row.fit->beta, 2.57, 0.25);
  EXPECT_LT(std::abs(*row.alpha_z), 4);
  EXPECT_LT(std::abs(*row.beta_z), 4);
  const std::string csv = law_csv(std::vector<LawRow>{row});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  const std::size_t header_end = csv.find('\n');
  EXPECT_EQ(std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(header_end), ','),
            std::count(csv.begin() + static_cast<std::ptrdiff_t>(header_end), csv.end(), ','));
}

TEST(LawRow, CopesWithNoSamplesAndPureTours) {
  const LawRow empty = make_law_row({100, Distribution::kUniform, 0}, {});
  EXPECT_FALSE(empty.fit);
  LawSample pure;
  pure.orders.add(0, 20);
  const LawRow row = make_law_row({20, Distribution::kUniform, 1}, std::vector<LawSample>{pure});
  EXPECT_FALSE(row.fit);
  EXPECT_FALSE(row.alpha_z);
  EXPECT_EQ(law_csv(std::vector<LawRow>{empty, row}).find("nan"), std::string::npos);
}

TEST(PaperTable, HasTheTypesOfTheProtocol) {
  ASSERT_EQ(paper_fits().size(), 84U);
  std::size_t num_instances = 0;
  double alpha = 0;
  double beta = 0;
  for (const PaperFit& fit : paper_fits()) {
    num_instances += paper_instances(fit.scale);
    alpha += fit.alpha / 84;
    beta += fit.beta / 84;
    EXPECT_EQ(find_paper_fit(fit.scale, fit.distribution), &fit);
  }
  EXPECT_EQ(num_instances, 15872U);
  EXPECT_NEAR(alpha, 0.92, 0.005);  // as the paper states them
  EXPECT_NEAR(beta, 2.63, 0.01);
  EXPECT_EQ(find_paper_fit(123, Distribution::kUniform), nullptr);
}

}  // namespace
}  // namespace puretour
