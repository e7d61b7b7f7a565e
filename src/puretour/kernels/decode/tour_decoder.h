// All steps of given tours through a decoder, forward and backward: the log-probabilities of what was chosen.
//
// Every node has shares of what its instance's tours are decoded with, all linear in its embedding and side by side in
// one row. Before step t a tour has the query
//
//   `graph` of the mean of all embeddings + `first` of that of its first node + `last` share of the node before t
//     + sum of `visited` shares of all nodes before t (Pointerformer),
//
// and before there is a node (attention model): `graph` of the mean + placeholder. With a glimpse the query attends to
// the nodes that are left, by their `glimpse_key` and `glimpse_value`, and what it sees, projected, is the new query.
// It is compared with the `score_key` of the nodes that are left; see pointer.h.
//
// A few instances and tours at a time: for up to about 200 nodes, shares, queries, scores and their gradients never
// leave the cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "puretour/kernels/decode/pointer.h"
#include "puretour/kernels/gemm/matrix.h"
#include "puretour/kernels/layers/group_attention.h"

namespace puretour::kernels {

/// A linear map for both ways.
struct LinearMap {
  const Linear* map = nullptr;
  const Linear* transposed = nullptr;
};

/// Where in the row of a node its shares begin.
struct NodeShares {
  std::size_t last = 0;
  std::size_t score_key = 0;
  std::optional<std::size_t> visited;
  std::optional<std::size_t> glimpse_key;  // with a glimpse only, as the next
  std::optional<std::size_t> glimpse_value;
};

struct Glimpse {
  AttentionShape shape;
  LinearMap out;  // to the query of the choice
};

/// Steps begin .. end - 1 of a tour.
struct StepRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

struct TourDecoder {
  NodeShares shares;
  LinearMap to_shares;  // from embeddings, as the next two
  LinearMap to_graph;
  LinearMap to_first;
  PointerShape pointer;
  std::optional<Glimpse> glimpse;
  Precision precision = Precision::kFloat;

  std::size_t num_instances = 0;
  std::size_t num_tours = 0;  // of each instance
  std::size_t num_nodes = 0;
  std::size_t first_step = 0;  // 0 or 1: the steps are first_step .. num_nodes - 1, at least one
  /// Empty, or for every tour the steps that are decoded, none before first_step; may be none at all. Rows are these
  /// steps, tour by tour.
  std::span<const StepRange> ranges;
  /// Instance by instance, tour by tour: the nodes in their order, and the places of the nodes.
  std::span<const std::int32_t> tours;
  std::span<const std::int32_t> places;
  /// Null, or six of every node for its distance from the one before (so that first_step is 1): num_instances x 6 x
  /// num_nodes.
  const float* coordinates = nullptr;
  /// Null, or where to write for every row whether the chosen node is a most probable one.
  std::uint8_t* is_best = nullptr;

  [[nodiscard]] StepRange range(std::size_t tour) const {
    if (!ranges.empty()) return ranges[tour];
    return {static_cast<std::int32_t>(first_step), static_cast<std::int32_t>(num_nodes)};
  }
  [[nodiscard]] std::size_t num_rows() const {
    if (ranges.empty()) return num_instances * num_tours * (num_nodes - first_step);
    std::size_t count = 0;
    for (const StepRange& r : ranges) count += static_cast<std::size_t>(r.end - r.begin);
    return count;
  }

  /// `embeddings` has num_instances * num_nodes rows, `placeholder` is read if first_step is 0. Writes num_rows()
  /// results.
  void log_probs(const float* embeddings, const float* placeholder, float* results) const;

  struct Gradients {
    float* embeddings = nullptr;     // written
    float* shares_weight = nullptr;  // added, as the others: [outputs][inputs]
    float* graph_weight = nullptr;
    float* first_weight = nullptr;
    float* placeholder = nullptr;
    float* out_weight = nullptr;
  };
  /// From the gradients of the log-probabilities. Writes these too, if they are wanted (not null): who knows their
  /// gradients beforehand needs one pass only.
  void gradient(const float* embeddings, const float* placeholder, const float* incoming, const Gradients& gradients,
                float* results) const;
};

}  // namespace puretour::kernels
