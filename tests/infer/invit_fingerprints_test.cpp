// A second implementation of INViT gives the golden numbers, and with each known mistake the number that the original
// gives with it: the golden tests would see every one of them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>

#include "infer/golden.h"
#include "infer/invit_weights.h"
#include "infer/naive_invit.h"

namespace puretour {
namespace {

using test::closed_length;
using test::hashed_invit;
using test::invit_config;
using test::InvitMistake;
using test::lattice_points;
using test::NaiveInvit;
using test::NaiveRollout;
using test::sine_invit;
using test::split_mix_points;

// By how much the chosen node is more probable than the next, for the decisions that have a choice.
std::vector<double> margins(const NaiveRollout& rollout) {
  std::vector<double> result;
  for (const auto& [first, second] : rollout.two_best) result.push_back(first - second);
  result.pop_back();
  return result;
}

void expect_golden(const Checkpoint& checkpoint, const std::vector<Point>& points, double length, double log_prob,
                   double smallest_margin, double margin_tolerance) {
  const NaiveRollout naive = NaiveInvit(checkpoint).roll_out(points, 0);
  EXPECT_NEAR(closed_length(points, naive.order), length, 1e-5);
  EXPECT_NEAR(naive.log_prob(), log_prob, 1e-6);
  const std::vector<double> all = margins(naive);
  EXPECT_NEAR(*std::min_element(all.begin(), all.end()), smallest_margin, margin_tolerance);
  const auto policy = make_policy(checkpoint);
  EXPECT_EQ(test::greedy(*policy->encode(points, {}), {0}).order, naive.order);
}

TEST(SecondInvit, GivesTheGoldenNumbers) {
  expect_golden(sine_invit(invit_config({35})), lattice_points(60), 15.071201, -147.039368, 3e-8, 5e-9);
  expect_golden(sine_invit(invit_config({35, 50})), lattice_points(60), 22.222258, -143.160716, 1.19e-5, 1e-7);
  expect_golden(hashed_invit(invit_config({35})), split_mix_points(60), 18.646505, -93.628976, 5.7e-4, 5e-6);
  expect_golden(hashed_invit(invit_config({35, 50})), split_mix_points(60), 19.509514, -46.102257, 3.0e-3, 5e-5);
}

TEST(SecondInvit, SineWeightsAreWeakInTheStepsThatTheOriginalNames) {
  const Checkpoint checkpoint = sine_invit(invit_config({35}));
  const std::vector<double> all = margins(NaiveInvit(checkpoint).roll_out(lattice_points(60), 0));
  std::vector<std::size_t> weak;
  for (std::size_t t = 0; t < all.size(); ++t) {
    if (all[t] < 1e-7) weak.push_back(t);
  }
  EXPECT_EQ(weak, (std::vector<std::size_t>{6, 9, 26}));
}

// What the second implementation sees at decision t of its own greedy tour.
NaiveInvit::Decision decision_at(const NaiveInvit& naive, const std::vector<Point>& points,
                                 const std::vector<NodeId>& order, std::size_t t) {
  std::vector<bool> visited(points.size());
  for (std::size_t i = 0; i <= t; ++i) visited[static_cast<std::size_t>(order[i])] = true;
  return naive.decide(points, visited, order[0], order[t]);
}

void expect_nearest(const NaiveInvit::Decision& decision, const std::vector<NodeId>& expected) {
  ASSERT_GE(decision.nearest.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), decision.nearest.begin()));
}

TEST(SecondInvit, SeesTheNeighboursAndThePlaceOfTheFirstNode) {
  const Checkpoint sine = sine_invit(invit_config({35}));
  const auto lattice = lattice_points(60);
  const NaiveInvit weak(sine);
  const auto weak_order = weak.roll_out(lattice, 0).order;
  expect_nearest(decision_at(weak, lattice, weak_order, 0), {8, 29, 16, 21, 37, 13, 45, 24, 57, 5, 53, 58, 32, 50, 49});
  for (std::size_t t = 0; t < 40; ++t) {  // inside the unit square until decision 40
    const Point first = decision_at(weak, lattice, weak_order, t).first_token[0];
    EXPECT_TRUE(first.x >= 0 && first.x <= 1 && first.y >= 0 && first.y <= 1) << t;
  }
  const Point outside = decision_at(weak, lattice, weak_order, 40).first_token[0];
  EXPECT_NEAR(outside.x, -0.049530, 1e-6);
  EXPECT_NEAR(outside.y, 0.776668, 1e-6);

  const Checkpoint hashed = hashed_invit(invit_config({35}));
  const auto points = split_mix_points(60);
  const NaiveInvit strong(hashed);
  const auto order = strong.roll_out(points, 0).order;
  expect_nearest(decision_at(strong, points, order, 0), {11, 2, 38, 25, 36, 40, 8, 48, 28, 23, 16, 15, 32, 9, 34});
  const Point clamped = decision_at(strong, points, order, 3).first_token[0];
  EXPECT_NEAR(clamped.x, 1.069582, 1e-6);
  EXPECT_NEAR(clamped.y, 0.477856, 1e-6);
  EXPECT_EQ(order[30], 58);
  EXPECT_EQ(decision_at(strong, points, order, 30).nearest.size(), 29U);
}

