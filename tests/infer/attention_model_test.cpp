// The attention model against numbers of the original program, a second implementation, and laws of probability.
// SPDX-License-Identifier: MIT
#include "puretour/infer/attention_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "infer/golden.h"
#include "infer/naive_attention_model.h"
#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/tour/tour.h"

namespace puretour {
namespace {

using test::canonical_test_set;
using test::closed_length;
using test::expect_begins_with;
using test::greedy;
using test::lattice_points;
using test::RecordedStages;

std::unique_ptr<Policy> published(const std::string& name) {
  const std::string path = test::peer_file(name + ".pt");
  return make_policy(import_kool(read_file(path), path));
}

#define SKIP_WITHOUT_PUBLISHED_WEIGHTS() \
  if (!test::peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout"

std::vector<double> log_softmax(const std::vector<float>& scores) {
  double sum = 0;
  for (const float s : scores) sum += std::exp(static_cast<double>(s));
  std::vector<double> result;
  for (const float s : scores) result.push_back(static_cast<double>(s) - std::log(sum));
  return result;
}

struct Gap {
  double size = std::numeric_limits<double>::infinity();
  std::size_t step = 0;
};

// The smallest lead of the chosen node over the next, in log-probability.
Gap smallest_gap(const RecordedStages& stages) {
  Gap smallest;
  const auto& steps = stages.values.at("scores");
  for (std::size_t t = 0; t + 1 < steps.size(); ++t) {  // the last one has no choice
    std::vector<float> scores = steps[t];
    std::nth_element(scores.begin(), scores.begin() + 1, scores.end(), std::greater<>());
    const auto gap = static_cast<double>(scores[0] - scores[1]);
    if (gap < smallest.size) smallest = {gap, t};
  }
  return smallest;
}

void expect_golden_20(const std::string& model, const std::vector<NodeId>& tour, double length, double log_prob,
                      const std::vector<double>& first_step, const std::vector<double>& chosen, const Gap& gap) {
  const auto points = lattice_points(20);
  const auto policy = published(model);
  const auto instance = policy->encode(points, {});
  RecordedStages stages;
  const Rollout rollout = greedy(*instance, {}, stages.observer());
  EXPECT_EQ(rollout.order, tour);
  EXPECT_NEAR(closed_length(points, rollout.order), length, 1e-5);
  EXPECT_NEAR(rollout.log_prob(), log_prob, 5e-5);
  const std::vector<double> log_probs = log_softmax(stages.get("scores", 0));
  ASSERT_EQ(log_probs.size(), first_step.size());
  for (std::size_t i = 0; i < first_step.size(); ++i) EXPECT_NEAR(log_probs[i], first_step[i], 2e-4) << i;
  ASSERT_EQ(rollout.log_probs.size(), chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) EXPECT_NEAR(rollout.log_probs[i], chosen[i], 5e-5) << i;
  const Gap smallest = smallest_gap(stages);
  EXPECT_NEAR(smallest.size, gap.size, 5e-3 * gap.size);  // three digits are known
  EXPECT_EQ(smallest.step, gap.step);
}

TEST(AttentionModel, GreedyTourOfTwentyNodesWithWeightsFor100) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  expect_golden_20("am_tsp100", {14, 6, 19, 11, 3, 7, 15, 2, 10, 18, 5, 13, 0, 8, 16, 4, 12, 17, 9, 1}, 2.9010940502,
                   -5.6164465634,
                   {-15.4257553, -15.4319008, -15.4329201, -15.4330781, -15.4329748, -15.4284413, -2.6165096,
                    -15.4334403, -15.4206490, -15.4332119, -15.4306103, -15.4293634, -15.4333867, -15.3747830,
                    -0.0758676,  -15.4332754, -15.4305760, -15.4333658, -15.4205836, -15.2514727},
                   {-0.0758676, -0.0000209, -0.0000002, -1.7777721, -0.2279808, -0.3011056, -0.0014760,
                    -1.7615212, -0.0002033, -0.0002124, -0.0166358, -0.3876233, -0.2215327, -0.0286520,
                    -0.0103945, -0.0799695, -0.7253536, -0.0001145, -0.0000105, 0},
                   {0.911, 7});
}

TEST(AttentionModel, GreedyTourOfTwentyNodesWithWeightsFor50) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  expect_golden_20("am_tsp50", {7, 2, 10, 18, 5, 13, 0, 8, 16, 12, 4, 17, 9, 1, 14, 6, 19, 11, 3, 15}, 2.9010940228,
                   -0.1864787397,
                   {-10.6854390, -10.6534080, -10.6862784, -10.4866259, -10.6865992, -10.6870710, -10.5474375,
                    -0.0005413,  -10.6863624, -10.6708368, -10.6871381, -10.3188508, -10.6874420, -10.6852712,
                    -10.5943604, -9.3208746,  -10.6870520, -10.6855741, -10.6871709, -10.0966590},
                   {-0.0005413, -0.0012229, -0.0000002, -0.0000002, -0.0000012, -0.0014987, -0.0613229,
                    -0.0042347, -0.0008216, -0.1161102, -0.0000121, -0.0001626, -0.0000065, -0.0002573,
                    -0.0000049, -0.0000092, -0.0000783, -0.0000022, -0.0001915, 0},
                   {2.09, 9});
}

struct Stage {
  const char* name;
  std::vector<double> node_0;
  double norm;  // of the whole; 0: not known
  std::size_t offset = 0;
  std::size_t occurrence = 0;
};

void expect_stages(const std::string& model, const std::vector<Stage>& expected) {
  const auto policy = published(model);
  RecordedStages stages;
  const auto instance = policy->encode(lattice_points(20), {.observer = stages.observer()});
  (void)greedy(*instance, {}, stages.observer());
  for (const Stage& stage : expected) {
    const auto& values = stages.get(stage.name, stage.occurrence);
    // The later the stage, the larger the numbers that cancelled on the way.
    expect_begins_with(values, stage.node_0, 2e-5, model + " " + stage.name, stage.offset);
    if (stage.norm > 0) {
      EXPECT_NEAR(test::norm(values) / stage.norm, 1, 2e-6) << model << ' ' << stage.name;
    }
  }
}

TEST(AttentionModel, IntermediateValuesAreThoseOfTheOriginal) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  expect_stages("am_tsp100", {{"h0", {0.565986, 0.033611, 0.333906, -0.789661}, 23.998114},
                              {"L0 h+MHA", {0.748204, -0.271321, 0.418721, -0.759154}, 31.781528},
                              {"L0 BN1", {0.329518, 0.179625, 0.512366, -0.099603}, 31.465328},
                              {"L0 +FF", {-3.571967, 3.976745, 8.550397, 0.377189}, 405.818294},
                              {"L0 BN2", {0.018545, 0.589533, 0.197297, -0.064420}, 29.284277},
                              {"L1 h+MHA", {0.150841, 1.675633, -0.424454, -0.012912}, 43.657874},
                              {"L1 BN2", {-0.088558, 2.035655, -0.236187, 0.444583}, 26.883339},
                              {"L2 BN2", {0.032718, 0.141282, 0.303337, 0.120628}, 34.882421},
                              {"graph mean", {-0.080485, -0.080837, -0.028361, -0.145063}, 2.100212},
                              {"fixed context", {-0.227984, -0.200800, -0.142944, -0.181654}, 3.432253},
                              {"projection", {-2.174004, -0.198328, 0.692213, 0.031517}, 0, 0},
                              {"projection", {-0.400516, 0.851725, -0.227507, 0.024547}, 0, 128},
                              {"projection", {-0.062532, 1.637588, 2.724578, -0.680254}, 0, 256},
                              {"query", {-0.931174, -0.351484, -0.639848, 0.576525}, 15.323258},
                              {"glimpse", {0.143018, 0.755874, 0.243560, 0.477369}, 10.458084},
                              {"scores", {-9.992293, -9.998439, -9.999458, -9.999616}, 0},
                              {"query", {-1.871649, -0.572509, -0.295365, -0.669625}, 14.524195, 0, 1},
                              {"glimpse", {0.082511, 0.512116, -0.257019, 0.820247}, 10.288914, 0, 1}});
  expect_stages("am_tsp50", {{"h0", {0.565416, 0.047547, 0.282063, -0.798711}, 23.666192},
                             {"L0 h+MHA", {1.556017, -0.437820, 0.317260, -0.080179}, 33.421575},
                             {"L0 BN1", {0.071642, -0.025493, 0.736656, 0.105932}, 30.570457},
                             {"L0 +FF", {-5.910887, 1.571922, 13.480808, 0.940100}, 319.611186},
                             {"L0 BN2", {-0.558713, -0.461913, 0.758413, -0.591546}, 30.374179},
                             {"L1 h+MHA", {-0.374860, -2.902392, 0.016014, 0.574451}, 54.669697},
                             {"L1 BN2", {-0.056340, 0.453981, 0.202446, -0.001259}, 28.439698},
                             {"L2 BN2", {-0.306261, 0.011256, 0.511134, 0.504902}, 33.045644},
                             {"graph mean", {-0.316178, 0.185023, 0.322900, -0.144345}, 1.992661},
                             {"fixed context", {0.239014, -0.069722, 0.488048, -0.032347}, 3.078625},
                             {"projection", {1.046765, 0.123308, 1.049723, 0.107312}, 0, 0},
                             {"projection", {1.407689, -2.791527, 0.773023, 0.106237}, 0, 128},
                             {"projection", {-2.814634, 0.136900, 1.599892, -0.628479}, 0, 256},
                             {"query", {-3.031404, -1.043860, -0.564397, 1.641195}, 14.709349},
                             {"glimpse", {0.365209, -0.404019, -1.787833, 0.395919}, 9.903760},
                             {"scores", {-9.997960, -9.965929, -9.998799, -9.799147}, 0},
                             {"query", {-0.915184, 1.960383, 0.613126, -1.560588}, 13.003479, 0, 1},
                             {"glimpse", {1.077204, -0.099541, -2.825535, 1.168679}, 12.824457, 0, 1}});
}

