// What the teacher asks and answers, and that training with it is exact.
// SPDX-License-Identifier: MIT
#include "puretour/train/teacher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/nn/kernel_functions.h"
#include "puretour/tour/formats.h"
#include "puretour/train/policy_gradient.h"
#include "puretour/train/trainer.h"
#include "puretour/train/training_run.h"

namespace puretour::train {
namespace {

const std::vector<std::string> kModels = {"am", "pointerformer", "invit"};

Recipe tiny_recipe(const std::string& model) {
  Recipe recipe = paper_recipe(model, 9, "teacher");
  recipe.embedding_dim = 8;
  recipe.num_heads = 2;
  recipe.num_layers = 1;
  recipe.feed_forward_dim = 12;
  recipe.num_action_layers = 1;
  recipe.action_view = 3;  // so small that answers are outside
  recipe.state_views = {5, 6};
  recipe.epochs = 2;
  recipe.steps = 3;
  recipe.batch = 5;
  recipe.questions = 4;
  recipe.own_states_warmup = 2;
  recipe.validation_instances = 3;
  recipe.log_steps = 2;
  recipe.learning_rate_warmup = 2;
  return recipe;
}

TrainOptions threads(int count) {
  TrainOptions options;
  options.threads = count;
  return options;
}

double length_of(std::span<const Point> points, std::span<const NodeId> tour) {
  double length = 0;
  for (std::size_t i = 0; i < tour.size(); ++i) {
    const Point a = points[static_cast<std::size_t>(tour[i])];
    const Point b = points[static_cast<std::size_t>(tour[(i + 1) % tour.size()])];
    length += std::hypot(a.x - b.x, a.y - b.y);
  }
  return length;
}

// The shortest tour that begins with the first `num_visited` nodes of `tour`, by trying all.
double best_length(std::span<const Point> points, std::span<const NodeId> tour, std::size_t num_visited) {
  std::vector<NodeId> order(tour.begin(), tour.end());
  const auto rest = order.begin() + static_cast<std::ptrdiff_t>(num_visited);
  std::sort(rest, order.end());
  double best = 1e9;
  do {
    best = std::min(best, length_of(points, order));
  } while (std::next_permutation(rest, order.end()));
  return best;
}

// Tours in the order of the nodes stand for those of a network.
BatchTours numbered_tours(const Batch& batch, std::size_t tours) {
  BatchTours own;
  own.tours = tours;
  for (std::size_t i = 0; i < batch.num_instances() * tours; ++i) {
    for (std::size_t k = 0; k < batch.num_nodes; ++k) {
      own.nodes.push_back(static_cast<NodeId>((k + i % tours) % batch.num_nodes));
    }
  }
  return own;
}

TEST(Teacher, AnswersWithTheShortestCompletionOfItsQuestion) {
  const Batch batch = make_batch(3, Purpose::kTraining, 7, 0, 20, 8, 1);
  LessonPlan plan;
  plan.questions = 6;
  plan.own_share = 0.5;
  plan.seed = 3;
  plan.number = 7;
  const BatchTours own = numbered_tours(batch, 2);
  const Lessons lessons = make_lessons(batch, {}, own, plan);
  ASSERT_EQ(lessons.ranges.size(), 120U);
  EXPECT_GT(lessons.num_own, 40U);
  EXPECT_LT(lessons.num_own, 80U);
  std::size_t num_decisions = 0;
  std::set<NodeId> starts;
  for (std::size_t row = 0; row < lessons.ranges.size(); ++row) {
    const auto points = batch.instance(row / 6);
    const auto tour = std::span(lessons.tours).subspan(row * 8, 8);
    const auto [begin, end] = lessons.ranges[row];
    ASSERT_GE(begin, 1U);
    ASSERT_LT(begin, end);
    EXPECT_EQ(end, 7U);
    num_decisions += end - begin;
    starts.insert(tour[0]);
    EXPECT_NEAR(length_of(points, tour), best_length(points, tour, begin), 1e-9);
  }
  EXPECT_EQ(lessons.num_decisions(), num_decisions);
  EXPECT_EQ(starts.size(), 8U);  // random starts of optimal tours
}

TEST(Teacher, TeachesAsManyStepsOfAnAnswerAsItIsTold) {
  const Batch batch = make_batch(3, Purpose::kTraining, 0, 0, 10, 12, 1);
  LessonPlan plan;
  plan.questions = 5;
  plan.own_share = 0.5;
  plan.taught_steps = 3;
  const Lessons lessons = make_lessons(batch, {}, numbered_tours(batch, 1), plan);
  std::set<std::size_t> begins;
  for (const auto& [begin, end] : lessons.ranges) {
    EXPECT_EQ(end, std::min<std::size_t>(11, begin + 3));
    begins.insert(begin);
  }
  EXPECT_EQ(*begins.begin(), 1U);
  EXPECT_EQ(*begins.rbegin(), 10U);
}

TEST(Teacher, DependsNeitherOnThreadsNorOnHowTheBatchIsShared) {
  LessonPlan plan;
  plan.questions = 3;
  plan.own_share = 0.6;
  plan.seed = 8;
  plan.number = 2;
  const auto lessons_of = [&](std::size_t first, std::size_t count, int num_threads) {
    plan.threads = num_threads;
    const Batch batch = make_batch(8, Purpose::kTraining, 2, first, count, 20, 1);
    return make_lessons(batch, {}, numbered_tours(batch, 1), plan).tours;
  };
  const std::vector<NodeId> whole = lessons_of(0, 12, 1);
  EXPECT_EQ(lessons_of(0, 12, 3), whole);
  std::vector<NodeId> joined = lessons_of(0, 5, 1);
  const std::vector<NodeId> rest = lessons_of(5, 7, 2);
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(joined, whole);
}

TEST(Teacher, NeedsToursOfTheNetworkOnlyIfItAsksAboutThem) {
  const Batch batch = make_batch(1, Purpose::kTraining, 0, 0, 4, 6, 1);
  LessonPlan plan;
  EXPECT_FALSE(asks_own_states(batch, plan));
  EXPECT_EQ(make_lessons(batch, {}, {}, plan).num_own, 0U);
  plan.own_share = 1;
  EXPECT_TRUE(asks_own_states(batch, plan));
}

// Kernels score the taught steps only; LibTorch's own operations all of them. Both must agree, and with finite
// differences of nothing but the definition: the sum over taught steps of coefficient times log-probability.
TEST(TaughtScore, IsTheSameByKernelsAndByLibTorch) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model);
    const Trainer trainer(recipe, threads(1));
    const auto network = nn::make_network(Checkpoint{network_config(recipe), trainer.state().weights, {}});
    network->train();
    const Batch batch = make_batch(5, Purpose::kTraining, 1, 0, 4, 9, 1);
    LessonPlan plan;
    plan.questions = 3;
    plan.own_share = 0.7;
    const Lessons lessons = make_lessons(batch, {}, numbered_tours(batch, 1), plan);
    nn::TaughtSteps steps;
    steps.tours = torch::empty({4, 3, 9}, torch::kInt64);
    std::copy(lessons.tours.begin(), lessons.tours.end(), steps.tours.data_ptr<std::int64_t>());
    steps.ranges = torch::empty({4, 3, 2}, torch::kInt64);
    for (std::size_t i = 0; i < lessons.ranges.size(); ++i) {
      steps.ranges.data_ptr<std::int64_t>()[2 * i] = static_cast<std::int64_t>(lessons.ranges[i].begin);
      steps.ranges.data_ptr<std::int64_t>()[2 * i + 1] = static_cast<std::int64_t>(lessons.ranges[i].end);
    }
    steps.coefficients = torch::linspace(-1, 1, 4 * 3 * 9).view({4, 3, 9});
    const nn::Tensor points = torch::empty({4, 9, 2});
    for (std::size_t i = 0; i < batch.points.size(); ++i) {
      points.data_ptr<float>()[2 * i] = static_cast<float>(batch.points[i].x);
      points.data_ptr<float>()[2 * i + 1] = static_cast<float>(batch.points[i].y);
    }
    std::vector<nn::TaughtScore> scores;
    std::vector<double> sums;
    std::vector<std::vector<nn::Tensor>> gradients;
    for (const bool wanted : {true, false}) {
      nn::want_kernels(wanted);
      network->zero_grad();
      const auto encoded = network->encode(points, nn::Statistics::kKeep);
      scores.push_back(add_taught_gradient(*network, encoded, steps));
      sums.push_back(scores.back().sum.item<double>());
      gradients.emplace_back();
      for (const nn::Tensor& p : network->parameters()) {
        gradients.back().push_back(p.grad().defined() ? p.grad().clone() : torch::zeros_like(p));
      }
    }
    nn::want_kernels(true);
    EXPECT_EQ(scores[0].decisions, scores[1].decisions);
    EXPECT_EQ(scores[0].correct, scores[1].correct);
    EXPECT_EQ(scores[0].skipped, scores[1].skipped);
    EXPECT_EQ(scores[0].skipped > 0, model == "invit");
    EXPECT_EQ(scores[0].decisions + scores[0].skipped, static_cast<std::int64_t>(lessons.num_decisions()));
    EXPECT_NEAR(scores[0].log_prob, scores[1].log_prob, 1e-3);
    EXPECT_NEAR(sums[0], sums[1], 1e-3);
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_TRUE(torch::allclose(gradients[0][i], gradients[1][i], 1e-3, 2e-4)) << "parameter " << i;
    }
  }
}

