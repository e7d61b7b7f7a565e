// SPDX-License-Identifier: MIT
#include "puretour/evaluate/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"
#include "puretour/evaluate/record_file.h"
#include "puretour/evaluate/remaining_time.h"
#include "puretour/solve/lower_bound.h"
#include "puretour/tour/formats.h"

namespace puretour {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PurityHistogram purity_of(const Instance& instance, std::span<const NodeId> order) {
  PurityHistogram orders;
  if (instance.size() >= 2) orders.add(tour_orders(instance.points(), order));
  return orders;
}

// As INViT reports TSPLIB: one rounding, at the end.
double ceil_of_plain_length(const Instance& instance, const Tour& tour) {
  const Instance plain({instance.points().begin(), instance.points().end()});
  return std::ceil(tour_length(plain, tour));
}

Json to_json(const PurityHistogram& orders) {
  Json counts = Json::array();
  for (const std::uint64_t count : orders.counts()) counts.push_back(count);
  // Bad tours have orders in the thousands, most of which do not occur: pairs then.
  if (counts.size() <= 64) return counts;
  Json pairs = Json::array();
  for (std::size_t k = 0; k < orders.counts().size(); ++k) {
    if (orders.counts()[k] > 0) pairs.push_back({k, orders.counts()[k]});
  }
  return pairs;
}

PurityHistogram histogram_of(const Json& counts) {
  PurityHistogram orders;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].is_array()) {
      orders.add(counts[i].at(0).get<std::uint32_t>(), counts[i].at(1).get<std::uint64_t>());
    } else {
      orders.add(static_cast<std::uint32_t>(i), counts[i].get<std::uint64_t>());
    }
  }
  return orders;
}

Json to_json(const std::string& item, const ReferenceTour& reference) {
  return {{"item", item},
          {"method", reference.method},
          {"length", reference.length},
          {"seconds", reference.seconds},
          {"bound", reference.bound},
          {"bound_is_proven", reference.bound_is_proven},
          {"orders", to_json(reference.orders)},
          {"tour", reference.order}};
}

ReferenceTour reference_of(const Json& record) {
  ReferenceTour reference;
  reference.method = record.at("method");
  reference.length = record.at("length");
  reference.seconds = record.at("seconds");
  reference.bound = record.at("bound");
  reference.bound_is_proven = record.at("bound_is_proven");
  reference.orders = histogram_of(record.at("orders"));
  reference.order = record.at("tour").get<std::vector<NodeId>>();
  return reference;
}

Json to_json(const std::string& item, const SolvedItem& solved) {
  Json record = {
      {"item", item}, {"length", solved.length}, {"seconds", solved.seconds}, {"orders", to_json(solved.orders)}};
  if (solved.ceil_length) record["ceil_length"] = *solved.ceil_length;
  if (!solved.order.empty()) record["tour"] = solved.order;
  return record;
}

SolvedItem solved_of(const Json& record) {
  SolvedItem solved;
  solved.length = record.at("length");
  solved.seconds = record.at("seconds");
  solved.orders = histogram_of(record.at("orders"));
  if (record.contains("ceil_length")) solved.ceil_length = record["ceil_length"].get<double>();
  if (record.contains("tour")) solved.order = record["tour"].get<std::vector<NodeId>>();
  return solved;
}

// The records of one solver (or of the references) on one set.
template <typename Entry>
class Records {
 public:
  Records(const std::string& path, const std::string& header, const EvaluationSet& set, Entry (*parse)(const Json&),
          std::vector<std::optional<Entry>>& entries) {
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < set.items.size(); ++i) index[set.items[i].name] = i;
    entries.assign(set.items.size(), {});
    file_ = std::make_unique<RecordFile>(path, header, [&](std::string_view text, std::size_t line) {
      try {
        const Json record = Json::parse(text);
        // A record of an item that is not asked for today is kept for another day.
        const auto found = index.find(record.at("item").get<std::string>());
        if (found != index.end()) entries[found->second] = parse(record);
      } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("{}:{}: this is no record of an evaluation; delete the line", path, line));
      }
    });
  }
  void append(const Json& record) { file_->append(record.dump()); }

 private:
  std::unique_ptr<RecordFile> file_;
};