TEST(AttentionModel, GreedyToursOfAHundredNodes) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const auto points = lattice_points(100);
  const auto with100 = published("am_tsp100");
  RecordedStages a_stages;
  const Rollout a = greedy(*with100->encode(points, {}), {}, a_stages.observer());
  EXPECT_NEAR(smallest_gap(a_stages).size, 0.561, 1e-3);
  EXPECT_EQ(a.order,
            (std::vector<NodeId>{67, 59, 51, 43, 88, 80, 72, 64, 56, 35, 27, 19, 11, 3,  92, 84, 76, 68, 60, 52,
                                 7,  15, 23, 31, 39, 47, 55, 63, 71, 79, 87, 6,  14, 22, 30, 1,  95, 66, 58, 50,
                                 42, 34, 26, 18, 10, 2,  96, 75, 83, 91, 99, 5,  13, 21, 29, 37, 45, 74, 82, 90,
                                 98, 69, 61, 53, 16, 8,  0,  94, 86, 78, 70, 62, 54, 41, 49, 57, 20, 28, 36, 44,
                                 65, 73, 81, 89, 97, 24, 32, 40, 48, 77, 85, 93, 12, 4,  33, 25, 17, 9,  46, 38}));
  EXPECT_NEAR(closed_length(points, a.order), 8.6421717301, 1e-5);
  EXPECT_NEAR(a.log_prob(), -1.3517805355, 5e-5);
  const auto with50 = published("am_tsp50");
  RecordedStages b_stages;
  const Rollout b = greedy(*with50->encode(points, {}), {}, b_stages.observer());
  EXPECT_NEAR(smallest_gap(b_stages).size, 0.648, 1e-3);
  EXPECT_EQ(b.order,
            (std::vector<NodeId>{7,  15, 23, 96, 2,  10, 18, 26, 34, 42, 50, 58, 66, 74, 82, 90, 98, 61, 53, 45,
                                 37, 29, 21, 13, 5,  99, 91, 83, 75, 54, 62, 70, 78, 86, 94, 0,  8,  65, 57, 49,
                                 41, 20, 28, 36, 44, 73, 81, 89, 97, 16, 24, 32, 40, 48, 69, 77, 85, 93, 12, 4,
                                 33, 25, 17, 9,  1,  95, 87, 79, 71, 6,  14, 22, 30, 38, 46, 67, 59, 51, 88, 80,
                                 72, 64, 56, 43, 35, 27, 19, 11, 3,  84, 92, 63, 55, 47, 39, 31, 76, 68, 60, 52}));
  EXPECT_NEAR(closed_length(points, b.order), 8.6326815171, 1e-5);
  EXPECT_NEAR(b.log_prob(), -6.0388293654, 5e-5);

  const auto canonical = canonical_test_set(1, 100)[0];
  const Rollout c = greedy(*with100->encode(canonical, {}));
  EXPECT_NEAR(closed_length(canonical, c.order), 7.612543, 1e-5);
  EXPECT_EQ(std::vector<NodeId>(c.order.begin(), c.order.begin() + 10),
            (std::vector<NodeId>{11, 72, 39, 20, 64, 34, 67, 76, 62, 55}));
  EXPECT_EQ(std::vector<NodeId>(c.order.end() - 10, c.order.end()),
            (std::vector<NodeId>{87, 80, 0, 45, 25, 49, 21, 53, 23, 97}));
}

