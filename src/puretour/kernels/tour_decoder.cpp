// SPDX-License-Identifier: MIT
#include "puretour/kernels/tour_decoder.h"

#include <algorithm>
#include <vector>

#include "puretour/kernels/aligned.h"
#include "puretour/kernels/amx.h"
#include "puretour/kernels/group_chunks.h"
#include "puretour/kernels/rows.h"

namespace puretour::kernels {
namespace {

// Kept by every thread.
struct Workspace {
  AlignedVector<float> queries;
  AlignedVector<float> glimpses;
  AlignedVector<float> projected;
  AlignedVector<float> projected_gradient;
  AlignedVector<float> glimpse_gradient;
  AlignedVector<float> query_gradient;
  AlignedVector<float> graph;   // mean of an instance
  AlignedVector<float> steady;  // what the queries of a tour have in common
};

Workspace& workspace() {
  thread_local Workspace work;
  return work;
}

// Tours first .. first + count - 1 of all instances, with their steps as rows numbered from 0 on.
struct Chunk {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<Group> steps;
  std::vector<PointerGroup> choices;
};

template <class Use>
void for_chunks(const TourDecoder& decoder, const Use& use) {
  const std::size_t num_steps = decoder.num_steps();
  const std::size_t all = decoder.num_instances * decoder.num_tours;
  const std::size_t at_a_time = std::max<std::size_t>(1, kChunkRows / std::max<std::size_t>(1, num_steps));
  Chunk chunk;
  for (std::size_t first = 0; first < all; first += at_a_time) {
    chunk.first = first;
    chunk.count = std::min(at_a_time, all - first);
    chunk.steps.clear();
    chunk.choices.clear();
    for (std::size_t i = 0; i < chunk.count; ++i) {
      const std::size_t tour = first + i;
      const std::size_t instance = tour / decoder.num_tours;
      const std::size_t begin = tour * decoder.num_nodes;
      const Group rows{i * num_steps,
                       num_steps,
                       instance * decoder.num_nodes,
                       decoder.num_nodes,
                       decoder.places.data() + begin,
                       static_cast<std::int32_t>(decoder.first_step)};
      PointerGroup choice;
      choice.rows = rows;
      choice.chosen = decoder.tours.data() + begin + decoder.first_step;
      if (decoder.coordinates != nullptr) {
        choice.coordinates = decoder.coordinates + instance * kDistanceDims * decoder.num_nodes;
        choice.here = choice.chosen - 1;
      }
      chunk.steps.push_back(rows);
      chunk.choices.push_back(choice);
    }
    use(chunk);
  }
}

// The shares of a node.
struct Nodes {
  const TourDecoder& decoder;
  const float* data;

