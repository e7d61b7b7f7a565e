// A second implementation of Pointerformer gives the golden numbers, and with each known mistake the numbers that the
// original gives with it: the golden tests would see every one of them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "infer/golden.h"
#include "infer/naive_pointerformer.h"
#include "infer/pointerformer_weights.h"

namespace puretour {
namespace {

using test::closed_length;
using test::hashed_pointerformer;
using test::hashed_points;
using test::lattice_points;
using test::NaivePointerformer;
using test::NaiveRollout;
using test::PointerformerMistake;
using test::Rows;
using test::Vector;

double best_length(const std::vector<Point>& points, const std::vector<NaiveRollout>& rollouts) {
  double best = closed_length(points, rollouts[0].order);
  for (const NaiveRollout& rollout : rollouts) best = std::min(best, closed_length(points, rollout.order));
  return best;
}

double smallest_log_gap(const std::vector<NaiveRollout>& rollouts) {
  double smallest = 1e9;
  for (const NaiveRollout& rollout : rollouts) {
    for (const auto& [first, second] : rollout.two_best) {
      if (second > 0) smallest = std::min(smallest, std::log(first) - std::log(second));
    }
  }
  return smallest;
}

void expect_first(const Vector& values, const std::vector<double>& expected, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

TEST(SecondPointerformer, GivesTheGoldenNumbers) {
  struct Case {
    Checkpoint checkpoint;
    std::vector<Point> points;
    std::vector<double> e;
    double length;
    double log_prob;
    double log_prob_tolerance;
    double best;
    double gap;
    double gap_tolerance;
  };
  const std::vector<Case> cases = {{test::sine_pointerformer(),
                                    lattice_points(20),
                                    {0.34512255, -0.37102547, 0.28834990, -0.11959979},
                                    3.1263356,
                                    -0.4157516,
                                    1e-6,
                                    2.8999104,
                                    0.065,
                                    5e-4},
                                   {hashed_pointerformer(),
                                    hashed_points(20, 0),
                                    {-1.9001093, 1.5559369, -1.6178625, 0.9818092},
                                    5.0444078,
                                    -1.21292,
                                    2e-5,
                                    4.6835032,
                                    0.0137,
                                    5e-5},
                                   {hashed_pointerformer(),
                                    hashed_points(30, 0),
                                    {-1.2912142, 1.3276975, -1.4787768, 1.2172592},
                                    5.9926028,
                                    -4.500201,
                                    1e-6,
                                    4.9489870,
                                    0.0104,
                                    5e-5}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.length);
    const NaivePointerformer naive(c.checkpoint);
    expect_first(naive.encode({c.points})[0], c.e, 1e-5);
    const auto rollouts = naive.roll_out_from_all_starts(c.points);
    EXPECT_NEAR(closed_length(c.points, rollouts[0].order), c.length, 1e-6);
    EXPECT_NEAR(rollouts[0].log_prob(), c.log_prob, c.log_prob_tolerance);
    EXPECT_NEAR(best_length(c.points, rollouts), c.best, 1e-6);
    EXPECT_NEAR(smallest_log_gap(rollouts), c.gap, c.gap_tolerance);
    // And what the library gives, start by start.
    const auto policy = make_policy(c.checkpoint);
    const auto instance = policy->encode(c.points, {});
    for (std::size_t start = 0; start < rollouts.size(); ++start) {
      const Rollout rollout = test::greedy(*instance, {static_cast<NodeId>(start)});
      EXPECT_EQ(rollout.order, rollouts[start].order);
      EXPECT_NEAR(rollout.log_prob(), rollouts[start].log_prob(), 2e-4);
    }
  }
}

TEST(SecondPointerformer, WeightsAndPointsOfTheGoldenTestsAreThoseOfTheOriginal) {
  EXPECT_EQ(test::hash_uniform(0, 0) * 0x1p32, 717183737);
  EXPECT_EQ(test::hash_uniform(1, 0) * 0x1p32, 1762689543);
  EXPECT_EQ(test::hash_uniform(0, 67) * 0x1p32, 122772776);
  const TensorMap hashed = hashed_pointerformer().weights;
  const auto expect_weight = [](const TensorMap& weights, const std::string& name,
                                const std::vector<double>& expected) {
    test::expect_begins_with(weights.at(name).values, expected, 1e-7, name);
  };
  const std::string norm = "encoder.sequence.reversible_blocks.0.f_block.mixing_layer_norm.";
  expect_weight(hashed, "decoder.wq.weight", {-0.02567259, -0.04537670});
  expect_weight(hashed, "encoder.init_projection_layer.weight", {-0.2587805, -0.1870484});
  expect_weight(hashed, norm + "weight", {1.0069889, 0.9618001});
  expect_weight(hashed, norm + "running_mean", {-0.06730962, 0.00480994});
  expect_weight(hashed, norm + "running_var", {1.2615498, 1.3589165});
  const TensorMap sine = test::sine_pointerformer().weights;
  expect_weight(sine, "decoder.wq.weight", {-0.09589243, -0.07914547});
  expect_weight(sine, "encoder.init_projection_layer.weight", {0.06569866, 0.08851492});
  const auto points = hashed_points(2, 0);
  EXPECT_NEAR(points[0].x, 0.03812866, 1e-8);
  EXPECT_NEAR(points[0].y, 0.06385564, 1e-8);
  EXPECT_NEAR(points[1].x, 0.9142989, 1e-7);
  EXPECT_NEAR(points[1].y, 0.8388305, 1e-7);
}

// The mistake of the test itself: the numbers of weights counted with the running statistics among them.
TEST(SecondPointerformer, SineWeightsNumberedWithBuffersGiveAnotherFingerprint) {
  Checkpoint checkpoint = test::sine_pointerformer();
  std::set<std::string> names;
  for (const auto& [name, tensor] : checkpoint.weights) {
    names.insert(name);
    const std::string statistic = "running_mean";
    if (name.ends_with(statistic)) {
      names.insert(name.substr(0, name.size() - statistic.size()) + "num_batches_tracked");
    }
  }
  EXPECT_EQ(names.size(), 104U);
  for (auto& [name, tensor] : checkpoint.weights) {
    if (tensor.shape.size() < 2) continue;
    const auto j = static_cast<double>(std::distance(names.begin(), names.find(name)));
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = static_cast<float>(0.1 * std::sin(0.37 * static_cast<double>(i) + j));
    }
  }
  const auto points = lattice_points(20);
  const NaivePointerformer naive(checkpoint);
  const Rows e = naive.encode({points});
  EXPECT_NEAR(e[0][0], 0.3480294, 1e-6);
  const NaiveRollout rollout = naive.roll_out(points, e, 0);
  EXPECT_NEAR(rollout.log_prob(), -0.4157494, 1e-6);
  EXPECT_NEAR(closed_length(points, rollout.order), 3.1263356, 1e-6);
}

struct Fingerprint {
  const char* name;
  PointerformerMistake mistake;
  double length;                // of the greedy tour from node 0
  double log_prob;              // of that tour
  std::optional<double> best;   // shortest greedy tour from any node; none: decided by rounding
  std::optional<double> e00{};  // first number of the first embedding
};

std::ostream& operator<<(std::ostream& out, const Fingerprint& f) {
  return out << f.name;
}

class PointerformerMistakes : public testing::TestWithParam<Fingerprint> {};

TEST_P(PointerformerMistakes, LeaveTheirFingerprints) {
  const auto& [name, mistake, length, log_prob, best, e00] = GetParam();
  const Checkpoint checkpoint = hashed_pointerformer();
  const auto points = hashed_points(30, 0);
  const NaivePointerformer naive(checkpoint, mistake);
  const auto rollouts = naive.roll_out_from_all_starts(points);
  EXPECT_NEAR(closed_length(points, rollouts[0].order), length, 2e-6);
  EXPECT_NEAR(rollouts[0].log_prob(), log_prob, 1e-4);
  if (best) {
    EXPECT_NEAR(best_length(points, rollouts), *best, 2e-6);
  }
  if (e00) {
    EXPECT_NEAR(naive.encode({points})[0][0], *e00, 1e-5);
  }
  // Beyond the tolerance of the golden test, which is 5e-5.
  EXPECT_GT(std::abs(rollouts[0].log_prob() + 4.500201), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    All, PointerformerMistakes,
    testing::Values(
        Fingerprint{"DistanceIn2D", PointerformerMistake::kDistanceIn2D, 7.044263, -5.28690, 6.057918},
        Fingerprint{"DistanceIn16D", PointerformerMistake::kDistanceIn16D, 6.220592, -3.72878, 5.152159},
        Fingerprint{"DistanceNotDivided", PointerformerMistake::kDistanceNotDivided, 6.261337, -5.29747, 5.124416},
        Fingerprint{"NoDistance", PointerformerMistake::kNoDistance, 15.227395, -9.74639, 10.275381},
        Fingerprint{"ScaleOfOneHead", PointerformerMistake::kScaleOfOneHead, 6.991919, -15.41731, 6.180001},
        // Most scores saturate at the clip; the library, which rounds like the original, gives its 7.289224.
        Fingerprint{"SumOfPointers", PointerformerMistake::kSumOfPointers, 8.326368, -33.84001, std::nullopt},
        Fingerprint{"NoVisitedQuery", PointerformerMistake::kNoVisitedQuery, 5.746439, -3.38383, 4.948987},
        Fingerprint{"VisitedQueryByCount", PointerformerMistake::kVisitedQueryByCount, 5.992603, -5.05248, 5.124416},
        Fingerprint{"CoordinatesBeforeAngles", PointerformerMistake::kCoordinatesBeforeAngles, 5.415773, -23.76411,
                    5.408691},
        Fingerprint{"ClipOf10", PointerformerMistake::kClipOf10, 5.992603, -19.17249, 4.948987},
        Fingerprint{"MeanAfterTanh", PointerformerMistake::kMeanAfterTanh, 6.059898, -9.80923, 5.146895},
        Fingerprint{"StreamsSwapped", PointerformerMistake::kStreamsSwapped, 6.707475, -21.99459, 5.501767},
        Fingerprint{"FeedForwardOfOldStream", PointerformerMistake::kFeedForwardOfOldStream, 6.261337, -2.10296,
                    5.124416},
        Fingerprint{"ReturnsFirstStream", PointerformerMistake::kReturnsFirstStream, 5.855309, -2.40697, 4.948987},
        Fingerprint{"ReturnsMeanOfStreams", PointerformerMistake::kReturnsMeanOfStreams, 5.874379, -2.10327, 4.948987},
        Fingerprint{"Relu", PointerformerMistake::kRelu, 5.817174, -6.12597, 5.152159},
        Fingerprint{"GeluByTanh", PointerformerMistake::kGeluByTanh, 5.992603, -4.50010, 4.948987, -1.29199},
        Fingerprint{"NoNormBeforeAttention", PointerformerMistake::kNoNormBeforeAttention, 6.154597, -2.38698,
                    5.183701},
        Fingerprint{"NormOfTheBatch", PointerformerMistake::kNormOfTheBatch, 6.607176, -3.21712, 5.798780},
        Fingerprint{"ProjectionsKeyQueryValue", PointerformerMistake::kProjectionsKeyQueryValue, 6.182339, -8.98429,
                    5.152159},
        Fingerprint{"ProjectionsValueKeyQuery", PointerformerMistake::kProjectionsValueKeyQuery, 6.202972, -1.70547,
                    5.508512}),
    [](const auto& tested) { return std::string(tested.param.name); });

// One step of training on given tours, without gradients: what nn/ computes with them starts from these numbers.
TEST(SecondPointerformer, GivesTheLossOfAStepOfTraining) {
  const Checkpoint checkpoint = hashed_pointerformer();
  const NaivePointerformer naive(checkpoint);
  const std::vector<std::vector<Point>> batch = {hashed_points(20, 0), hashed_points(20, 1)};
  EXPECT_NEAR(batch[1][0].x, 0.2277315, 1e-7);
  EXPECT_NEAR(batch[1][0].y, 0.3465929, 1e-7);
  const Rows e = naive.encode(batch, /*training=*/true);
  expect_first(e[0], {-2.035767, -0.134734, 0.149593, -3.471725}, 2e-5);

  const std::array<std::size_t, 8> strides = {1, 3, 7, 9, 11, 13, 17, 19};
  const std::vector<double> expected_deviation = {0.6584037, 0.9128500};
  const std::vector<std::vector<double>> expected_lengths = {{10.897818, 10.252052, 11.891929, 11.715510},
                                                             {10.099024, 7.655224, 9.057182, 9.595917}};
  const std::vector<std::vector<double>> expected_advantages = {{0.4427521, 1.4235566, -1.0671287, -0.7991801},
                                                                {-1.0923893, 1.5847207, 0.0489170, -0.5412505}};
  double loss = 0;
  double weighted_loss = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    const Rows own(e.begin() + static_cast<std::ptrdiff_t>(20 * b),
                   e.begin() + static_cast<std::ptrdiff_t>(20 * b + 20));
    Vector lengths;
    std::vector<NaiveRollout> rollouts;
    for (std::size_t g = 0; g < 20; ++g) {
      std::vector<NodeId> tour;
      for (std::size_t t = 0; t < 20; ++t) tour.push_back(static_cast<NodeId>((g + strides[g % 8] * t) % 20));
      lengths.push_back(closed_length(batch[b], tour));
      rollouts.push_back(naive.roll_out(batch[b], own, tour[0], tour));
    }
    expect_first(lengths, expected_lengths[b], 5e-6);
    double mean = 0;
    double deviation = 0;
    for (const double length : lengths) mean += length / 20;
    for (const double length : lengths) deviation += (length - mean) * (length - mean) / 20;
    deviation = std::sqrt(deviation);
    EXPECT_NEAR(deviation, expected_deviation[b], 1e-6);
    Vector advantages;
    for (std::size_t g = 0; g < 20; ++g) {
      advantages.push_back((mean - lengths[g]) / (deviation + 1e-8));
      double weighted = 0;
      for (std::size_t t = 1; t < 20; ++t) {
        weighted += (1 + 0.1 * (static_cast<double>(t) - 1)) * rollouts[g].log_probs[t - 1];
      }
      loss -= advantages[g] * rollouts[g].log_prob() / 40;
      weighted_loss -= advantages[g] * weighted / 40;
    }
    expect_first(advantages, expected_advantages[b], 1e-5);
    if (b == 0) {
      EXPECT_NEAR(rollouts[0].log_prob(), -189.83078, 1e-3);
      EXPECT_NEAR(rollouts[1].log_prob(), -210.52821, 1e-3);
      expect_first(rollouts[0].log_probs,
                   {-12.955991, -14.582047, -13.092405, -18.420620, -17.899145, -1.401821, -5.750487, -18.420681},
                   2e-4);
    } else {
      EXPECT_NEAR(rollouts[0].log_prob(), -229.92163, 1e-3);
    }
  }
  EXPECT_NEAR(loss, -6.818259, 1e-6);
  EXPECT_NEAR(weighted_loss, -14.627965, 1e-6);

  // The reversible encoder runs twice per step, and each run updates the running statistics.
  const auto twice = naive.first_statistics(batch, 2);
  expect_first(twice.mean, {0.0123141, -0.0663712, -0.0459975}, 1e-6);
  expect_first(twice.variance, {1.0252476, 1.1017106, 1.1171345}, 1e-6);
  const auto once = naive.first_statistics(batch, 1);
  expect_first(once.mean, {-0.0254024, -0.0326538}, 1e-6);
  expect_first(once.variance, {1.1371802, 1.2235450}, 1e-6);
}

}  // namespace
}  // namespace puretour
