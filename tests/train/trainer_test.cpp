// What a step computes, against independent computations; and that nothing but the recipe decides it.
// SPDX-License-Identifier: MIT
#include "puretour/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/purity/pupo.h"
#include "puretour/train/policy_gradient.h"
#include "puretour/train/training_run.h"

namespace puretour::train {
namespace {

// Small enough for a few steps in a blink.
Recipe tiny_recipe(const std::string& model, const std::string& method) {
  Recipe recipe = paper_recipe(model, 8, method);
  recipe.embedding_dim = 8;
  recipe.num_heads = 2;
  recipe.num_layers = 1;
  recipe.feed_forward_dim = 12;
  recipe.num_action_layers = 1;
  recipe.action_view = 4;
  recipe.state_views = {5, 6};
  recipe.epochs = 2;
  recipe.steps = 3;
  recipe.batch = 6;
  recipe.copies = std::min<std::size_t>(recipe.copies, 2);
  recipe.tours = std::min<std::size_t>(recipe.tours, 4);
  recipe.baseline_instances = 10;
  recipe.validation_instances = 3;
  recipe.log_steps = 2;
  recipe.learning_rate = 1e-2;
  return recipe;
}

const std::vector<std::string> kModels = {"am", "pointerformer", "invit"};

TrainOptions threads(int count) {
  TrainOptions options;
  options.threads = count;
  return options;
}

// K_p from its definition: nodes inside the circle around the edge, rim excluded.
double slow_order(std::span<const Point> points, NodeId a, NodeId b) {
  const Point p = points[static_cast<std::size_t>(a)];
  const Point q = points[static_cast<std::size_t>(b)];
  double count = 0;
  for (const Point r : points) count += (p.x - r.x) * (q.x - r.x) + (p.y - r.y) * (q.y - r.y) < 0 ? 1 : 0;
  return count;
}

std::vector<double> slow_weights(std::span<const Point> points, std::span<const NodeId> tour, double discount) {
  const std::size_t n = tour.size();
  const auto phi = [&](std::size_t visited) {
    if (n - visited < 2) return 0.0;
    double sum = 0;
    for (std::size_t i = visited; i < n; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t j = visited; j < n; ++j) {
        if (j != i) least = std::min(least, slow_order(points, tour[i], tour[j]));
      }
      sum += least;
    }
    return sum / static_cast<double>(n - visited);
  };
  std::vector<double> weights(n, 1.0);
  for (std::size_t t = 1; t < n; ++t) {  // the paper's W_{t+1} = 1 + sum over later costs
    double sum = 0;
    double factor = 1;
    for (std::size_t s = t; s <= n; ++s) {
      const double cost = s == n ? slow_order(points, tour[n - 1], tour[0])
                                 : slow_order(points, tour[s - 1], tour[s]) + phi(s + 1) - phi(s);
      sum += factor * cost;
      factor *= discount;
    }
    weights[t] = 1 + sum;
  }
  return weights;
}

TEST(Trainer, TheGradientIsThatOfTheFormulaOfPupo) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model, "pupo");
    recipe.clip_norm = 0;
    recipe.weight_decay = 0;
    recipe.baseline = "none";
    BatchTours tours;
    Batch batch;
    TrainOptions options = threads(2);
    options.weights = [&](const Batch& b, const BatchTours& t, std::span<float> weights) {
      batch = b;
      tours = t;
      pupo_weights(b.points, t.nodes, b.num_nodes, b.copies * t.tours, {recipe.discount, false}, weights, 1);
    };
    Trainer trainer(recipe, options);
    const TensorMap before = trainer.network().weights();
    trainer.step();

    // The same by one graph over everything, in double.
    const auto network = nn::make_network(network_config(recipe));
    network->set_weights(before);
    network->to(torch::kFloat64);
    network->train();
    const auto views = static_cast<std::int64_t>(batch.num_views());
    const auto n = static_cast<std::int64_t>(batch.num_nodes);
    const auto points = torch::empty({views, n, 2}, torch::kFloat64);
    const auto order = torch::empty({views, static_cast<std::int64_t>(tours.tours), n}, torch::kInt64);
    const auto factors = torch::empty(order.sizes(), torch::kFloat64);
    std::copy(tours.nodes.begin(), tours.nodes.end(), order.data_ptr<std::int64_t>());
    for (std::size_t v = 0; v < batch.num_views(); ++v) {
      for (std::size_t i = 0; i < batch.num_nodes; ++i) {
        points.data_ptr<double>()[2 * (v * batch.num_nodes + i)] =
            static_cast<double>(static_cast<float>(batch.view(v)[i].x));
        points.data_ptr<double>()[2 * (v * batch.num_nodes + i) + 1] =
            static_cast<double>(static_cast<float>(batch.view(v)[i].y));
      }
      for (std::size_t g = 0; g < tours.tours; ++g) {
        const std::size_t tour = v * tours.tours + g;
        const auto nodes = std::span(tours.nodes).subspan(tour * batch.num_nodes, batch.num_nodes);
        const auto weights = slow_weights(batch.instance(v / batch.copies), nodes, recipe.discount);
        for (std::size_t i = 0; i < weights.size(); ++i) {
          factors.data_ptr<double>()[tour * batch.num_nodes + i] =
              weights[i] * tours.lengths[tour] / static_cast<double>(tours.lengths.size());
        }
      }
    }
    (network->score(points, order) * factors).sum().backward();
    double largest = 0;
    for (const auto& item : trainer.network().named_parameters()) {
      const auto& exact = network->named_parameters()[item.key()].grad();
      if (!exact.defined()) continue;
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      const double scale = std::max(1.0, exact.abs().max().item<double>());
      EXPECT_LT((item.value().grad().to(torch::kFloat64) - exact).abs().max().item<double>(), 2e-4 * scale)
          << item.key();
      largest = std::max(largest, exact.abs().max().item<double>());
    }
    EXPECT_GT(largest, 1e-2);
  }
}

