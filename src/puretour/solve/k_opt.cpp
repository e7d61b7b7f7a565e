// SPDX-License-Identifier: MIT
#include "puretour/solve/k_opt.h"

namespace puretour {

std::vector<Candidate> candidate_rows(const Problem& problem) {
  std::vector<Candidate> rows;
  rows.reserve(static_cast<std::size_t>(problem.size()) * problem.candidates(0).size());
  for (NodeId i = 0; i < problem.size(); ++i) {
    for (const NodeId j : problem.candidates(i)) rows.push_back({j, problem.cost(i, j)});
  }
  return rows;
}

}  // namespace puretour