TEST(SecondInvit, WeightsAndPointsOfTheGoldenTestsAreThoseOfTheOriginal) {
  const Checkpoint hashed = hashed_invit(invit_config({35}));
  const auto expect_weight = [](const Checkpoint& checkpoint, const std::string& name,
                                const std::vector<double>& expected) {
    test::expect_begins_with(checkpoint.weights.at(name).values, expected, 1e-7, name);
  };
  expect_weight(hashed, "WK_att_decoder.bias", {0.1916554, 0.0332808});
  expect_weight(hashed, "WK_att_decoder.weight", {0.0576560, -0.0809667, 0.0435029});
  expect_weight(hashed, "decoder.decoder_layers.0.BN_att.weight", {1.1394870, 1.0627167});
  const Checkpoint sine = sine_invit(invit_config({35}));
  expect_weight(sine, "WK_att_decoder.weight", {0.0841471, 0.0979908, 0.0985719});
  expect_weight(sine, "query_mlp.weight", {0.0167356, 0.0512546});
  const auto points = split_mix_points(60);
  EXPECT_NEAR(points[0].x, 0.8676855, 1e-7);
  EXPECT_NEAR(points[0].y, 0.5879576, 1e-7);
  EXPECT_NEAR(points[1].x, 0.3349526, 1e-7);
  EXPECT_NEAR(points[1].y, 0.6804240, 1e-7);
  // The upper 24 bits of the hash of 0, 1 and 2^32.
  EXPECT_EQ(test::split_mix_uniform(0, 0) * 0x1p24, static_cast<double>(16294208416658607535ULL >> 40));
  EXPECT_EQ(test::split_mix_uniform(0, 1) * 0x1p24, static_cast<double>(10451216379200822465ULL >> 40));
  EXPECT_EQ(test::split_mix_uniform(1, 0) * 0x1p24, static_cast<double>(14135772400868000056ULL >> 40));
}

struct Fingerprint {
  const char* name;
  InvitMistake mistake;
  double log_prob;
  bool same_tour;  // as without the mistake: only the probabilities tell
};

std::ostream& operator<<(std::ostream& out, const Fingerprint& f) {
  return out << f.name;
}

class InvitMistakes : public testing::TestWithParam<Fingerprint> {};

TEST_P(InvitMistakes, LeaveTheirFingerprints) {
  const auto& [name, mistake, log_prob, same_tour] = GetParam();
  const Checkpoint checkpoint = hashed_invit(invit_config({35}));
  const auto points = split_mix_points(60);
  const NaiveRollout rollout = NaiveInvit(checkpoint, mistake).roll_out(points, 0);
  EXPECT_NEAR(rollout.log_prob(), log_prob, 5.1e-3);  // two digits are known
  const auto policy = make_policy(checkpoint);
  const Rollout right = test::greedy(*policy->encode(points, {}), {0});
  EXPECT_EQ(rollout.order == right.order, same_tour);
  // Far beyond the tolerance of the golden test, which is 2e-4.
  EXPECT_GT(std::abs(rollout.log_prob() - right.log_prob()), 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    All, InvitMistakes,
    testing::Values(Fingerprint{"EncoderScaleOfOneHead", InvitMistake::kEncoderScaleOfOneHead, -90.93, false},
                    Fingerprint{"NoOuterResidualNorm", InvitMistake::kNoOuterResidualNorm, -89.15, false},
                    Fingerprint{"NoOuterResidual", InvitMistake::kNoOuterResidual, -92.37, false},
                    Fingerprint{"FinalScaleOfOneHead", InvitMistake::kFinalScaleOfOneHead, -119.63, true},
                    Fingerprint{"NoClamp", InvitMistake::kNoClamp, -93.74, true},
                    Fingerprint{"BoxWithFirst", InvitMistake::kBoxWithFirst, -94.29, true},
                    Fingerprint{"BoxWithoutLast", InvitMistake::kBoxWithoutLast, -91.08, false},
                    Fingerprint{"ScaledPerAxis", InvitMistake::kScaledPerAxis, -92.74, false},
                    Fingerprint{"Centred", InvitMistake::kCentred, -98.05, false},
                    Fingerprint{"FirstBeforeLast", InvitMistake::kFirstBeforeLast, -78.50, false},
                    Fingerprint{"InterleavedQueries", InvitMistake::kInterleavedQueries, -86.39, false},
                    Fingerprint{"TanhBeforeDivision", InvitMistake::kTanhBeforeDivision, -143.41, true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(SecondInvit, TheInnerEpsilonIsTooSmallToBeSeen) {
  const Checkpoint checkpoint = hashed_invit(invit_config({35}));
  const auto points = split_mix_points(60);
  const NaiveRollout rollout = NaiveInvit(checkpoint, InvitMistake::kInnerEpsilon).roll_out(points, 0);
  EXPECT_NEAR(rollout.log_prob(), -93.628976, 2e-4);
  EXPECT_GT(std::abs(rollout.log_prob() + 93.628976), 1e-5);
}

// Why there are two sets of weights: with these, wrong networks give the right tour.
TEST(SecondInvit, SineWeightsHideMistakes) {
  const Checkpoint checkpoint = sine_invit(invit_config({35}));
  const auto points = lattice_points(60);
  const auto right = NaiveInvit(checkpoint).roll_out(points, 0).order;
  for (const InvitMistake mistake : {InvitMistake::kEncoderScaleOfOneHead, InvitMistake::kNoOuterResidual,
                                     InvitMistake::kInterleavedQueries, InvitMistake::kTanhBeforeDivision}) {
    EXPECT_EQ(NaiveInvit(checkpoint, mistake).roll_out(points, 0).order, right) << static_cast<int>(mistake);
  }
}

}  // namespace
}  // namespace puretour
