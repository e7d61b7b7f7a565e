// Groups of rows a few at a time, so that what is computed of them stays in the cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "puretour/kernels/layers/group_attention.h"

namespace puretour::kernels {

/// Rows at a time: enough for full products, few enough for L2.
inline constexpr std::size_t kChunkRows = 192;

/// Consecutive groups, numbered from the first of their rows on.
struct GroupChunk {
  std::size_t first_row = 0;
  std::size_t num_rows = 0;
  std::vector<Group> groups;
};

/// Calls use(chunk) for all groups in chunks of about kChunkRows rows. The groups share out all rows in their order;
/// each has the same rows as queries and as keys.
template <class Use>
void for_group_chunks(std::span<const Group> groups, const Use& use) {
  GroupChunk chunk;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (chunk.groups.empty()) chunk.first_row = groups[g].query_begin;
    Group group = groups[g];
    group.query_begin -= chunk.first_row;
    group.key_begin -= chunk.first_row;
    chunk.groups.push_back(group);
    chunk.num_rows += group.num_queries;
    if (g + 1 < groups.size() && chunk.num_rows + groups[g + 1].num_queries <= kChunkRows) continue;
    use(chunk);
    chunk.groups.clear();
    chunk.num_rows = 0;
  }
}

}  // namespace puretour::kernels