TEST(Trainer, PupoWithoutImpureEdgesIsVanillaBitForBit) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    TrainOptions options = threads(1);
    // All orders zero: all costs are zero, all weights one.
    options.weights = [](const Batch& b, const BatchTours& t, std::span<float> weights) {
      const std::vector<Point> triangle = {{0, 0}, {1, 0}, {0.5, 0.8}};  // acute: no order above zero
      const std::vector<NodeId> tour = {0, 1, 2};
      const PupoTrace trace = pupo_trace(OrderMatrix(triangle), tour);
      for (const double w : trace.weights) ASSERT_EQ(w, 1.0);
      ASSERT_EQ(t.nodes.size(), b.num_views() * t.tours * b.num_nodes);
      std::fill(weights.begin(), weights.end(), static_cast<float>(trace.weights[1]));
    };
    Recipe recipe = tiny_recipe(model, "pupo");
    Trainer pupo(recipe, options);
    recipe.method = "vanilla";
    recipe.weights = "none";
    Trainer vanilla(recipe, threads(1));
    for (int i = 0; i < 4; ++i) {
      pupo.step();
      vanilla.step();
    }
    EXPECT_EQ(pupo.network().weights(), vanilla.network().weights());
  }
}

TEST(Trainer, DoesNotDependOnTheNumberOfThreads) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Recipe recipe = tiny_recipe(model, "pupo");
    recipe.batch = 11;  // shares of unequal size
    Trainer one(recipe, threads(1));
    Trainer three(recipe, threads(3));
    for (int i = 0; i < 4; ++i) {
      one.step();
      three.step();
    }
    EXPECT_EQ(one.state(), three.state());
  }
}

TEST(Trainer, PurityWeightsChangeTheGradient) {
  Trainer pupo(tiny_recipe("am", "pupo"), threads(1));
  Trainer vanilla(tiny_recipe("am", "vanilla"), threads(1));
  EXPECT_GT(pupo.step().weight_max, 1);
  EXPECT_EQ(vanilla.step().weight_max, 1);
  EXPECT_NE(pupo.network().weights(), vanilla.network().weights());
}

TEST(Trainer, BrokenNumbersEndTrainingAndChangeNothing) {
  TrainOptions options = threads(1);
  options.weights = [](const Batch&, const BatchTours&, std::span<float> weights) {
    std::fill(weights.begin(), weights.end(), std::numeric_limits<float>::infinity());
  };
  Trainer trainer(tiny_recipe("invit", "pupo"), options);
  const TrainingState before = trainer.state();
  EXPECT_THROW(trainer.step(), NumericError);
  EXPECT_EQ(trainer.state(), before);
}

