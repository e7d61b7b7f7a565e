// SPDX-License-Identifier: MIT
#include "puretour/kernels/decode/tour_decoder.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "puretour/kernels/gemm/amx.h"
#include "puretour/kernels/layers/group_chunks.h"
#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/scratch.h"

namespace puretour::kernels {
namespace {

// Kept from call to call.
struct Workspace {
  AlignedVector<float> shares;  // of the nodes of a few instances
  AlignedVector<float> share_gradients;
  // Of the steps of a few tours:
  AlignedVector<float> queries;
  AlignedVector<float> glimpses;
  AlignedVector<float> projected;  // glimpses
  AlignedVector<float> projected_gradient;
  AlignedVector<float> glimpse_gradient;
  AlignedVector<float> query_gradient;
  AlignedVector<float> steady;  // what the queries of a tour have in common
  // Of all instances, and of all tours:
  AlignedVector<float> means;  // of embeddings
  AlignedVector<float> graphs;
  AlignedVector<float> graph_gradients;
  AlignedVector<float> first_embeddings;
  AlignedVector<float> firsts;
  AlignedVector<float> first_gradients;
  AlignedVector<float> handed_back;  // what the gradients of a few of them are for embeddings
};

// Tours first_tour .. first_tour + num_tours - 1 of all instances, with their steps as rows numbered from 0 on. Their
// nodes are numbered from those of first_instance on, as the shares in the workspace are.
struct Chunk {
  std::size_t first_instance = 0;
  std::size_t first_tour = 0;
  std::size_t num_tours = 0;
  std::size_t first_row = 0;  // among those of all tours
  std::size_t num_rows = 0;
  std::vector<Group> steps;
  std::vector<PointerGroup> choices;
};

// Calls begin(first instance, their number) for a few instances at a time, use(chunk) for a few of their tours at a
// time, and end(first instance, their number).
template <class Begin, class Use, class End>
void for_chunks(const TourDecoder& decoder, const Begin& begin, const Use& use, const End& end) {
  assert(decoder.num_nodes > decoder.first_step && (decoder.coordinates == nullptr || decoder.first_step == 1));
  const std::size_t instances_at_a_time = std::max<std::size_t>(1, kChunkRows / decoder.num_nodes);
  const auto num_steps_of = [&](std::size_t tour) {
    const StepRange range = decoder.range(tour);
    return static_cast<std::size_t>(range.end - range.begin);
  };
  Chunk chunk;
  for (std::size_t first = 0; first < decoder.num_instances; first += instances_at_a_time) {
    const std::size_t num_instances = std::min(instances_at_a_time, decoder.num_instances - first);
    begin(first, num_instances);
    chunk.first_instance = first;
    const std::size_t end_of_tours = (first + num_instances) * decoder.num_tours;
    for (chunk.first_tour = first * decoder.num_tours; chunk.first_tour < end_of_tours;
         chunk.first_tour += chunk.num_tours) {
      chunk.num_tours = 0;
      chunk.num_rows = 0;
      chunk.steps.clear();
      chunk.choices.clear();
      for (std::size_t tour = chunk.first_tour; tour < end_of_tours; ++tour) {
        const std::size_t num_steps = num_steps_of(tour);
        if (chunk.num_tours > 0 && chunk.num_rows + num_steps > kChunkRows) break;
        ++chunk.num_tours;
        if (num_steps == 0) continue;
        const std::size_t instance = tour / decoder.num_tours;
        const std::size_t begin_of_tour = tour * decoder.num_nodes;
        const auto first_step = static_cast<std::size_t>(decoder.range(tour).begin);
        const Group rows{chunk.num_rows,
                         num_steps,
                         (instance - first) * decoder.num_nodes,
                         decoder.num_nodes,
                         decoder.places.data() + begin_of_tour,
                         static_cast<std::int32_t>(first_step)};
        PointerGroup choice;
        choice.rows = rows;
        choice.chosen = decoder.tours.data() + begin_of_tour + first_step;
        if (decoder.is_best != nullptr) choice.is_best = decoder.is_best + chunk.first_row + chunk.num_rows;
        if (decoder.coordinates != nullptr) {
          choice.coordinates = decoder.coordinates + instance * kDistanceDims * decoder.num_nodes;
          choice.here = choice.chosen - 1;
        }
        chunk.steps.push_back(rows);
        chunk.choices.push_back(choice);
        chunk.num_rows += num_steps;
      }
      use(chunk);
      chunk.first_row += chunk.num_rows;
    }
    end(first, num_instances);
  }
}

// The shares of the nodes of a chunk, or their gradients.
template <class Number>
struct Shares {
  const TourDecoder& decoder;
  const Chunk& chunk;
  Number* data;

