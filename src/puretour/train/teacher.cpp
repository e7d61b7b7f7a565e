// SPDX-License-Identifier: MIT
#include "puretour/train/teacher.h"

#include <fmt/format.h>

#include <algorithm>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"
#include "puretour/infer/augment.h"
#include "puretour/solve/completion.h"
#include "puretour/tour/formats.h"

namespace puretour::train {
namespace {

// Second keys of random streams, after those of batch.cpp.
enum Stream : std::uint64_t { kQuestions = 5, kOptimalTours = 6, kData = 7 };

Rng question_rng(const Batch& batch, const LessonPlan& plan, std::size_t instance, std::size_t question) {
  return {plan.seed,
          {static_cast<std::uint64_t>(Purpose::kTraining), kQuestions, plan.number, batch.first_instance + instance,
           question}};
}

// The first draw of a question.
bool is_own(Rng& rng, const LessonPlan& plan) {
  return rng.uniform() < plan.own_share;
}

Lessons::Range taught(std::size_t begin, std::size_t num_nodes, const LessonPlan& plan) {
  const std::size_t end = num_nodes - 1;  // the last node is no choice
  return {begin, plan.taught_steps == 0 ? end : std::min(end, begin + plan.taught_steps)};
}

// The tour from a random node on, in a random direction.
void turn_randomly(std::span<const NodeId> tour, Rng& rng, std::span<NodeId> turned) {
  const std::size_t n = tour.size();
  const std::size_t start = rng.below(n);
  const bool backwards = rng.below(2) == 1;
  for (std::size_t i = 0; i < n; ++i) turned[i] = tour[(start + (backwards ? n - i : i)) % n];
}

}  // namespace

std::size_t Lessons::num_decisions() const {
  std::size_t count = 0;
  for (const Range& range : ranges) count += range.end - range.begin;
  return count;
}

bool asks_own_states(const Batch& batch, const LessonPlan& plan) {
  for (std::size_t i = 0; i < batch.num_instances(); ++i) {
    for (std::size_t q = 0; q < plan.questions; ++q) {
      Rng rng = question_rng(batch, plan, i, q);
      if (is_own(rng, plan)) return true;
    }
  }
  return false;
}

Lessons make_lessons(const Batch& batch, const std::vector<NodeId>& optimal, const BatchTours& own,
                     const LessonPlan& plan) {
  const std::size_t n = batch.num_nodes;
  const std::size_t num_instances = batch.num_instances();
  if (n < kMinTaughtNodes || batch.copies != 1) throw InternalError("make_lessons: not a batch for a teacher");
  Lessons lessons;
  lessons.tours.resize(num_instances * plan.questions * n);
  lessons.ranges.resize(num_instances * plan.questions);
  std::vector<std::size_t> num_own(num_instances, 0);
  constexpr std::size_t kInstancesAtATime = 4;
  parallel_for_blocks(num_instances, kInstancesAtATime, plan.threads, [&](std::size_t begin, std::size_t end) {
    TourCompleter completer;
    std::vector<NodeId> best(n);
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const Point> points = batch.instance(i);
      bool has_best = !optimal.empty();
      if (has_best) std::copy_n(optimal.begin() + static_cast<std::ptrdiff_t>(i * n), n, best.begin());
      for (std::size_t q = 0; q < plan.questions; ++q) {
        const std::size_t row = i * plan.questions + q;
        const std::span<NodeId> tour = std::span(lessons.tours).subspan(row * n, n);
        Rng rng = question_rng(batch, plan, i, q);
        if (is_own(rng, plan)) {
          const std::size_t number = i * own.tours + num_own[i] % own.tours;
          const std::span<const NodeId> sampled = std::span(own.nodes).subspan(number * n, n);
          const std::size_t num_visited = 1 + rng.below(n - 2);
          completer.complete(points, sampled.first(num_visited), rng, tour);
          lessons.ranges[row] = taught(num_visited, n, plan);
          ++num_own[i];
          continue;
        }
        if (!has_best) {
          Rng of_instance(plan.seed, {static_cast<std::uint64_t>(Purpose::kTraining), kOptimalTours, plan.number,
                                      batch.first_instance + i});
          completer.complete(points, {}, of_instance, best);
          has_best = true;
        }
        turn_randomly(best, rng, tour);
        lessons.ranges[row] = taught(plan.taught_steps == 0 ? 1 : 1 + rng.below(n - 2), n, plan);
      }
    }
  });
  for (const std::size_t count : num_own) lessons.num_own += count;
  return lessons;
}

SolvedInstances::SolvedInstances(const std::string& path, std::size_t num_nodes)
    : num_nodes_(num_nodes), samples_(read_samples(path)) {
  if (samples_.empty()) throw InputError(fmt::format("{}: holds no instances", path));
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}: instance {} {}", path, i + 1, what));
    };
    if (sample.instance.size() != num_nodes) {
      fail(fmt::format("has {} nodes, but the recipe says nodes = {}", sample.instance.size(), num_nodes));
    }
    if (!sample.tour) fail("has no tour; solve the file first, by puretour solve");
    for (const Point p : sample.instance.points()) {
      if (p.x < 0 || p.x > 1 || p.y < 0 || p.y > 1) {
        fail(fmt::format("has a node at ({:g}, {:g}), outside the unit square; scale the coordinates", p.x, p.y));
      }
    }
  }
}

Batch SolvedInstances::batch(std::uint64_t seed, std::uint64_t number, std::size_t first, std::size_t count,
                             std::vector<NodeId>& optimal) const {
  Batch batch;
  batch.num_nodes = num_nodes_;
  batch.first_instance = first;
  optimal.clear();
  for (std::size_t i = first; i < first + count; ++i) {
    Rng rng(seed, {static_cast<std::uint64_t>(Purpose::kTraining), kData, number, i});
    const Sample& sample = samples_[rng.below(samples_.size())];
    const std::vector<Point> points = symmetric_copy(sample.instance.points(), rng.below(kNumSymmetries));
    batch.points.insert(batch.points.end(), points.begin(), points.end());
    optimal.insert(optimal.end(), sample.tour->order().begin(), sample.tour->order().end());
  }
  return batch;
}

}  // namespace puretour::train