TEST(AttentionModel, TheCanonicalTestSetIsThatOfNumPy) {
  const auto instances = canonical_test_set(10'000, 100);
  EXPECT_NEAR(instances[0][0].x, 0.1915194503788923, 1e-8);
  EXPECT_NEAR(instances[0][0].y, 0.6221087710398319, 3e-8);
  EXPECT_NEAR(instances[0][1].x, 0.4377277390071145, 2e-8);
  EXPECT_NEAR(instances[0][1].y, 0.7853585837137692, 3e-8);
  double sum = 0;
  for (const auto& points : instances) {
    for (const Point p : points) sum += p.x + p.y;
  }
  EXPECT_NEAR(sum / 2e6, 0.499934978620, 1e-9);
}

void expect_canonical_means(const std::string& model, std::size_t num_nodes, double mean_length, double deviation,
                            double mean_log_prob, const std::vector<double>& first_lengths) {
  const auto instances = canonical_test_set(1000, num_nodes);
  const auto policy = published(model);
  std::vector<double> lengths(instances.size());
  std::vector<double> log_probs(instances.size());
  parallel_for(instances.size(), 0, [&](std::size_t i) {
    const Rollout rollout = greedy(*policy->encode(instances[i], {}));
    lengths[i] = closed_length(instances[i], rollout.order);
    log_probs[i] = rollout.log_prob();
  });
  const auto mean = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / 1000; };
  EXPECT_NEAR(mean(lengths), mean_length, 1e-5);
  std::vector<double> squares;
  for (const double length : lengths) squares.push_back(std::pow(length - mean(lengths), 2));
  EXPECT_NEAR(std::sqrt(mean(squares) * 1000 / 999), deviation, 6e-5);
  EXPECT_NEAR(mean(log_probs), mean_log_prob, 2e-5);
  for (std::size_t i = 0; i < first_lengths.size(); ++i) EXPECT_NEAR(lengths[i], first_lengths[i], 1e-5) << i;
}

