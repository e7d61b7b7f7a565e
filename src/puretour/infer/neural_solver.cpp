// SPDX-License-Identifier: MIT
#include "puretour/infer/neural_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/text.h"
#include "puretour/geometry/remaining_neighbours.h"
#include "puretour/infer/policy.h"

namespace puretour {
namespace {

// Keys of random streams: roll-outs and the choice of start nodes must not share one.
constexpr std::uint64_t kRolloutStream = 0x726f6c6c;
constexpr std::uint64_t kStartStream = 0x73746172;

// Tours kept in memory at a time.
constexpr std::size_t kRolloutsAtOnce = 256;

// The shortest tour so far; before there is a whole one, the beginning of one for which there was no time.
struct Best {
  std::vector<NodeId> order;
  std::optional<double> length;

  void take(std::vector<NodeId> candidate, const Instance& instance) {
    if (candidate.size() < instance.size()) {
      if (order.empty()) order = std::move(candidate);
      return;
    }
    Tour tour(std::move(candidate));
    const double candidate_length = tour_length(instance, tour);
    if (length && *length <= candidate_length) return;
    length = candidate_length;
    order.assign(tour.order().begin(), tour.order().end());
  }
};

// Walks on to the nearest node until all are visited: for roll-outs that the deadline cut.
std::vector<NodeId> completed(std::vector<NodeId> order, std::span<const Point> points) {
  if (order.size() == points.size()) return order;
  RemainingNeighbours remaining(points);
  if (order.empty()) order.push_back(0);
  for (const NodeId node : order) remaining.remove(node);
  while (remaining.remaining() > 0) {
    NodeId next = 0;
    remaining.nearest(order.back(), 1, &next);
    remaining.remove(next);
    order.push_back(next);
  }
  return order;
}

class NeuralSolver final : public Solver {
 public:
  NeuralSolver(const Checkpoint& checkpoint, const NeuralSettings& settings)
      : policy_(make_policy(checkpoint, settings.precision)), settings_(settings) {
    if (!(settings_.temperature > 0)) {
      throw InputError(fmt::format("temperature is {}, but must be above 0", settings_.temperature));
    }
  }

  [[nodiscard]] std::string name() const override {
    std::string result = fmt::format("{} {}", architecture_name(policy_->config()), settings_.decoding.text());
    if (settings_.augmentation.num_copies > 1) result += fmt::format(" x{}", settings_.augmentation.num_copies);
    return result;
  }