TEST(Trainer, TheNormPenaltyPullsAtTheMatrices) {
  Recipe recipe = tiny_recipe("invit", "vanilla");
  recipe.norm_penalty = 100;  // drowns everything else
  recipe.weight_decay = 0;
  Trainer trainer(recipe, threads(1));
  const double before = parameter_norms(trainer.network()).sum;
  for (int i = 0; i < 3; ++i) trainer.step();
  EXPECT_LT(parameter_norms(trainer.network()).sum, 0.99 * before);
}

TEST(Trainer, TheLearningRateFallsByEpoch) {
  Recipe recipe = tiny_recipe("invit", "vanilla");
  recipe.learning_rate_decay = 0.5;
  Trainer trainer(recipe, threads(1));
  EXPECT_EQ(trainer.learning_rate(), 1e-2);
  for (int i = 0; i < 3; ++i) trainer.step();
  EXPECT_EQ(trainer.learning_rate(), 5e-3);
}

TEST(TrainingState, IsReadBackAndEveryAlteredByteIsFound) {
  Trainer trainer(tiny_recipe("am", "pupo"), threads(1));
  for (int i = 0; i < 4; ++i) trainer.step();
  TrainingState state = trainer.state();
  state.sums = {1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
  state.log_bytes = 77;
  const std::string bytes = format_state(state);
  EXPECT_EQ(parse_state(bytes, "s"), state);
  for (const std::size_t at : {std::size_t{0}, std::size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_THROW((void)parse_state(bad, "s"), ModelError) << at;
  }
  EXPECT_THROW((void)parse_state(std::string_view(bytes).substr(0, bytes.size() - 5), "s"), ModelError);
}

TEST(TrainingState, ARunThatIsRestoredGoesOnBitForBit) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    Trainer whole(tiny_recipe(model, "pupo"), threads(1));
    auto parts = std::make_unique<Trainer>(tiny_recipe(model, "pupo"), threads(1));
    for (int i = 0; i < 6; ++i) {
      whole.step();
      parts->step();
      parts = std::make_unique<Trainer>(parse_state(format_state(parts->state()), "s"), threads(1));
    }
    EXPECT_EQ(whole.state(), parts->state());
    EXPECT_TRUE(whole.is_finished());
  }
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("puretour_train_test." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

RunOptions run_options(const std::filesystem::path& folder) {
  RunOptions options;
  options.folder = folder;
  options.quiet = true;
  options.checkpoint_steps = 2;
  return options;
}

TEST(TrainingRun, PausesLeaveNoTrace) {
  const Folder folder;
  const Recipe recipe = tiny_recipe("am", "pupo");
  EXPECT_EQ(run_training(recipe, run_options(folder / "whole")), RunEnd::kFinished);
  RunOptions paused = run_options(folder / "paused");
  for (const std::uint64_t step : {1U, 4U, 5U}) {
    paused.stop_after = step;
    EXPECT_EQ(run_training(recipe, paused), RunEnd::kPaused);
  }
  paused.stop_after.reset();
  EXPECT_EQ(run_training(recipe, paused), RunEnd::kFinished);
  for (const char* name :
       {"log.jsonl", "model.safetensors", "recipe.toml", "validation.txt", "state-000000000006.safetensors"}) {
    EXPECT_EQ(read_file((folder / "whole" / name).string()), read_file((folder / "paused" / name).string())) << name;
  }
  EXPECT_EQ(state_files(folder / "whole").size(), 2U);
}

TEST(TrainingRun, RefusesAnotherRecipeAndDamagedStates) {
  const Folder folder;
  Recipe recipe = tiny_recipe("invit", "vanilla");
  RunOptions options = run_options(folder / "run");
  options.stop_after = 4;
  run_training(recipe, options);
  recipe.batch = 4;
  EXPECT_THROW(run_training(recipe, options), InputError);
  recipe.batch = 6;
  const auto files = state_files(folder / "run");
  ASSERT_EQ(files.size(), 2U);
  write_file(files.back().string(), "damaged");
  try {
    run_training(recipe, options);
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("remove the file to go on from " + files.front().string()),
              std::string::npos)
        << error.what();
  }
  std::filesystem::remove(files.back());
  options.stop_after.reset();
  EXPECT_EQ(run_training(recipe, options), RunEnd::kFinished);
}

TEST(Adam, TakesTheStepsOfLibTorch) {
  for (const bool decoupled : {false, true}) {
    torch::manual_seed(1);
    const auto ours = torch::randn({3, 4}).requires_grad_();
    const auto theirs = ours.detach().clone().requires_grad_();
    torch::OrderedDict<std::string, torch::Tensor> parameters;
    parameters.insert("w", ours);
    Adam adam(parameters, 0.1, decoupled);
    std::unique_ptr<torch::optim::Optimizer> reference;
    if (decoupled) {
      reference = std::make_unique<torch::optim::AdamW>(std::vector{theirs},
                                                        torch::optim::AdamWOptions(0.01).weight_decay(0.1));
    } else {
      reference =
          std::make_unique<torch::optim::Adam>(std::vector{theirs}, torch::optim::AdamOptions(0.01).weight_decay(0.1));
    }
    for (int i = 0; i < 20; ++i) {
      const auto factor = torch::randn({3, 4});
      for (const auto& w : {ours, theirs}) {
        w.mutable_grad() = torch::Tensor();
        (w * w * factor).sum().backward();
      }
      adam.step(0.01);
      reference->step();
    }
    EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-6) << decoupled;
  }
}