struct WorkItem {
  std::size_t set = 0;
  std::size_t item = 0;
  std::size_t solver = 0;  // the number of solvers: the reference
  std::size_t kind = 0;
};

ReferenceTour find_reference(const Sample& sample, const Solver& solver, const EvaluationRun& run) {
  const auto start = Clock::now();
  ReferenceTour reference;
  reference.method = "given";
  Tour tour;
  if (sample.tour) {
    tour = *sample.tour;
    reference.length = tour_length(sample.instance, tour);
  } else {
    SolveOptions options;
    options.seed = run.seed;
    if (run.reference_seconds) options.deadline = Deadline::after_seconds(*run.reference_seconds);
    SolveResult result = solver.solve(sample.instance, options);
    reference.method = result.method;
    reference.length = result.length;
    tour = std::move(result.tour);
  }
  reference.seconds = seconds_since(start);
  const LowerBound bound = held_karp_bound(sample.instance, tour);
  reference.bound = bound.length;
  reference.bound_is_proven = bound.is_proven;
  reference.order.assign(tour.order().begin(), tour.order().end());
  reference.orders = purity_of(sample.instance, tour.order());
  return reference;
}

SolvedItem solve_item(const EvaluationSet& set, std::size_t item, const Solver& solver, std::uint64_t seed) {
  const Sample sample = set.load(item);
  SolveOptions options;
  options.seed = seed;
  const SolveResult result = solver.solve(sample.instance, options);
  SolvedItem solved;
  solved.length = result.length;
  solved.seconds = result.seconds;
  solved.orders = purity_of(sample.instance, result.tour.order());
  if (set.is_tsplib) solved.ceil_length = ceil_of_plain_length(sample.instance, result.tour);
  if (is_pictured(set, item)) solved.order.assign(result.tour.order().begin(), result.tour.order().end());
  return solved;
}

template <typename Range>
void check_names(const Range& range, const char* what) {
  std::set<std::string> names;
  for (const auto& entry : range) {
    if (!names.insert(entry.name).second) {
      throw InputError(fmt::format("two {} are called {}; rename one of them", what, entry.name));
    }
  }
}

}  // namespace

std::optional<double> EvaluatedSet::reference_length(std::size_t item) const {
  if (!references[item]) return {};
  const double found = references[item]->length;
  return std::min(found, set.items[item].published.value_or(found));
}

bool is_pictured(const EvaluationSet& set, std::size_t item) {
  return item == 0 && set.items[0].nodes <= kMaxPicturedNodes;
}

