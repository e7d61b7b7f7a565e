// The teacher: states along optimal tours and along the network's own, each with the best way to go on from there.
//
// A question is a partial tour. Its answer is the shortest completion (solve/completion.h), whose nodes are the right
// choices of the steps that follow. States of optimal tours alone never show a network what its own mistakes lead to,
// so that a growing share of questions comes from tours that the network has sampled (DAgger: Ross, Gordon, Bagnell
// 2011). Everything depends on (seed, step, instance, question) only. Nothing here knows Torch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "puretour/tour/sample.h"
#include "puretour/train/batch.h"

namespace puretour::train {

struct LessonPlan {
  std::size_t questions = 1;     // of each instance
  double own_share = 0;          // probability that a question comes from a tour of the network
  std::size_t taught_steps = 0;  // steps of an answer that are taught; 0: all
  std::uint64_t seed = 0;        // with the next: of the batch
  std::uint64_t number = 0;
  int threads = 1;
};

/// Questions with their answers, instance by instance.
struct Lessons {
  /// Steps begin .. end - 1 of the tour are taught: nodes before `begin` are the question.
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<NodeId> tours;  // num_nodes for each question
  std::vector<Range> ranges;
  std::size_t num_own = 0;  // questions from tours of the network

  [[nodiscard]] std::size_t num_decisions() const;
};

/// Whether any question of these instances comes from a tour of the network, so that there must be some.
bool asks_own_states(const Batch& batch, const LessonPlan& plan);

/// `optimal` are optimal tours of the instances, one after the other, or empty: then they are found where they are
/// needed. `own` are tours of the network, the same number for each instance; they may be missing if nobody asks for
/// them. The batch has one view of each instance, of at least kMinTaughtNodes nodes.
Lessons make_lessons(const Batch& batch, const std::vector<NodeId>& optimal, const BatchTours& own,
                     const LessonPlan& plan);

/// The last choice of a tour is none, and the one before needs two unvisited nodes.
inline constexpr std::size_t kMinTaughtNodes = 4;

/// Solved instances from a file, to draw batches from.
class SolvedInstances {
 public:
  /// Throws InputError, with the path, unless every instance has `num_nodes` nodes in the unit square and a tour.
  SolvedInstances(const std::string& path, std::size_t num_nodes);

  /// Instances first .. first + count - 1 of batch `number`: drawn at random, each in a random one of the eight
  /// symmetries of the square. Writes their tours to `optimal`.
  [[nodiscard]] Batch batch(std::uint64_t seed, std::uint64_t number, std::size_t first, std::size_t count,
                            std::vector<NodeId>& optimal) const;

 private:
  std::size_t num_nodes_;
  std::vector<Sample> samples_;
};

}  // namespace puretour::train