TEST(AttentionModel, MeanOfAThousandCanonicalInstancesOf50Nodes) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  expect_canonical_means("am_tsp50", 50, 5.777273, 0.2774, -1.79348,
                         {5.451431, 5.677990, 6.048293, 6.067352, 5.711887});
}

TEST(AttentionModel, MeanOfAThousandCanonicalInstancesOf100Nodes) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  expect_canonical_means("am_tsp100", 100, 8.085760, 0.2698, -5.39626,
                         {7.612543, 8.537844, 8.047481, 8.469753, 8.495128});
}

// The original's best of 1280 samples. Both are random, each within about 0.02.
TEST(AttentionModel, TheBestOfManySamplesIsAsShortAsThatOfTheOriginal) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const auto expect_best = [](const std::string& model, std::size_t num_nodes, const std::vector<double>& expected) {
    const auto policy = published(model);
    const auto instances = canonical_test_set(expected.size(), num_nodes);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto instance = policy->encode(instances[i], {});
      std::vector<double> lengths(1280);
      parallel_for(lengths.size(), 0, [&](std::size_t k) {
        RolloutOptions options;
        options.sample = true;
        Rng rng(i, {k});
        lengths[k] = closed_length(instances[i], instance->roll_out(options, rng).order);
      });
      EXPECT_NEAR(*std::min_element(lengths.begin(), lengths.end()), expected[i], 0.03) << model << ' ' << i;
    }
  };
  expect_best("am_tsp50", 50, {5.399, 5.634, 6.048, 6.027});
  expect_best("am_tsp100", 100, {7.558, 8.390, 7.913, 8.261});
}

