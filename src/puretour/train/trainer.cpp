// SPDX-License-Identifier: MIT
#include "puretour/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numbers>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/nn/device.h"
#include "puretour/purity/pupo.h"
#include "puretour/train/policy_gradient.h"

// Not every BLAS is OpenBLAS.
extern "C" void openblas_set_num_threads(int count) __attribute__((weak));

namespace puretour::train {
namespace {

using nn::Tensor;

// Adds the time until the end of its life.
class Stopwatch {
 public:
  explicit Stopwatch(PhaseTime& time) : time_(time) {}
  ~Stopwatch() {
    time_.seconds += std::chrono::duration<double>(Clock::now() - start_).count();
    time_.processor_seconds += processor_seconds() - processor_start_;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  static double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  PhaseTime& time_;
  Clock::time_point start_ = Clock::now();
  double processor_start_ = processor_seconds();
};

Tensor points_tensor(const Batch& batch) {
  const auto views = batch.views();
  const Tensor points = torch::empty(
      {static_cast<std::int64_t>(batch.num_views()), static_cast<std::int64_t>(batch.num_nodes), 2}, torch::kFloat32);
  auto* values = points.data_ptr<float>();
  for (const Point p : views) {
    *values++ = static_cast<float>(p.x);
    *values++ = static_cast<float>(p.y);
  }
  return points;
}

Tensor tours_tensor(const Batch& batch, const BatchTours& tours) {
  const Tensor result =
      torch::empty({static_cast<std::int64_t>(batch.num_views()), static_cast<std::int64_t>(tours.tours),
                    static_cast<std::int64_t>(batch.num_nodes)},
                   torch::kInt64);
  std::copy(tours.nodes.begin(), tours.nodes.end(), result.data_ptr<std::int64_t>());
  return result;
}

// Shares of a batch: enough for the cores of most machines, and few enough for matrix products of a good size.
constexpr std::size_t kShares = 8;

// Row `share` of the batch begins here.
std::int64_t share_begin(std::size_t share, std::size_t num_shares, std::int64_t num_rows) {
  return static_cast<std::int64_t>(share) * num_rows / static_cast<std::int64_t>(num_shares);
}

Tensor share_of(const Tensor& rows, std::size_t share, std::size_t num_shares) {
  const std::int64_t begin = share_begin(share, num_shares, rows.size(0));
  return rows.narrow(0, begin, share_begin(share + 1, num_shares, rows.size(0)) - begin);
}

// The threads are ours, one for each share: those of LibTorch and of OpenBLAS would only fight for the same cores.
void use_one_thread_per_operation() {
  torch::set_num_threads(1);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

StepWeights weights_of_method(const Recipe& recipe, int threads) {
  if (recipe.weights == "none") {
    return [](const Batch&, const BatchTours&, std::span<float> weights) {
      std::fill(weights.begin(), weights.end(), 1.0F);
    };
  }
  const PupoOptions options{recipe.discount, recipe.clamp_weights,
                            recipe.weights == "authors" ? PupoVariant::kAuthors : PupoVariant::kPaper};
  return [options, threads](const Batch& batch, const BatchTours& tours, std::span<float> weights) {
    // Orders are those of the instance, whatever view of it the tour was found in.
    pupo_weights(batch.points, tours.nodes, batch.num_nodes, batch.copies * tours.tours, options, weights, threads);
  };
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, const TrainOptions& options) : recipe_(recipe) {
  prepare(options);
  if (recipe_.initial_weights.empty()) {
    Rng rng(recipe_.seed, {static_cast<std::uint64_t>(Purpose::kInitialWeights)});
    network_->initialise(rng);
  } else {
    take_initial_weights();
  }
  TensorMap initial = network_->weights();
  if (recipe_.baseline == "gated" && recipe_.initial_weights.empty()) {  // begins with weights of its own
    Rng other(recipe_.seed, {static_cast<std::uint64_t>(Purpose::kBaselineWeights)});
    const auto unrelated = nn::make_network(network_config(recipe_));
    unrelated->initialise(other);
    initial = unrelated->weights();
  }
  baseline_ = std::make_unique<Baseline>(recipe_, initial, threads_);
}

Trainer::Trainer(const TrainingState& state, const TrainOptions& options)
    : recipe_(state.recipe), ancestry_(state.ancestry), step_(state.step) {
  prepare(options);
  network_->set_weights(state.weights);
  adam_->restore(state.moments, state.step, "training state");
  baseline_ = std::make_unique<Baseline>(recipe_, state.baseline, threads_);
}

Trainer::~Trainer() = default;

void Trainer::take_initial_weights() {
  const std::string& path = recipe_.initial_weights;
  const Checkpoint checkpoint = read_checkpoint(path);
  if (checkpoint.config != network_config(recipe_)) {
    throw InputError(fmt::format(
        "initial_weights: {} is a network of another kind or size than that of the recipe ({}, {} layers of "
        "width {}); choose a network that was trained with the same values",
        path, recipe_.model, recipe_.num_layers, recipe_.embedding_dim));
  }
  network_->set_weights(checkpoint.weights);
  // The notes of that network, behind those of the network which it started from itself.
  nlohmann::ordered_json chain = nlohmann::ordered_json::array();
  nlohmann::ordered_json parent;
  for (const auto& [key, value] : checkpoint.notes) {
    if (key == "training_ancestry") {
      chain = nlohmann::ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
      if (!chain.is_array()) throw ModelError(fmt::format("{}: training_ancestry is no list", path));
    } else {
      parent[key] = value;
    }
  }
  chain.push_back(parent);
  ancestry_ = chain.dump();
}

void Trainer::prepare(const TrainOptions& options) {
  check_recipe(recipe_);
  device_ = nn::parse_device(options.device);
  threads_ = resolve_threads(options.threads);
  use_one_thread_per_operation();
  communicator_ = std::make_unique<Communicator>(options.place);
  if (recipe_.batch % static_cast<std::size_t>(communicator_->count()) != 0) {
    throw InputError(
        fmt::format("batch is {}, which cannot be shared by {} processes", recipe_.batch, communicator_->count()));
  }
  step_weights_ = options.weights ? options.weights : weights_of_method(recipe_, threads_);
  network_ = nn::make_network(network_config(recipe_));
  network_->to(device_);
  network_->train();
  const std::size_t num_views = recipe_.batch / static_cast<std::size_t>(communicator_->count()) * recipe_.copies;
  group_ = std::make_unique<nn::BatchGroup>(std::min(kShares, num_views), static_cast<std::size_t>(threads_));
  copies_.push_back(network_);
  while (copies_.size() < group_->size()) {
    copies_.push_back(nn::make_network(network_config(recipe_)));
    copies_.back()->to(device_);
    copies_.back()->train();
    copies_.back()->share_parameters(*network_);
  }
  packs_ = std::make_shared<nn::PackCache>();
  for (std::size_t k = 0; k < copies_.size(); ++k) {
    copies_[k]->join(group_.get(), k);
    copies_[k]->set_precision(product_precision(recipe_));
    copies_[k]->use_packs(packs_);
  }
  if (!recipe_.data.empty()) solved_ = std::make_unique<SolvedInstances>(recipe_.data, recipe_.nodes);
  adam_ = std::make_unique<Adam>(network_->named_parameters(), recipe_.weight_decay, recipe_.optimizer == "adamw");
}

double Trainer::learning_rate() const {
  double rate = recipe_.learning_rate;
  const auto warmup = static_cast<double>(recipe_.learning_rate_warmup);
  const auto step = static_cast<double>(step_);
  if (recipe_.learning_rate_schedule == "exponential") {
    rate *= std::pow(recipe_.learning_rate_decay, static_cast<double>(epoch()));
  } else if (recipe_.learning_rate_schedule == "cosine") {
    const double share =
        std::clamp((step - warmup) / std::max(1.0, static_cast<double>(num_steps_in_all()) - warmup), 0.0, 1.0);
    rate = recipe_.learning_rate_final +
           (recipe_.learning_rate - recipe_.learning_rate_final) * 0.5 * (1 + std::cos(std::numbers::pi * share));
  }
  return step < warmup ? rate * (step + 1) / warmup : rate;
}

double Trainer::own_share() const {
  if (recipe_.own_states_warmup == 0) return recipe_.own_states;
  return recipe_.own_states *
         std::min(1.0, static_cast<double>(step_) / static_cast<double>(recipe_.own_states_warmup));
}

Batch Trainer::next_batch() const {
  const std::size_t share = recipe_.batch / static_cast<std::size_t>(communicator_->count());
  return make_batch(recipe_.seed, Purpose::kTraining, step_, share * static_cast<std::size_t>(communicator_->rank()),
                    share, recipe_.nodes, recipe_.copies);
}

BatchTours Trainer::sample_tours(const Batch& batch, const std::vector<std::vector<Tensor>>& encoded) const {
  TourPlan plan;
  plan.tours = recipe_.tours;
  plan.sample = true;
  plan.random_starts = !network_->chooses_start();
  plan.seed = recipe_.seed;
  plan.number = step_;
  plan.threads = threads_;
  const std::unique_ptr<Policy> current = policy(product_precision(recipe_));
  if (!network_->embedding_part()) return roll_out(*current, batch, {}, plan);
  std::vector<Tensor> shares;
  std::vector<std::span<const float>> embeddings;
  for (const std::vector<Tensor>& share : encoded) {
    shares.push_back(share[*network_->embedding_part()].detach().to(torch::kCPU, torch::kFloat32).contiguous());
    const auto size = static_cast<std::size_t>(shares.back().stride(0));
    for (std::int64_t i = 0; i < shares.back().size(0); ++i) {
      embeddings.emplace_back(shares.back().data_ptr<float>() + static_cast<std::size_t>(i) * size, size);
    }
  }
  return roll_out(*current, batch, embeddings, plan);
}

double Trainer::add_gradients(const std::vector<std::vector<Tensor>>& encoded, const Tensor& tours,
                              const Tensor& coefficients) {
  std::vector<double> sums(copies_.size());
  group_->run([&](std::size_t k) {
    sums[k] = add_gradient(*copies_[k], encoded[k], share_of(tours, k, copies_.size()),
                           share_of(coefficients, k, copies_.size()));
  });
  add_up_gradients();
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// The gradients of all copies, in their order, become those of the network: every member takes some of the parameters.
void Trainer::add_up_gradients() {
  std::vector<std::vector<Tensor>> parameters;
  for (const auto& copy : copies_) parameters.push_back(copy->parameters());
  group_->run([&](std::size_t k) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = k; i < parameters[0].size(); i += copies_.size()) {
      Tensor& sum = parameters[0][i].mutable_grad();
      for (std::size_t c = 1; c < copies_.size(); ++c) {
        const Tensor& gradient = parameters[c][i].grad();
        if (!gradient.defined()) continue;
        if (sum.defined()) {
          sum.add_(gradient);
        } else {
          sum = gradient.clone();
        }
      }
    }
  });
}

// Gradients are sums over all processes. Statistics of batch normalisations are those of each process's own share, and
// their running values the mean over the processes.
void Trainer::share_gradients() {
  if (communicator_->count() == 1) return;
  std::vector<Tensor> shared;
  for (const Tensor& p : network_->parameters()) {
    if (p.grad().defined()) shared.push_back(p.grad());
  }
  const std::vector<Tensor> statistics = network_->buffers();
  const torch::NoGradGuard no_grad;
  for (const Tensor& s : statistics) shared.push_back(s.div_(communicator_->count()));
  communicator_->add_up(shared);
}

std::vector<std::vector<Tensor>> Trainer::encode(const Batch& batch) {
  const Stopwatch watch(phases_.encode);
  std::vector<std::vector<Tensor>> encoded(copies_.size());
  const Tensor points = points_tensor(batch).to(device_);
  packs_->clear();  // the weights have changed
  for (std::size_t k = 1; k < copies_.size(); ++k) copies_[k]->copy_statistics(*network_);
  group_->run([&](std::size_t k) {
    copies_[k]->zero_grad(/*set_to_none=*/true);  // the first gradients are then taken as they are
    encoded[k] = copies_[k]->encode(share_of(points, k, copies_.size()), nn::Statistics::kUpdate);
  });
  return encoded;
}

StepSums Trainer::step() {
  const torch::AutoGradMode with_gradients(true);
  StepSums sums = recipe_.method == "teacher" ? imitate() : reinforce();
  sums.steps = 1;
  finish_step(sums);
  return sums;
}

StepSums Trainer::reinforce() {
  StepSums sums;
  Batch batch;
  {
    const Stopwatch watch(phases_.instances);
    batch = next_batch();
  }
  const std::vector<std::vector<Tensor>> encoded = encode(batch);
  BatchTours tours;
  {
    const Stopwatch watch(phases_.tours);
    tours = sample_tours(batch, encoded);
  }
  const auto num_tours = static_cast<double>(recipe_.batch * recipe_.copies * recipe_.tours);  // of all processes
  std::vector<double> advantages = tours.lengths;
  {
    const Stopwatch watch(phases_.baseline);
    double length = 0;
    for (const double v : tours.lengths) length += v;
    sums.length = communicator_->add_up(length) / num_tours;
    baseline_->subtract(batch, step_, epoch(), sums.length, recipe_.tours, advantages);
  }
  std::vector<float> weights(tours.nodes.size());
  {
    const Stopwatch watch(phases_.weights);
    step_weights_(batch, tours, weights);
  }
  {
    const Stopwatch watch(phases_.gradient);
    const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
    sums.weight_min = static_cast<double>(*least);
    sums.weight_max = static_cast<double>(*most);
    std::vector<float> coefficients(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double advantage = advantages[i / batch.num_nodes];
      coefficients[i] = static_cast<float>(advantage * static_cast<double>(weights[i]) / num_tours);
      sums.weight_mean += static_cast<double>(weights[i]) / static_cast<double>(weights.size());
    }
    for (const double v : advantages) sums.advantage += v / num_tours;
    const Tensor orders = tours_tensor(batch, tours).to(device_);
    const Tensor factors =
        torch::tensor(at::ArrayRef<float>(coefficients.data(), coefficients.size())).view(orders.sizes()).to(device_);
    sums.loss = add_gradients(encoded, orders, factors);
    share_gradients();
  }
  return sums;
}

StepSums Trainer::imitate() {
  StepSums sums;
  Batch batch;
  std::vector<NodeId> optimal;  // tours, if they are known
  {
    const Stopwatch watch(phases_.instances);
    const std::size_t share = recipe_.batch / static_cast<std::size_t>(communicator_->count());
    const std::size_t first = share * static_cast<std::size_t>(communicator_->rank());
    batch = solved_ ? solved_->batch(recipe_.seed, step_, first, share, optimal) : next_batch();
  }
  const std::vector<std::vector<Tensor>> encoded = encode(batch);
  LessonPlan plan;
  plan.questions = recipe_.questions;
  plan.own_share = own_share();
  plan.taught_steps = recipe_.taught_steps;
  plan.seed = recipe_.seed;
  plan.number = step_;
  plan.threads = threads_;
  BatchTours own;
  if (asks_own_states(batch, plan)) {
    const Stopwatch watch(phases_.tours);
    own = sample_tours(batch, encoded);
  }
  double length = 0;
  for (const double v : own.lengths) length += v;
  const double num_own_tours = communicator_->add_up(static_cast<double>(own.lengths.size()));
  length = communicator_->add_up(length);
  sums.length = num_own_tours > 0 ? length / num_own_tours : 0;
  Lessons lessons;
  {
    const Stopwatch watch(phases_.labels);
    lessons = make_lessons(batch, optimal, own, plan);
  }
  BatchTours tours;
  tours.tours = plan.questions;
  tours.nodes = std::move(lessons.tours);
  std::vector<float> weights(tours.nodes.size());
  {
    const Stopwatch watch(phases_.weights);
    step_weights_(batch, tours, weights);
  }
  const Stopwatch watch(phases_.gradient);
  const double num_decisions = communicator_->add_up(static_cast<double>(lessons.num_decisions()));
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  sums.weight_min = static_cast<double>(*least);
  sums.weight_max = static_cast<double>(*most);
  for (float& w : weights) {
    sums.weight_mean += static_cast<double>(w) / static_cast<double>(weights.size());
    w = static_cast<float>(-static_cast<double>(w) / num_decisions);
  }
  nn::TaughtSteps steps;
  steps.tours = tours_tensor(batch, tours).to(device_);
  steps.coefficients =
      torch::tensor(at::ArrayRef<float>(weights.data(), weights.size())).view(steps.tours.sizes()).to(device_);
  steps.ranges = torch::empty({steps.tours.size(0), steps.tours.size(1), 2}, torch::kInt64);
  auto* range = steps.ranges.data_ptr<std::int64_t>();
  for (const Lessons::Range& taught : lessons.ranges) {
    *range++ = static_cast<std::int64_t>(taught.begin);
    *range++ = static_cast<std::int64_t>(taught.end);
  }
  std::vector<nn::TaughtScore> scores(copies_.size());
  group_->run([&](std::size_t k) {
    const auto part = [&](const Tensor& all) { return share_of(all, k, copies_.size()); };
    scores[k] =
        add_taught_gradient(*copies_[k], encoded[k], {part(steps.tours), part(steps.ranges), part(steps.coefficients)});
  });
  add_up_gradients();
  std::array<double, 5> totals{};
  for (const nn::TaughtScore& score : scores) {
    totals[0] += score.sum.item<double>();
    totals[1] -= score.log_prob;
    totals[2] += static_cast<double>(score.decisions);
    totals[3] += static_cast<double>(score.correct);
    totals[4] += static_cast<double>(score.skipped);
  }
  for (double& total : totals) total = communicator_->add_up(total);
  sums.loss = totals[0];
  sums.nats = totals[1];
  sums.decisions = static_cast<std::uint64_t>(totals[2]);
  sums.correct = static_cast<std::uint64_t>(totals[3]);
  sums.skipped = static_cast<std::uint64_t>(totals[4]);
  share_gradients();
  return sums;
}

void Trainer::finish_step(StepSums& sums) {
  {
    const Stopwatch watch(phases_.optimizer);
    if (recipe_.norm_penalty > 0) add_norm_penalty(*network_, recipe_.norm_penalty);
    sums.gradient_norm = gradient_norm(*network_);
    if (!std::isfinite(sums.gradient_norm)) {
      throw NumericError(
          fmt::format("step {}: the gradient is not finite (mean length {}, weights {} .. {}); go on from the last "
                      "checkpoint with a "
                      "lower learning_rate, or with clip_norm",
                      step_ + 1, sums.length, sums.weight_min, sums.weight_max));
    }
    if (recipe_.clip_norm > 0) clip_gradient(*network_, sums.gradient_norm, recipe_.clip_norm);
    adam_->step(learning_rate());
  }
  const std::size_t finished_epoch = epoch();
  ++step_;
  replaced_baseline_ = false;
  if (epoch() != finished_epoch) {
    const Stopwatch watch(phases_.baseline);
    replaced_baseline_ = baseline_->update(*policy(product_precision(recipe_)), network_->weights(), finished_epoch);
  }
}

TrainingState Trainer::state() const {
  TrainingState state;
  state.recipe = recipe_;
  state.step = step_;
  state.weights = network_->weights();
  state.moments = adam_->moments();
  state.baseline = baseline_->state();
  state.ancestry = ancestry_;
  return state;
}

std::unique_ptr<Policy> Trainer::policy(kernels::Precision precision) const {
  return make_policy({network_config(recipe_), network_->weights(), {}}, precision);
}

}  // namespace puretour::train