std::vector<EvaluatedSet> run_evaluation(std::vector<EvaluationSet> sets, std::span<const EvaluatedSolver> solvers,
                                         const EvaluationRun& run) {
  check_names(sets, "data sets");
  check_names(solvers, "solvers");
  const std::unique_ptr<Solver> reference_solver = make_solver(run.reference_solver);
  const std::string limit = run.reference_seconds ? fmt::format(", {:g} s", *run.reference_seconds) : "";

  std::vector<EvaluatedSet> evaluated;
  std::vector<std::unique_ptr<Records<ReferenceTour>>> reference_files;
  std::vector<std::vector<std::unique_ptr<Records<SolvedItem>>>> solution_files;  // [set][solver]
  std::vector<std::vector<std::shared_ptr<const Solver>>> made;                   // the same
  for (EvaluationSet& set : sets) {
    EvaluatedSet& entry = evaluated.emplace_back();
    entry.set = std::move(set);
    const EvaluationSet& s = entry.set;
    reference_files.push_back(
        std::make_unique<Records<ReferenceTour>>(fmt::format("{}/data/{}.references", run.folder, s.name),
                                                 fmt::format("puretour references 1: {}; solver {}{}, seed {}",
                                                             s.description, run.reference_solver, limit, run.seed),
                                                 s, reference_of, entry.references));
    entry.solutions.resize(solvers.size());
    solution_files.emplace_back();
    made.emplace_back();
    std::size_t largest = 0;
    for (const EvaluationItem& item : s.items) largest = std::max(largest, item.nodes);
    for (std::size_t k = 0; k < solvers.size(); ++k) {
      solution_files.back().push_back(std::make_unique<Records<SolvedItem>>(
          fmt::format("{}/results/{}/{}.results", run.folder, solvers[k].name, s.name),
          fmt::format("puretour results 1: {}; {}, seed {}", s.description, solvers[k].identity, run.seed), s,
          solved_of, entry.solutions[k]));
      made.back().push_back(solvers[k].for_nodes(largest));
    }
  }

  RemainingTime remaining;
  std::vector<WorkItem> work;
  std::size_t total = 0;
  for (std::size_t s = 0; s < evaluated.size(); ++s) {
    const EvaluatedSet& entry = evaluated[s];
    for (std::size_t k = 0; k <= solvers.size(); ++k) {
      const std::size_t first = work.size();
      double nodes = 0;
      for (std::size_t i = 0; i < entry.set.items.size(); ++i) {
        ++total;
        const bool is_done = k == solvers.size() ? entry.references[i].has_value() : entry.solutions[k][i].has_value();
        if (is_done) continue;
        work.push_back({s, i, k, 0});
        nodes += static_cast<double>(entry.set.items[i].nodes);
      }
      const std::size_t pieces = work.size() - first;
      const auto size = static_cast<std::size_t>(nodes / static_cast<double>(std::max<std::size_t>(1, pieces)));
      const std::size_t kind = remaining.add_kind(k, size, pieces);
      for (std::size_t w = first; w < work.size(); ++w) work[w].kind = kind;
    }
  }
  // In random order the first pieces tell how long all take.
  Rng rng(run.seed, {total});
  for (std::size_t i = work.size(); i > 1; --i) std::swap(work[i - 1], work[rng.below(i)]);

  std::mutex mutex;
  std::size_t done = total - work.size();
  const int threads = resolve_threads(run.threads);
  parallel_for(work.size(), threads, [&](std::size_t w) {
    if (run.deadline.expired()) return;
    const WorkItem& item = work[w];
    EvaluatedSet& entry = evaluated[item.set];
    const std::string& name = entry.set.items[item.item].name;
    const auto start = Clock::now();
    if (item.solver == solvers.size()) {
      ReferenceTour reference = find_reference(entry.set.load(item.item), *reference_solver, run);
      reference_files[item.set]->append(to_json(name, reference));
      entry.references[item.item] = std::move(reference);
    } else {
      SolvedItem solved = solve_item(entry.set, item.item, *made[item.set][item.solver], run.seed);
      solution_files[item.set][item.solver]->append(to_json(name, solved));
      entry.solutions[item.solver][item.item] = std::move(solved);
    }
    const std::lock_guard lock(mutex);
    remaining.finish_piece(item.kind, seconds_since(start));
    ++done;
    if (!run.progress) return;
    EvaluationProgress progress{done, total, remaining.seconds_left()};
    if (progress.seconds_left) *progress.seconds_left /= threads;
    run.progress(progress);
  });
  return evaluated;
}

void write_complete_sets(std::span<const EvaluatedSet> sets, const std::string& folder) {
  for (const EvaluatedSet& entry : sets) {
    const EvaluationSet& set = entry.set;
    const std::string path = fmt::format("{}/data/{}.txt", folder, set.name);
    const bool is_complete = std::all_of(entry.references.begin(), entry.references.end(),
                                         [](const auto& reference) { return reference.has_value(); });
    if (!set.distribution || !is_complete) continue;
    if (std::filesystem::exists(path) && read_samples(path).size() == set.items.size()) continue;
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      Sample sample = set.load(i);
      sample.tour = Tour(entry.references[i]->order);
      samples.push_back(std::move(sample));
    }
    write_samples(path, FileFormat::kLines, samples);
  }
}

}  // namespace puretour