TEST(TaughtScore, HasTheGradientOfPolicyGradientsWhereAllStepsAreTaught) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model);
    recipe.action_view = 5;
    const Trainer trainer(recipe, threads(1));
    const auto network = nn::make_network(Checkpoint{network_config(recipe), trainer.state().weights, {}});
    network->train();
    const nn::Tensor points = torch::rand({2, 6, 2});
    nn::TaughtSteps steps;
    steps.tours = torch::tensor({0, 3, 1, 2, 5, 4, 5, 4, 3, 2, 1, 0}, torch::kInt64).view({2, 1, 6});
    steps.ranges = torch::tensor({1, 6, 1, 6}, torch::kInt64).view({2, 1, 2});
    steps.coefficients = torch::rand({2, 1, 6});
    steps.coefficients.select(2, 0).fill_(0);
    const nn::TaughtScore score = add_taught_gradient(*network, network->encode(points, nn::Statistics::kKeep), steps);
    std::vector<nn::Tensor> taught;
    for (const nn::Tensor& p : network->parameters()) {
      taught.push_back(p.grad().defined() ? p.grad().clone() : torch::zeros_like(p));
    }
    network->zero_grad();
    const double sum =
        add_gradient(*network, network->encode(points, nn::Statistics::kKeep), steps.tours, steps.coefficients);
    EXPECT_NEAR(score.sum.item<double>(), sum, 1e-5);
    std::size_t i = 0;
    for (const nn::Tensor& p : network->parameters()) {
      const nn::Tensor gradient = p.grad().defined() ? p.grad() : torch::zeros_like(p);
      EXPECT_TRUE(torch::allclose(taught[i], gradient, 1e-4, 1e-6)) << "parameter " << i;
      ++i;
    }
  }
}

