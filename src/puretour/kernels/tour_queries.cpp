// SPDX-License-Identifier: MIT
#include "puretour/kernels/tour_queries.h"

#include <algorithm>
#include <vector>

#include "puretour/kernels/rows.h"

namespace puretour::kernels {

void TourQueries::compute(const float* base, const float* last, const float* visited, const float* start,
                          float* queries) const {
  std::vector<float> steady(dim);  // base and visited nodes
  for (std::size_t b = 0; b < num_instances; ++b) {
    for (std::size_t g = 0; g < num_tours; ++g) {
      const std::size_t tour = b * num_tours + g;
      const std::int32_t* nodes = tours.data() + tour * num_nodes;
      float* rows = queries + tour * num_steps() * dim;
      std::copy_n(base + tour * dim, dim, steady.begin());
      for (std::size_t t = first_step; t < num_nodes; ++t) {
        float* query = rows + (t - first_step) * dim;
        if (t == 0) {
          std::copy_n(start + b * dim, dim, query);
          continue;
        }
        const std::size_t row = b * num_nodes + static_cast<std::size_t>(nodes[t - 1]);
        if (visited != nullptr) add(steady.data(), visited + row * dim, dim);
        std::copy(steady.begin(), steady.end(), query);
        add(query, last + row * dim, dim);
      }
    }
  }
}

void TourQueries::gradient(const float* query_gradients, float* base, float* last, float* visited, float* start) const {
  std::vector<float> steady(dim);
  for (std::size_t b = 0; b < num_instances; ++b) {
    for (std::size_t g = 0; g < num_tours; ++g) {
      const std::size_t tour = b * num_tours + g;
      const std::int32_t* nodes = tours.data() + tour * num_nodes;
      const float* rows = query_gradients + tour * num_steps() * dim;
      std::fill(steady.begin(), steady.end(), 0.0F);
      // From the last step back: a visited node has a share in all queries behind it.
      for (std::size_t t = num_nodes; t-- > first_step;) {
        const float* of_query = rows + (t - first_step) * dim;
        if (t == 0) {
          add(start + b * dim, of_query, dim);
          continue;
        }
        const std::size_t row = b * num_nodes + static_cast<std::size_t>(nodes[t - 1]);
        add(steady.data(), of_query, dim);
        add(last + row * dim, of_query, dim);
        if (visited != nullptr) add(visited + row * dim, steady.data(), dim);
      }
      add(base + tour * dim, steady.data(), dim);
    }
  }
}

}  // namespace puretour::kernels