  [[nodiscard]] Number* of(std::size_t tour, std::size_t node, std::size_t begin) const {
    const std::size_t row = (tour / decoder.num_tours - chunk.first_instance) * decoder.num_nodes + node;
    return data + row * decoder.to_shares.map->outputs() + begin;
  }
};

// Shares of the nodes of some instances, and what comes from the mean of their embeddings.
void take_instances(const TourDecoder& decoder, const float* embeddings, std::size_t first, std::size_t count,
                    Workspace& work) {
  const std::size_t dim = decoder.pointer.dim;
  const std::size_t rows = count * decoder.num_nodes;
  const float* row = embeddings + first * decoder.num_nodes * dim;
  decoder.to_shares.map->apply(row, rows, ensure_size(work.shares, rows * decoder.to_shares.map->outputs()));
  const float factor = 1 / static_cast<float>(decoder.num_nodes);
  for (std::size_t instance = first; instance < first + count; ++instance) {
    float* mean = work.means.data() + instance * dim;
    std::fill_n(mean, dim, 0.0F);
    for (std::size_t node = 0; node < decoder.num_nodes; ++node, row += dim) add(mean, row, dim);
    for (std::size_t c = 0; c < dim; ++c) mean[c] *= factor;
  }
  decoder.to_graph.map->apply(work.means.data() + first * dim, count, work.graphs.data() + first * dim);
}

void compute_queries(const TourDecoder& decoder, const float* embeddings, const float* placeholder, const Chunk& chunk,
                     Workspace& work) {
  const std::size_t dim = decoder.pointer.dim;
  const Shares<const float> shares{decoder, chunk, work.shares.data()};
  float* query = ensure_size(work.queries, chunk.num_rows * dim);
  float* steady = ensure_size(work.steady, dim);
  float* first_embeddings = work.first_embeddings.data() + chunk.first_tour * dim;
  for (std::size_t i = 0; i < chunk.num_tours; ++i) {
    const std::size_t tour = chunk.first_tour + i;
    const auto node = static_cast<std::size_t>(decoder.tours[tour * decoder.num_nodes]);
    std::copy_n(embeddings + (tour / decoder.num_tours * decoder.num_nodes + node) * dim, dim,
                first_embeddings + i * dim);
  }
  decoder.to_first.map->apply(first_embeddings, chunk.num_tours, work.firsts.data() + chunk.first_tour * dim);
  for (std::size_t tour = chunk.first_tour; tour < chunk.first_tour + chunk.num_tours; ++tour) {
    const std::int32_t* order = decoder.tours.data() + tour * decoder.num_nodes;
    const float* graph = work.graphs.data() + tour / decoder.num_tours * dim;
    std::copy_n(graph, dim, steady);
    add(steady, work.firsts.data() + tour * dim, dim);
    const StepRange range = decoder.range(tour);
    for (std::int32_t t = decoder.shares.visited ? 0 : range.begin; t < range.end; ++t) {
      if (t == 0) {
        if (range.begin > 0) continue;
        std::copy_n(graph, dim, query);
        add(query, placeholder, dim);
        query += dim;
        continue;
      }
      const auto before = static_cast<std::size_t>(order[t - 1]);
      if (decoder.shares.visited) add(steady, shares.of(tour, before, *decoder.shares.visited), dim);
      if (t < range.begin) continue;
      std::copy_n(steady, dim, query);
      add(query, shares.of(tour, before, decoder.shares.last), dim);
      query += dim;
    }
  }
}

// From work.query_gradient to the gradients of all that queries are made of.
void hand_back_queries(const TourDecoder& decoder, const Chunk& chunk, float* placeholder, Workspace& work) {
  const std::size_t dim = decoder.pointer.dim;
  const Shares<float> gradients{decoder, chunk, work.share_gradients.data()};
  const float* rows = work.query_gradient.data();
  for (std::size_t tour = chunk.first_tour; tour < chunk.first_tour + chunk.num_tours; ++tour) {
    const std::int32_t* order = decoder.tours.data() + tour * decoder.num_nodes;
    const StepRange range = decoder.range(tour);
    float* graph = work.graph_gradients.data() + tour / decoder.num_tours * dim;
    float* steady = work.first_gradients.data() + tour * dim;
    std::fill_n(steady, dim, 0.0F);
    // From the last step back: a visited node has a share in all queries behind it.
    for (std::int32_t t = range.end; t-- > range.begin;) {
      const float* of_query = rows + static_cast<std::size_t>(t - range.begin) * dim;
      if (t == 0) {
        add(graph, of_query, dim);
        add(placeholder, of_query, dim);
        continue;
      }
      const auto before = static_cast<std::size_t>(order[t - 1]);
      add(steady, of_query, dim);
      add(gradients.of(tour, before, decoder.shares.last), of_query, dim);
      if (decoder.shares.visited) add(gradients.of(tour, before, *decoder.shares.visited), steady, dim);
    }
    for (std::int32_t t = range.begin - 1; t > 0 && decoder.shares.visited; --t) {
      const auto before = static_cast<std::size_t>(order[t - 1]);
      add(gradients.of(tour, before, *decoder.shares.visited), steady, dim);
    }
    add(graph, steady, dim);
    rows += static_cast<std::size_t>(range.end - range.begin) * dim;
  }
}

// Adds to the gradients of the embeddings of some instances what comes through means and first nodes.
void hand_back_instances(const TourDecoder& decoder, std::size_t first, std::size_t count, float* embedding_gradient,
                         Workspace& work) {
  const std::size_t dim = decoder.pointer.dim;
  const std::size_t first_tour = first * decoder.num_tours;
  const std::size_t num_tours = count * decoder.num_tours;
  float* handed_back = ensure_size(work.handed_back, std::max(count, num_tours) * dim);
  decoder.to_graph.transposed->apply(work.graph_gradients.data() + first * dim, count, handed_back);
  const float factor = 1 / static_cast<float>(decoder.num_nodes);
  for (std::size_t i = 0; i < count * dim; ++i) handed_back[i] *= factor;
  for (std::size_t row = 0; row < count * decoder.num_nodes; ++row) {
    add(embedding_gradient + (first * decoder.num_nodes + row) * dim, handed_back + row / decoder.num_nodes * dim, dim);
  }
  decoder.to_first.transposed->apply(work.first_gradients.data() + first_tour * dim, num_tours, handed_back);
  for (std::size_t i = 0; i < num_tours; ++i) {
    const std::size_t tour = first_tour + i;
    const auto node = static_cast<std::size_t>(decoder.tours[tour * decoder.num_nodes]);
    add(embedding_gradient + (tour / decoder.num_tours * decoder.num_nodes + node) * dim, handed_back + i * dim, dim);
  }
}

// Room for what there is of all instances and tours.
void reserve(const TourDecoder& decoder, Workspace& work) {
  const std::size_t of_instances = decoder.num_instances * decoder.pointer.dim;
  const std::size_t of_tours = of_instances * decoder.num_tours;
  for (auto* rows : {&work.means, &work.graphs, &work.graph_gradients}) ensure_size(*rows, of_instances);
  for (auto* rows : {&work.first_embeddings, &work.firsts, &work.first_gradients}) ensure_size(*rows, of_tours);
}

}  // namespace

void TourDecoder::log_probs(const float* embeddings, const float* placeholder, float* results) const {
  const std::size_t dim = pointer.dim;
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  reserve(*this, work);
  const auto begin = [&](std::size_t first, std::size_t count) {
    take_instances(*this, embeddings, first, count, work);
  };
  const auto use = [&](const Chunk& chunk) {
    const std::size_t first_row = chunk.first_row;
    const std::size_t rows = chunk.num_rows;
    const auto column = [&](std::size_t c) { return Rows{work.shares.data() + c, to_shares.map->outputs()}; };
    compute_queries(*this, embeddings, placeholder, chunk, work);
    const float* queries = work.queries.data();
    if (glimpse) {
      float* seen = ensure_size(work.glimpses, rows * dim);
      group_attention(chunk.steps, glimpse->shape, {queries, dim}, column(*shares.glimpse_key),
                      column(*shares.glimpse_value), {seen, dim}, precision);
      float* projected = ensure_size(work.projected, rows * dim);
      glimpse->out.map->apply(seen, rows, projected);
      queries = projected;
    }
    pointer_log_probs(chunk.choices, pointer, {queries, dim}, column(shares.score_key), results + first_row, precision);
  };
  for_chunks(*this, begin, use, [](std::size_t /*first*/, std::size_t /*count*/) {});
}

void TourDecoder::gradient(const float* embeddings, const float* placeholder, const float* incoming,
                           const Gradients& gradients, float* results) const {
  const std::size_t dim = pointer.dim;
  const std::size_t columns = to_shares.map->outputs();
  const auto add_product = precision == Precision::kFloat ? add_transposed_product : add_transposed_product_bfloat16;
  const MatrixUnitInUse in_use;
  auto& work = scratch<Workspace>();
  reserve(*this, work);
  std::fill_n(work.graph_gradients.data(), num_instances * dim, 0.0F);
  const auto begin = [&](std::size_t first, std::size_t count) {
    const std::size_t rows = count * num_nodes;
    take_instances(*this, embeddings, first, count, work);
    std::fill_n(ensure_size(work.share_gradients, rows * columns), rows * columns, 0.0F);
  };
  const auto use = [&](const Chunk& chunk) {
    const std::size_t first_row = chunk.first_row;
    const std::size_t rows = chunk.num_rows;
    const auto column = [&](std::size_t c) { return Rows{work.shares.data() + c, columns}; };
    const auto of_column = [&](std::size_t c) { return MutableRows{work.share_gradients.data() + c, columns}; };
    compute_queries(*this, embeddings, placeholder, chunk, work);
    const Rows queries{work.queries.data(), dim};
    float* of_queries = ensure_size(work.query_gradient, rows * dim);
    const auto choose = [&](Rows by, float* gradient_of_by) {
      pointer_gradient(chunk.choices, pointer, by, column(shares.score_key), incoming + first_row,
                       {gradient_of_by, dim}, of_column(shares.score_key), precision,
                       results == nullptr ? nullptr : results + first_row);
    };
    if (!glimpse) {
      choose(queries, of_queries);
      return hand_back_queries(*this, chunk, gradients.placeholder, work);
    }
    float* seen = ensure_size(work.glimpses, rows * dim);
    float* projected = ensure_size(work.projected, rows * dim);
    float* of_projected = ensure_size(work.projected_gradient, rows * dim);
    float* of_seen = ensure_size(work.glimpse_gradient, rows * dim);
    group_attention(chunk.steps, glimpse->shape, queries, column(*shares.glimpse_key), column(*shares.glimpse_value),
                    {seen, dim}, precision);
    glimpse->out.map->apply(seen, rows, projected);
    choose({projected, dim}, of_projected);
    glimpse->out.transposed->apply(of_projected, rows, of_seen);
    add_product(of_projected, dim, dim, seen, dim, dim, rows, gradients.out_weight, dim);
    group_attention_gradient(chunk.steps, glimpse->shape, queries, column(*shares.glimpse_key),
                             column(*shares.glimpse_value), {of_seen, dim}, {of_queries, dim},
                             of_column(*shares.glimpse_key), of_column(*shares.glimpse_value), precision);
    hand_back_queries(*this, chunk, gradients.placeholder, work);
  };
  const auto end = [&](std::size_t first, std::size_t count) {
    const std::size_t rows = count * num_nodes;
    const std::size_t offset = first * num_nodes * dim;
    to_shares.transposed->apply(work.share_gradients.data(), rows, gradients.embeddings + offset);
    hand_back_instances(*this, first, count, gradients.embeddings, work);
    add_product(work.share_gradients.data(), columns, columns, embeddings + offset, dim, dim, rows,
                gradients.shares_weight, dim);
  };
  for_chunks(*this, begin, use, end);
  add_product(work.graph_gradients.data(), dim, dim, work.means.data(), dim, dim, num_instances, gradients.graph_weight,
              dim);
  add_product(work.first_gradients.data(), dim, dim, work.first_embeddings.data(), dim, dim, num_instances * num_tours,
              gradients.first_weight, dim);
}

}  // namespace puretour::kernels