TEST(TeacherTraining, DoesNotDependOnTheNumberOfThreads) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model);
    recipe.batch = 11;
    recipe.weights = "paper";
    Trainer one(recipe, threads(1));
    Trainer three(recipe, threads(3));
    for (int i = 0; i < 4; ++i) {
      const StepSums sums = one.step();
      EXPECT_EQ(three.step(), sums);
      EXPECT_TRUE(std::isfinite(sums.loss));
      EXPECT_TRUE(std::isfinite(sums.nats));
      EXPECT_GT(sums.decisions, 0U);
    }
    EXPECT_EQ(one.state(), three.state());
  }
}

TEST(TeacherTraining, GoesOnFromAStateAsIfItHadNotStopped) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    const Recipe recipe = tiny_recipe(model);
    Trainer whole(recipe, threads(2));
    for (int i = 0; i < 3; ++i) whole.step();
    const TrainingState middle = parse_state(format_state(whole.state()), "test");
    Trainer resumed(middle, threads(1));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(resumed.step(), whole.step());
    EXPECT_EQ(resumed.state(), whole.state());
  }
}

TEST(TeacherTraining, LowersTheCrossEntropy) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model);
    recipe.epochs = 100;
    recipe.action_view = 5;
    recipe.learning_rate = 1e-2;
    recipe.batch = 16;
    Trainer trainer(recipe, threads(2));
    const auto nats_per_decision = [&](int num_steps) {
      double nats = 0;
      double decisions = 0;
      for (int i = 0; i < num_steps; ++i) {
        const StepSums sums = trainer.step();
        nats += sums.nats;
        decisions += static_cast<double>(sums.decisions);
      }
      return nats / decisions;
    };
    const double before = nats_per_decision(5);
    nats_per_decision(60);
    EXPECT_LT(nats_per_decision(5), 0.9 * before);
  }
}

TEST(TeacherTraining, FollowsItsSchedules) {
  Recipe recipe = tiny_recipe("am");
  recipe.learning_rate = 1e-3;
  recipe.learning_rate_final = 1e-4;
  recipe.learning_rate_warmup = 2;
  recipe.own_states = 0.8;
  recipe.own_states_warmup = 4;
  Trainer trainer(recipe, threads(1));  // 6 steps in all
  std::vector<double> rates;
  std::vector<double> shares;
  for (int i = 0; i < 6; ++i) {
    rates.push_back(trainer.learning_rate());
    shares.push_back(trainer.own_share());
    trainer.step();
  }
  const auto cosine = [](double share) { return 1e-4 + 9e-4 * 0.5 * (1 + std::cos(M_PI * share)); };
  const std::vector<double> wanted = {0.5e-3, 1e-3, 1e-3, cosine(0.25), cosine(0.5), cosine(0.75)};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(rates[i], wanted[i], 1e-12) << i;
  const std::vector<double> wanted_shares = {0, 0.2, 0.4, 0.6, 0.8, 0.8};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(shares[i], wanted_shares[i], 1e-12) << i;
}