// Rounded factors change a few close decisions, for better or worse.
TEST(AttentionModel, Bfloat16HardlyChangesTheMeanLength) {
  SKIP_WITHOUT_PUBLISHED_WEIGHTS();
  const std::string path = test::peer_file("am_tsp50.pt");
  const Checkpoint checkpoint = import_kool(read_file(path), path);
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::size_t kInstances = 200;  // takes ten times as long
  constexpr double kTolerance = 2e-3;
#else
  constexpr std::size_t kInstances = 10000;
  constexpr double kTolerance = 2e-4;
#endif
  const auto instances = canonical_test_set(kInstances, 50);
  const auto mean_length = [&](kernels::Precision precision) {
    const auto policy = make_policy(checkpoint, precision);
    std::vector<double> lengths(instances.size());
    parallel_for(instances.size(), 0, [&](std::size_t i) {
      lengths[i] = closed_length(instances[i], greedy(*policy->encode(instances[i], {})).order);
    });
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
  };
  const double exact = mean_length(kernels::Precision::kFloat);
  EXPECT_NEAR(mean_length(kernels::Precision::kBfloat16) / exact, 1, kTolerance);
}

// A network of odd sizes with random weights: no published file is needed.
Checkpoint odd_checkpoint() {
  return test::moderate_checkpoint(AmConfig{20, 2, 2, 21, 8});
}

// One whose keys and values are rounded, where the CPU has instructions for it.
Checkpoint even_checkpoint() {
  return test::moderate_checkpoint(AmConfig{32, 2, 2, 64, 8});
}

// Both ways to roll out.
std::vector<std::unique_ptr<Policy>> two_policies() {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(make_policy(odd_checkpoint()));
  policies.push_back(make_policy(even_checkpoint(), kernels::Precision::kBfloat16));
  return policies;
}

void expect_formulas(const Checkpoint& checkpoint, kernels::Precision precision, double tolerance) {
  const auto policy = make_policy(checkpoint, precision);
  for (const std::size_t n : {1U, 2U, 3U, 7U, 40U}) {
    const auto points = lattice_points(n, 5);
    const Rollout rollout = greedy(*policy->encode(points, {}));
    const auto expected = test::naive_attention_model(checkpoint, points, rollout.order);
    ASSERT_EQ(rollout.order.size(), n);
    for (std::size_t t = 0; t < n; ++t) {
      const auto& log_probs = expected[t];
      EXPECT_NEAR(rollout.log_probs[t], log_probs[static_cast<std::size_t>(rollout.order[t])], tolerance)
          << n << ' ' << t;
      const auto best = std::max_element(log_probs.begin(), log_probs.end());
      EXPECT_NEAR(*best, log_probs[static_cast<std::size_t>(rollout.order[t])], tolerance);
    }
  }
}

TEST(AttentionModel, EqualsAPlainImplementationOfTheFormulas) {
  expect_formulas(odd_checkpoint(), kernels::Precision::kFloat, 1e-4);
  expect_formulas(even_checkpoint(), kernels::Precision::kFloat, 1e-4);
  // Measured with bfloat16: 0.006 on average and 0.025 at worst, most of it from the encoder.
  expect_formulas(even_checkpoint(), kernels::Precision::kBfloat16, 0.05);
}