  [[nodiscard]] Rows column(std::size_t begin) const { return {data + begin, decoder.shares.num_columns}; }
  [[nodiscard]] const float* share(std::size_t instance, std::int32_t node, std::size_t begin) const {
    return data + (instance * decoder.num_nodes + static_cast<std::size_t>(node)) * decoder.shares.num_columns + begin;
  }
};

void mean_of_graph(const Nodes& nodes, std::size_t instance, float* mean) {
  const TourDecoder& decoder = nodes.decoder;
  const std::size_t dim = decoder.pointer.dim;
  std::fill_n(mean, dim, 0.0F);
  for (std::size_t i = 0; i < decoder.num_nodes; ++i) {
    add(mean, nodes.share(instance, static_cast<std::int32_t>(i), decoder.shares.graph), dim);
  }
  const float factor = 1 / static_cast<float>(decoder.num_nodes);
  for (std::size_t c = 0; c < dim; ++c) mean[c] *= factor;
}

void compute_queries(const Nodes& nodes, const float* placeholder, const Chunk& chunk, Workspace& work) {
  const TourDecoder& decoder = nodes.decoder;
  const std::size_t dim = decoder.pointer.dim;
  float* query = room(work.queries, chunk.count * decoder.num_steps() * dim);
  float* graph = room(work.graph, dim);
  float* steady = room(work.steady, dim);
  for (std::size_t tour = chunk.first; tour < chunk.first + chunk.count; ++tour) {
    const std::size_t instance = tour / decoder.num_tours;
    const std::int32_t* order = decoder.tours.data() + tour * decoder.num_nodes;
    if (tour == chunk.first || tour % decoder.num_tours == 0) mean_of_graph(nodes, instance, graph);
    std::copy_n(graph, dim, steady);
    add(steady, nodes.share(instance, order[0], decoder.shares.first), dim);
    for (std::size_t t = decoder.first_step; t < decoder.num_nodes; ++t, query += dim) {
      if (t == 0) {
        std::copy_n(graph, dim, query);
        add(query, placeholder, dim);
        continue;
      }
      if (decoder.shares.visited) add(steady, nodes.share(instance, order[t - 1], *decoder.shares.visited), dim);
      std::copy_n(steady, dim, query);
      add(query, nodes.share(instance, order[t - 1], decoder.shares.last), dim);
    }
  }
}

// From work.query_gradient to the gradients of the shares.
void hand_back_queries(const TourDecoder& decoder, const Chunk& chunk, const TourDecoder::Gradients& gradients,
                       Workspace& work) {
  const std::size_t dim = decoder.pointer.dim;
  const std::size_t num_steps = decoder.num_steps();
  const auto share = [&](std::size_t instance, std::size_t node, std::size_t begin) {
    return gradients.nodes + (instance * decoder.num_nodes + node) * decoder.shares.num_columns + begin;
  };
  float* graph = room(work.graph, dim);
  float* steady = room(work.steady, dim);
  std::fill_n(graph, dim, 0.0F);
  for (std::size_t i = 0; i < chunk.count; ++i) {
    const std::size_t tour = chunk.first + i;
    const std::size_t instance = tour / decoder.num_tours;
    const std::int32_t* order = decoder.tours.data() + tour * decoder.num_nodes;
    const float* rows = work.query_gradient.data() + i * num_steps * dim;
    std::fill_n(steady, dim, 0.0F);
    // From the last step back: a visited node has a share in all queries behind it.
    for (std::size_t t = decoder.num_nodes; t-- > decoder.first_step;) {
      const float* of_query = rows + (t - decoder.first_step) * dim;
      if (t == 0) {
        add(graph, of_query, dim);
        add(gradients.placeholder, of_query, dim);
        continue;
      }
      const auto before = static_cast<std::size_t>(order[t - 1]);
      add(steady, of_query, dim);
      add(share(instance, before, decoder.shares.last), of_query, dim);
      if (decoder.shares.visited) add(share(instance, before, *decoder.shares.visited), steady, dim);
    }
    add(share(instance, static_cast<std::size_t>(order[0]), decoder.shares.first), steady, dim);
    add(graph, steady, dim);
    if (i + 1 < chunk.count && (tour + 1) % decoder.num_tours != 0) continue;
    const float factor = 1 / static_cast<float>(decoder.num_nodes);
    for (std::size_t c = 0; c < dim; ++c) graph[c] *= factor;
    for (std::size_t node = 0; node < decoder.num_nodes; ++node) {
      add(share(instance, node, decoder.shares.graph), graph, dim);
    }
    std::fill_n(graph, dim, 0.0F);
  }
}

}  // namespace

void TourDecoder::log_probs(const float* nodes, const float* placeholder, float* results, float* glimpses) const {
  const std::size_t dim = pointer.dim;
  const Nodes shares_of{*this, nodes};
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();
  for_chunks(*this, [&](const Chunk& chunk) {
    const std::size_t first_row = chunk.first * num_steps();
    const std::size_t rows = chunk.count * num_steps();
    compute_queries(shares_of, placeholder, chunk, work);
    const float* queries = work.queries.data();
    if (glimpse) {
      float* seen = glimpses + first_row * dim;
      group_attention(chunk.steps, glimpse->shape, {queries, dim}, shares_of.column(*shares.glimpse_key),
                      shares_of.column(*shares.glimpse_value), {seen, dim}, precision);
      float* projected = room(work.projected, rows * dim);
      glimpse->out->apply(seen, rows, projected);
      queries = projected;
    }
    pointer_log_probs(chunk.choices, pointer, {queries, dim}, shares_of.column(shares.score_key), results + first_row,
                      precision);
  });
}

void TourDecoder::gradient(const float* nodes, const float* placeholder, const float* glimpses, const float* incoming,
                           const Gradients& gradients) const {
  const std::size_t dim = pointer.dim;
  const std::size_t size_of_instance = num_nodes * shares.num_columns;
  const Nodes shares_of{*this, nodes};
  const auto column = [&](std::size_t begin) { return MutableRows{gradients.nodes + begin, shares.num_columns}; };
  const auto add_product = precision == Precision::kFloat ? add_transposed_product : add_transposed_product_bfloat16;
  const MatrixUnitInUse in_use;
  Workspace& work = workspace();
  for_chunks(*this, [&](const Chunk& chunk) {
    const std::size_t first_row = chunk.first * num_steps();
    const std::size_t rows = chunk.count * num_steps();
    // What is added to must be there: zeros, while they are in the cache anyway.
    for (std::size_t tour = chunk.first; tour < chunk.first + chunk.count; ++tour) {
      if (tour % num_tours == 0) {
        std::fill_n(gradients.nodes + tour / num_tours * size_of_instance, size_of_instance, 0.0F);
      }
    }
    compute_queries(shares_of, placeholder, chunk, work);
    float* of_queries = room(work.query_gradient, rows * dim);
    if (!glimpse) {
      pointer_gradient(chunk.choices, pointer, {work.queries.data(), dim}, shares_of.column(shares.score_key),
                       incoming + first_row, {of_queries, dim}, column(shares.score_key), precision);
      return hand_back_queries(*this, chunk, gradients, work);
    }
    const float* seen = glimpses + first_row * dim;
    float* projected = room(work.projected, rows * dim);
    float* of_projected = room(work.projected_gradient, rows * dim);
    float* of_seen = room(work.glimpse_gradient, rows * dim);
    glimpse->out->apply(seen, rows, projected);
    pointer_gradient(chunk.choices, pointer, {projected, dim}, shares_of.column(shares.score_key), incoming + first_row,
                     {of_projected, dim}, column(shares.score_key), precision);
    glimpse->transposed_out->apply(of_projected, rows, of_seen);
    add_product(of_projected, dim, dim, seen, dim, dim, rows, gradients.out_weight, dim);
    group_attention_gradient(chunk.steps, glimpse->shape, {work.queries.data(), dim},
                             shares_of.column(*shares.glimpse_key), shares_of.column(*shares.glimpse_value),
                             {of_seen, dim}, {of_queries, dim}, column(*shares.glimpse_key),
                             column(*shares.glimpse_value), precision);
    hand_back_queries(*this, chunk, gradients, work);
  });
}

}  // namespace puretour::kernels