TEST(TeacherTraining, LearnsFromAFileOfSolvedInstances) {
  const std::string path = (std::filesystem::temp_directory_path() / "puretour_teacher_test.npz").string();
  std::vector<Sample> samples;
  const Batch batch = make_batch(9, Purpose::kValidation, 0, 0, 7, 9, 1);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto points = batch.instance(i);
    samples.push_back({Instance(std::vector<Point>(points.begin(), points.end())), Tour::identity(9)});
  }
  write_samples(path, std::nullopt, samples);
  Recipe recipe = tiny_recipe("am");
  recipe.own_states = 0;
  recipe.data = path;
  Trainer one(recipe, threads(1));
  Trainer two(recipe, threads(2));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.step(), two.step());
  EXPECT_EQ(one.state(), two.state());

  const SolvedInstances solved(path, 9);
  std::vector<NodeId> optimal;
  const Batch drawn = solved.batch(1, 2, 0, 40, optimal);
  ASSERT_EQ(optimal.size(), 360U);
  std::set<double> first_coordinates;
  for (std::size_t i = 0; i < 40; ++i) {
    // A symmetry changes no length.
    double nearest = 1e9;
    for (const Sample& sample : samples) {
      nearest = std::min(nearest, std::fabs(tour_length(sample.instance, *sample.tour) -
                                            length_of(drawn.instance(i), std::span(optimal).subspan(i * 9, 9))));
    }
    EXPECT_LT(nearest, 1e-5);
    first_coordinates.insert(drawn.instance(i)[0].x);
  }
  EXPECT_GT(first_coordinates.size(), 14U);  // more than there are instances: symmetries
  try {
    const SolvedInstances wrong(path, 10);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("instance 1 has 9 nodes, but the recipe says nodes = 10"),
              std::string::npos)
        << error.what();
  }
  std::filesystem::remove(path);
}

TEST(InitialWeights, AreTakenWithTheStoryOfTheirTraining) {
  const auto folder = std::filesystem::temp_directory_path() / "puretour_initial_weights_test";
  std::filesystem::remove_all(folder);
  Recipe first = tiny_recipe("am");
  RunOptions options;
  options.folder = folder / "first";
  options.quiet = true;
  run_training(first, options);
  const std::string path = (options.folder / "model.safetensors").string();
  Recipe second = tiny_recipe("am");
  second.method = "pupo";
  second.weights = "authors";
  second.baseline = "exponential";
  second.initial_weights = path;
  const Trainer trainer(second, threads(1));
  EXPECT_EQ(trainer.state().weights, read_checkpoint(path).weights);
  EXPECT_EQ(trainer.num_steps(), 0U);
  options.folder = folder / "second";
  run_training(second, options);
  Recipe third = second;
  third.initial_weights = (options.folder / "model.safetensors").string();
  const std::string story = Trainer(third, threads(1)).ancestry();
  EXPECT_NE(story.find("method = \\\"teacher\\\""), std::string::npos) << story;
  EXPECT_NE(story.find("method = \\\"pupo\\\""), std::string::npos);
  EXPECT_LT(story.find("method = \\\"teacher\\\""), story.find("method = \\\"pupo\\\""));
  third.embedding_dim = 16;
  EXPECT_THROW(Trainer(third, threads(1)), InputError);
  std::filesystem::remove_all(folder);
}

TEST(TeacherRecipe, RefusesWhatDoesNotGoTogether) {
  const auto message = [](const auto& change) {
    Recipe recipe = tiny_recipe("invit");
    change(recipe);
    try {
      check_recipe(recipe);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([](Recipe&) {}), "");
  EXPECT_NE(message([](Recipe& r) { r.copies = 2; }).find("copies = 1"), std::string::npos);
  EXPECT_NE(message([](Recipe& r) { r.nodes = 300; }).find("needs 4 to 254"), std::string::npos);
  EXPECT_NE(message([](Recipe& r) { r.method = "pupo"; }).find("weights is none"), std::string::npos);
  EXPECT_NE(message([](Recipe& r) {
              r.method = "vanilla";
              r.weights = "paper";
            }).find("choose method = pupo"),
            std::string::npos);
  EXPECT_NE(message([](Recipe& r) {
              r.method = "vanilla";
              r.data = "x.npz";
            }).find("only method = teacher"),
            std::string::npos);
}

}  // namespace
}  // namespace puretour::train