TEST(Baseline, StudentsDistribution) {
  EXPECT_NEAR(student_t_cdf(-1.645006, 9999), 0.05, 1e-7);  // spec of the attention model
  EXPECT_NEAR(student_t_cdf(2.228138852, 10), 0.975, 1e-9);
  EXPECT_NEAR(student_t_cdf(-12.7062047364, 1), 0.025, 1e-10);
  EXPECT_NEAR(student_t_cdf(0, 7), 0.5, 1e-15);
  EXPECT_EQ(paired_t_test(std::vector<double>{2, 3, 4}, std::vector<double>{1, 2, 3}), 1);
  // d = -1, -2, -3: t = -2 / sqrt(1 / 3), two degrees of freedom.
  EXPECT_NEAR(paired_t_test(std::vector<double>{0, 0, 0}, std::vector<double>{1, 2, 3}), 0.0370899501137, 1e-12);
}

TEST(Baseline, MovingMeanIncludesTheBatchItIsComparedWith) {
  Recipe recipe = tiny_recipe("am", "vanilla");
  recipe.baseline = "exponential";
  Baseline baseline(recipe, TensorMap{}, 1);
  std::vector<double> first = {4, 6};
  baseline.subtract({}, 0, 0, 5, 1, first);
  EXPECT_EQ(first, (std::vector<double>{-1, 1}));
  std::vector<double> second = {10};
  baseline.subtract({}, 1, 0, 10, 1, second);
  EXPECT_EQ(second[0], 10 - (0.8 * 5 + (1 - 0.8) * 10));
}

TEST(Batch, ToursDependNeitherOnThreadsNorOnHowTheBatchIsShared) {
  for (const std::string& model : kModels) {
    const Recipe recipe = tiny_recipe(model, "vanilla");
    const auto policy = Trainer(recipe, threads(1)).policy();
    TourPlan plan;
    plan.tours = recipe.tours;
    plan.sample = true;
    plan.random_starts = model != "am";
    plan.seed = 5;
    plan.number = 9;
    const auto tours_of = [&](std::size_t first, std::size_t count, int num_threads) {
      plan.threads = num_threads;
      return roll_out(*policy, make_batch(5, Purpose::kTraining, 9, first, count, 8, recipe.copies), {}, plan).nodes;
    };
    const std::vector<NodeId> whole = tours_of(0, 6, 1);
    EXPECT_EQ(tours_of(0, 6, 3), whole);
    std::vector<NodeId> joined = tours_of(0, 2, 1);
    const std::vector<NodeId> rest = tours_of(2, 4, 2);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, whole);
  }
}

}  // namespace
}  // namespace puretour::train