TEST(AttentionModel, ObserversSeeWhatRoundedRollOutsDo) {
  const auto policy = make_policy(even_checkpoint(), kernels::Precision::kBfloat16);
  const auto instance = policy->encode(lattice_points(40), {});
  RecordedStages stages;
  const Rollout rollout = greedy(*instance, {}, stages.observer());
  EXPECT_EQ(rollout.order, greedy(*instance).order);
  for (std::size_t t = 0; t < rollout.order.size(); ++t) {
    const std::vector<float>& scores = stages.get("scores", t);
    ASSERT_EQ(scores.size(), rollout.order.size() - t);
    const std::vector<double> log_probs = log_softmax(scores);
    EXPECT_NEAR(rollout.log_probs[t], *std::max_element(log_probs.begin(), log_probs.end()), 1e-4);
    EXPECT_EQ(stages.get("query", t).size(), 32U);
    EXPECT_EQ(stages.get("glimpse", t).size(), 32U);
  }
}

TEST(AttentionModel, AnObserverMayRollOutItself) {
  const auto policy = make_policy(even_checkpoint(), kernels::Precision::kBfloat16);
  const auto instance = policy->encode(lattice_points(20), {});
  const Rollout undisturbed = greedy(*instance);
  const Rollout disturbed = greedy(*instance, {}, [&](std::string_view, std::span<const float>, std::size_t) {
    EXPECT_EQ(greedy(*instance).order, undisturbed.order);
  });
  EXPECT_EQ(disturbed.order, undisturbed.order);
  EXPECT_EQ(disturbed.log_probs, undisturbed.log_probs);
}

TEST(AttentionModel, RollOutsDoNotDependOnTheNumberOfThreads) {
  for (const auto& policy : two_policies()) {
    const std::vector<std::vector<Point>> points = {lattice_points(50), lattice_points(33), lattice_points(7)};
    const std::vector<std::span<const Point>> all(points.begin(), points.end());
    const auto instances = policy->encode_together(all);
    const auto rollouts = [&](int threads) {
      std::vector<RolloutTask> tasks(24);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].instance = instances[i % 3].get();
        tasks[i].options.sample = i % 4 != 0;
        tasks[i].options.temperature = i % 4 == 3 ? 1.5 : 1;
        tasks[i].rng = Rng(i);
      }
      return roll_out_all(*policy, tasks, threads);
    };
    const std::vector<Rollout> one = rollouts(1);
    for (const int threads : {2, 5}) {
      const std::vector<Rollout> several = rollouts(threads);
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_NO_THROW(Tour{several[i].order});
        EXPECT_EQ(several[i].order, one[i].order);
        EXPECT_EQ(several[i].log_probs, one[i].log_probs);
      }
    }
  }
}

TEST(AttentionModel, ScoringATourRepeatsItsRollOut) {
  for (const auto& policy : two_policies()) {
    const auto instance = policy->encode(lattice_points(30), {});
    RolloutOptions options;
    options.sample = true;
    options.temperature = 1.5;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const Rollout sampled = instance->roll_out(options, rng);
      const Rollout scored = greedy(*instance, sampled.order);
      EXPECT_EQ(scored.order, sampled.order);
      EXPECT_EQ(scored.log_probs, sampled.log_probs);
    }
  }
}

