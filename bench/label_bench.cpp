// Rate against quality of labels: tours and completions of partial tours at training sizes, on one core, by the search
// for small tours with growing effort, beside the local search with 100 kicks. The excess is over eax, on the same
// instances.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "puretour/base/rng.h"
#include "puretour/solve/completion.h"
#include "puretour/solve/solver.h"

namespace {

using puretour::Instance;
using puretour::NodeId;
using puretour::Point;
using puretour::Rng;

struct Question {
  std::vector<Point> points;
  std::vector<NodeId> visited;
  double best = 0;  // length of the best tour that begins with the visited nodes, by eax
};

double length_of(std::span<const Point> points, std::span<const NodeId> tour) {
  double length = 0;
  for (std::size_t i = 0; i < tour.size(); ++i) {
    length += std::sqrt(squared_distance(points[static_cast<std::size_t>(tour[i])],
                                         points[static_cast<std::size_t>(tour[(i + 1) % tour.size()])]));
  }
  return length;
}

// The unvisited nodes with both ends of the visited part, which a fixed edge joins.
Instance rest_of(const Question& q) {
  std::vector<Point> points = {q.points[static_cast<std::size_t>(q.visited.back())],
                               q.points[static_cast<std::size_t>(q.visited.front())]};
  std::vector<bool> is_visited(q.points.size());
  for (const NodeId node : q.visited) is_visited[static_cast<std::size_t>(node)] = true;
  for (std::size_t i = 0; i < q.points.size(); ++i) {
    if (!is_visited[i]) points.push_back(q.points[i]);
  }
  return Instance(points).with_fixed_edges(std::vector<puretour::FixedEdge>{{0, 1}});
}

double solve(const Question& q, const puretour::Solver& solver, const puretour::SolveOptions& options) {
  if (q.visited.empty()) return solver.solve(Instance(q.points), options).length;
  // Both closed lengths hold the edge between the ends once; the tour does not hold it.
  const std::vector<NodeId> ends = {q.visited.front(), q.visited.back()};
  return solver.solve(rest_of(q), options).length + length_of(q.points, q.visited) - length_of(q.points, ends);
}

// Partial tours are the beginnings of good tours with a few random exchanges, as a network makes them.
std::vector<Question> make_questions(std::size_t num_nodes, std::size_t count, bool closed) {
  std::vector<Question> questions(count);
  const auto eax = puretour::make_solver("eax");
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(77, {num_nodes, i});
    Question& q = questions[i];
    for (std::size_t k = 0; k < num_nodes; ++k) {
      const double x = rng.uniform();
      q.points.push_back({x, rng.uniform()});
    }
    if (!closed) {
      std::vector<NodeId> tour = puretour::complete_tour(q.points, {});
      for (int k = 0; k < 3; ++k) std::swap(tour[rng.below(num_nodes)], tour[rng.below(num_nodes)]);
      tour.resize(2 + rng.below(num_nodes - 2));
      q.visited = tour;
    }
    q.best = solve(q, *eax, {});
  }
  return questions;
}

void measure(const std::string& name, const std::vector<Question>& questions,
             const std::function<double(const Question&, std::size_t)>& length) {
  double excess = 0;
  std::size_t not_best = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::clock_t begin = std::clock();
    const double found = length(questions[i], i);
    seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    excess += found / questions[i].best - 1;
    not_best += found > questions[i].best * (1 + 1e-6) ? 1 : 0;
  }
  const auto count = static_cast<double>(questions.size());
  fmt::print("  {:<26}{:>9.0f} /s   mean excess {:.4f} %   not the best {:.1f} %\n", name, count / seconds,
             100 * excess / count, 100 * static_cast<double>(not_best) / count);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  for (const bool closed : {true, false}) {
    for (const std::size_t num_nodes : {std::size_t{50}, std::size_t{100}}) {
      fmt::print("{} of {} uniform nodes, {} of them\n", closed ? "tours" : "completions", num_nodes, count);
      const std::vector<Question> questions = make_questions(num_nodes, count, closed);
      const auto lk = puretour::make_solver("lk", {.max_kicks = 100});
      measure("lk --kicks 100", questions, [&](const Question& q, std::size_t) { return solve(q, *lk, {}); });
      puretour::TourCompleter completer;
      std::vector<NodeId> tour(num_nodes);
      for (const double kicks : {0.4, 0.8, 1.6, 3.2, 6.4}) {
        const bool is_default = kicks == puretour::SmallTourSearch::Limits{}.kicks_per_node;
        measure(fmt::format("{} kicks per node{}", kicks, is_default ? " *" : ""), questions,
                [&](const Question& q, std::size_t i) {
                  Rng rng(1, {i});
                  completer.complete(q.points, q.visited, rng, tour, {.kicks_per_node = kicks});
                  return length_of(q.points, tour);
                });
      }
    }
  }
  fmt::print("* what training uses\n");
  return 0;
}