  [[nodiscard]] SolveResult solve(const Instance& instance, const SolveOptions& options) const override {
    const auto start = std::chrono::steady_clock::now();
    if (instance.size() == 0) throw InputError("solve: the instance has no nodes");
    if (!instance.fixed_edges().empty()) {
      throw InputError(fmt::format(
          "{}: networks know no fixed edges, but the instance has {}; use auto, lk, eax, lkh, nearest, greedy "
          "or 2opt, or remove FIXED_EDGES_SECTION",
          instance.name().empty() ? "instance" : instance.name(), instance.fixed_edges().size()));
    }
    if (options.initial && options.initial->size() != instance.size()) {
      throw InputError(
          fmt::format("the initial tour has {} nodes, the instance {}", options.initial->size(), instance.size()));
    }
    SolveResult result;
    result.tour = construct(instance, options);
    result.length = tour_length(instance, result.tour);
    result.method = name();
    if (options.initial) keep_better(result, *options.initial, tour_length(instance, *options.initial));
    if (settings_.improve) {
      SolveOptions improve_options = options;
      improve_options.initial = result.tour;
      const SolveResult improved = make_solver("lk")->solve(instance, improve_options);
      result.unimproved_length = result.length;
      result.method += " + " + improved.method;
      keep_better(result, improved.tour, improved.length);
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  static void keep_better(SolveResult& result, const Tour& tour, double length) {
    if (length >= result.length) return;
    result.tour = tour;
    result.length = length;
  }

  [[nodiscard]] std::vector<Point> network_coordinates(const Instance& instance) const {
    const auto points = instance.require_points("a neural solver");
    if (!settings_.raw_coordinates) return policy_->scaled(points);
    const Box box = bounding_box(points);
    if (settings_.augmentation.num_copies > 1 && !settings_.augmentation.random &&
        (box.low.x < 0 || box.low.y < 0 || box.high.x > 1 || box.high.y > 1)) {
      throw InputError(
          "the symmetries of the unit square need coordinates in it, but these leave it; drop --raw-coordinates");
    }
    return {points.begin(), points.end()};
  }

  // The start nodes of multi-start: all, or a random selection.
  [[nodiscard]] std::vector<NodeId> start_nodes(std::size_t num_nodes, std::uint64_t seed) const {
    std::vector<NodeId> nodes(num_nodes);
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    if (settings_.decoding.count == 0 || settings_.decoding.count >= num_nodes) return nodes;
    Rng rng(seed, {kStartStream});
    rng.shuffle(nodes.data(), nodes.size());
    nodes.resize(settings_.decoding.count);
    return nodes;
  }

  [[nodiscard]] Tour construct(const Instance& instance, const SolveOptions& options) const {
    const std::vector<Point> points = network_coordinates(instance);
    const bool multistart = settings_.decoding.kind == Decoding::Kind::kMultistart;
    const std::vector<NodeId> starts = multistart ? start_nodes(points.size(), options.seed) : std::vector<NodeId>();
    const std::size_t num_rollouts = multistart ? starts.size() : settings_.decoding.count;
    const std::size_t num_copies = settings_.augmentation.num_copies;
    const auto num_threads = static_cast<std::size_t>(resolve_threads(settings_.threads));
    // Enough copies at a time to keep all threads busy, each with as many tours as the network likes.
    const std::size_t copies_at_once =
        std::clamp<std::size_t>(num_threads * policy_->rollouts_together() / num_rollouts, 1, num_copies);
    Best best;
    for (std::size_t first = 0; first < num_copies && !options.deadline.expired(); first += copies_at_once) {
      std::vector<std::unique_ptr<EncodedInstance>> copies;
      for (std::size_t copy = first; copy < std::min(first + copies_at_once, num_copies); ++copy) {
        auto encoded = policy_->encode(settings_.augmentation.copy(points, copy, options.seed),
                                       {.threads = settings_.threads, .deadline = options.deadline});
        if (encoded) copies.push_back(std::move(encoded));
      }
      const std::size_t count = copies.size() * num_rollouts;
      for (std::size_t begin = 0; begin < count && !options.deadline.expired(); begin += kRolloutsAtOnce) {
        std::vector<RolloutTask> tasks(std::min(kRolloutsAtOnce, count - begin));
        for (std::size_t i = 0; i < tasks.size(); ++i) {
          const std::size_t copy = (begin + i) / num_rollouts;
          const std::size_t number = (begin + i) % num_rollouts;
          tasks[i].instance = copies[copy].get();
          tasks[i].options.sample = settings_.decoding.kind == Decoding::Kind::kSample;
          tasks[i].options.temperature = settings_.temperature;
          tasks[i].options.deadline = options.deadline;
          if (multistart) tasks[i].options.prefix = std::span(starts).subspan(number, 1);
          tasks[i].rng = Rng(options.seed, {kRolloutStream, first + copy, number});
        }
        for (Rollout& rollout : roll_out_all(*policy_, tasks, settings_.threads)) {
          best.take(std::move(rollout.order), instance);
        }
        if (best.length && options.progress) options.progress({architecture_name(policy_->config()), *best.length});
      }
    }
    return Tour(best.length ? std::move(best.order) : completed(std::move(best.order), points));
  }

  std::unique_ptr<Policy> policy_;
  NeuralSettings settings_;
};

}  // namespace

Decoding Decoding::parse(std::string_view text) {
  constexpr std::size_t kMaxCount = 1'000'000'000;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::optional<std::size_t> count;
  if (colon != std::string_view::npos) {
    std::size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, number);
    if (error == std::errc() && stop == end && number >= 1 && number <= kMaxCount) count = number;
  }
  const bool has_bad_count = colon != std::string_view::npos && !count;
  if (!has_bad_count) {
    if (kind == "greedy" && !count) return {};
    if (kind == "sample" && count) return {Kind::kSample, *count};
    if (kind == "multistart") return {Kind::kMultistart, count.value_or(0)};
  }
  throw InputError(
      fmt::format("decoding {}: choose greedy, sample:K (K tours), multistart (from every node) or multistart:K",
                  quote_input(text)));
}

std::string Decoding::text() const {
  switch (kind) {
    case Kind::kGreedy:
      return "greedy";
    case Kind::kSample:
      return fmt::format("sample:{}", count);
    case Kind::kMultistart:
      return count == 0 ? "multistart" : fmt::format("multistart:{}", count);
  }
  throw InternalError("unknown decoding");
}

std::unique_ptr<Solver> make_neural_solver(const Checkpoint& checkpoint, const NeuralSettings& settings) {
  return std::make_unique<NeuralSolver>(checkpoint, settings);
}

}  // namespace puretour