TEST(AttentionModel, ProbabilitiesOfAllToursSumToOneAndSamplesFollowThem) {
  for (const auto& policy : two_policies()) {
    const auto instance = policy->encode(lattice_points(4), {});
    std::map<std::vector<NodeId>, double> probabilities;
    std::vector<NodeId> order = {0, 1, 2, 3};
    double total = 0;
    do {
      probabilities[order] = std::exp(greedy(*instance, order).log_prob());
      total += probabilities[order];
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(total, 1, 1e-5);
    constexpr int kSamples = 20'000;
    std::map<std::vector<NodeId>, int> counts;
    Rng rng(17);
    RolloutOptions options;
    options.sample = true;
    for (int i = 0; i < kSamples; ++i) ++counts[instance->roll_out(options, rng).order];
    for (const auto& [tour, p] : probabilities) {
      const double deviation = std::sqrt(kSamples * p * (1 - p)) + 1;
      EXPECT_NEAR(counts[tour], kSamples * p, 5 * deviation);
    }
  }
}

TEST(AttentionModel, LowTemperatureSamplesAreGreedy) {
  for (const auto& policy : two_policies()) {
    const auto instance = policy->encode(lattice_points(25), {});
    RolloutOptions options;
    options.sample = true;
    options.temperature = 1e-5;
    Rng rng(1);
    EXPECT_EQ(instance->roll_out(options, rng).order, greedy(*instance).order);
  }
}

TEST(AttentionModel, RelabelledNodesGiveTheRelabelledTour) {
  for (const auto& policy : two_policies()) {
    const auto points = lattice_points(40);
    const Rollout before = greedy(*policy->encode(points, {}));
    std::vector<std::size_t> label(points.size());
    std::iota(label.begin(), label.end(), 0);
    Rng(3).shuffle(label.data(), label.size());
    std::vector<Point> moved(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) moved[label[i]] = points[i];
    const Rollout after = greedy(*policy->encode(moved, {}));
    for (std::size_t t = 0; t < points.size(); ++t) {
      EXPECT_EQ(static_cast<std::size_t>(after.order[t]), label[static_cast<std::size_t>(before.order[t])]);
    }
    EXPECT_NEAR(after.log_prob(), before.log_prob(), 1e-4);
  }
}

TEST(AttentionModel, DoesNotDependOnTheNumberOfThreads) {
  for (const auto& policy : two_policies()) {
    const auto points = lattice_points(300);
    const Rollout one = greedy(*policy->encode(points, {.threads = 1}));
    const Rollout three = greedy(*policy->encode(points, {.threads = 3}));
    EXPECT_EQ(three.order, one.order);
    EXPECT_EQ(three.log_probs, one.log_probs);
  }
}

TEST(AttentionModel, InstancesEncodedTogetherAreThoseEncodedAlone) {
  for (const kernels::Precision precision : {kernels::Precision::kFloat, kernels::Precision::kBfloat16}) {
    const auto policy = make_policy(even_checkpoint(), precision);
    const std::vector<std::vector<Point>> instances = {lattice_points(20), lattice_points(1), lattice_points(33),
                                                       lattice_points(20)};
    const std::vector<std::span<const Point>> all(instances.begin(), instances.end());
    const auto together = policy->encode_together(all);
    const auto pair = policy->encode_together(std::span(all).subspan(2));
    ASSERT_EQ(together.size(), 4U);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Rng rng(1);
      const Rollout alone = policy->encode(all[i], {})->roll_out({}, rng);
      RolloutOptions same_tour;
      same_tour.prefix = alone.order;
      EXPECT_NEAR(together[i]->roll_out(same_tour, rng).log_prob(), alone.log_prob(), 1e-3);
      if (i < 2) continue;
      const Rollout of_four = together[i]->roll_out({}, rng);
      const Rollout of_two = pair[i - 2]->roll_out({}, rng);
      EXPECT_EQ(of_four.order, of_two.order);
      EXPECT_EQ(of_four.log_probs, of_two.log_probs);
    }
  }
}

TEST(AttentionModel, StartsWithThePrefixAndStopsAtTheDeadline) {
  for (const auto& policy : two_policies()) {
    const auto instance = policy->encode(lattice_points(30), {});
    const Rollout rollout = greedy(*instance, {7, 3});
    EXPECT_EQ(rollout.order[0], 7);
    EXPECT_EQ(rollout.order[1], 3);
    EXPECT_NO_THROW(Tour{rollout.order});
    EXPECT_THROW((void)greedy(*instance, {30}), InputError);
    EXPECT_THROW((void)greedy(*instance, {-1}), InputError);
    EXPECT_THROW((void)greedy(*instance, {3, 3}), InputError);
    RolloutOptions options;
    options.deadline = Deadline::after_seconds(0);
    Rng rng;
    EXPECT_TRUE(instance->roll_out(options, rng).order.empty());
    EXPECT_THROW((void)policy->encode({}, {}), InputError);
    EXPECT_EQ(policy->encode(lattice_points(30), {.deadline = options.deadline}), nullptr);
  }
}

}  // namespace
}  // namespace puretour
