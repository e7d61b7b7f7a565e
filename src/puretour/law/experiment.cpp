// SPDX-License-Identifier: MIT
#include "puretour/law/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/parallel.h"
#include "puretour/base/rng.h"
#include "puretour/base/text.h"
#include "puretour/law/paper_table.h"
#include "puretour/solve/solver.h"

namespace puretour {
namespace {

namespace fs = std::filesystem;

constexpr int kBootstrapRounds = 1000;
constexpr std::uint64_t kBootstrapSeed = 1;

// The samples of one type on disk. The first line says what they are samples of, each further one is
//   index length seconds count-of-order-0 count-of-order-1 ...
class SampleFile {
 public:
  SampleFile(const LawType& type, const LawRun& run)
      : path_(fmt::format("{}/{}-{}.samples", run.folder, distribution_name(type.distribution), type.scale)),
        header_(fmt::format("puretour law samples 1: {} {}, seed {}, solver {}", distribution_name(type.distribution),
                            type.scale, run.seed, run.solver)) {
    if (fs::exists(path_)) {
      load(type.scale);
    } else {
      write_file(path_, header_ + "\n");
    }
  }

  [[nodiscard]] const std::vector<LawSample>& samples() const { return samples_; }
  [[nodiscard]] bool has(std::uint64_t index) const {
    return std::any_of(samples_.begin(), samples_.end(), [&](const LawSample& s) { return s.index == index; });
  }

  // From any thread.
  void append(LawSample sample) {
    std::string line = fmt::format("{} ", sample.index);
    append_number(line, sample.length);
    line += fmt::format(" {:.4f}", sample.seconds);
    for (const std::uint64_t count : sample.orders.counts()) line += fmt::format(" {}", count);
    const std::lock_guard lock(mutex_);
    std::ofstream file(path_, std::ios::app);
    file << line << '\n' << std::flush;
    if (!file) throw InputError(fmt::format("{}: cannot write it; is the disk full?", path_));
    samples_.push_back(std::move(sample));
  }

 private:
  void load(std::size_t scale) {
    const std::string text = read_file(path_);
    std::size_t begin = text.find('\n');
    if (begin == std::string::npos || text.compare(0, begin, header_) != 0) {
      throw InputError(fmt::format("{}: line 1 is {}, expected {}; use another folder", path_,
                                   quote_input(text.substr(0, begin)), quote_input(header_)));
    }
    std::size_t line_number = 1;
    std::size_t whole_lines = ++begin;
    for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
      ++line_number;
      samples_.push_back(parse(std::string_view(text).substr(begin, end - begin), line_number, scale));
      begin = end + 1;
      whole_lines = begin;
    }
    // A kill in the middle of a write leaves a line without an end.
    if (whole_lines < text.size()) write_file(path_, text.substr(0, whole_lines));
  }

  [[nodiscard]] LawSample parse(std::string_view line, std::size_t line_number, std::size_t scale) const {
    const auto fail = [&] {
      throw InputError(fmt::format("{}:{}: {} is no sample of {} edges; delete the line", path_, line_number,
                                   quote_input(line), scale));
    };
    std::vector<double> numbers;
    const char* at = line.data();
    const char* const end = line.data() + line.size();
    while (at != end) {
      double number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc() || !(number >= 0)) fail();
      numbers.push_back(number);
      at = next;
      if (at != end && (*at++ != ' ' || at == end)) fail();
    }
    if (numbers.size() < 4) fail();
    LawSample sample;
    sample.index = static_cast<std::uint64_t>(numbers[0]);
    sample.length = numbers[1];
    sample.seconds = numbers[2];
    for (std::size_t k = 3; k < numbers.size(); ++k) {
      sample.orders.add(static_cast<std::uint32_t>(k - 3), static_cast<std::uint64_t>(numbers[k]));
    }
    if (sample.orders.num_edges() != scale || has(sample.index)) fail();
    return sample;
  }

  std::string path_;
  std::string header_;
  std::mutex mutex_;
  std::vector<LawSample> samples_;
};

struct WorkItem {
  std::size_t type = 0;
  std::uint64_t index = 0;
};

LawSample solve_and_measure(const LawType& type, std::uint64_t index, const Solver& solver, const LawRun& run) {
  const Instance instance = generate_instance({}, type.distribution, type.scale, run.seed, index);
  SolveOptions options;
  options.seed = run.seed;
  const SolveResult result = solver.solve(instance, options);
  LawSample sample{index, result.length, result.seconds, {}};
  sample.orders.add(tour_orders(instance.points(), result.tour.order()));
  return sample;
}

// (ours - theirs) / the standard error of the difference. The paper gives no errors: its own is ours, scaled to its
// number of instances.
double z_score(double ours, double theirs, double standard_error, double num_ours, double num_theirs) {
  return (ours - theirs) / (standard_error * std::sqrt(1 + num_ours / num_theirs));
}

}  // namespace

std::vector<LawType> law_types(std::span<const std::size_t> scales, std::span<const Distribution> distributions,
                               std::size_t num_instances) {
  std::vector<LawType> types;
  for (const std::size_t scale : scales) {
    for (const Distribution distribution : distributions) {
      types.push_back({scale, distribution, num_instances > 0 ? num_instances : paper_instances(scale)});
    }
  }
  return types;
}

std::vector<std::vector<LawSample>> run_law(std::span<const LawType> types, const LawRun& run) {
  const std::unique_ptr<Solver> solver = make_solver(run.solver);  // before anything is written: it checks the name
  fs::create_directories(run.folder);
  std::vector<std::unique_ptr<SampleFile>> files;
  std::vector<WorkItem> work;
  std::size_t total = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    files.push_back(std::make_unique<SampleFile>(types[t], run));
    for (std::uint64_t index = 0; index < types[t].num_instances; ++index) {
      ++total;
      if (!files[t]->has(index)) work.push_back({t, index});
    }
  }
  Rng rng(run.seed, {total});
  for (std::size_t i = work.size(); i > 1; --i) std::swap(work[i - 1], work[rng.below(i)]);

  std::atomic<std::size_t> done = total - work.size();
  parallel_for(work.size(), run.threads, [&](std::size_t i) {
    if (run.deadline.expired()) return;
    const WorkItem item = work[i];
    files[item.type]->append(solve_and_measure(types[item.type], item.index, *solver, run));
    const std::size_t now_done = ++done;
    if (run.progress) run.progress(now_done, total);
  });

  std::vector<std::vector<LawSample>> samples;
  for (std::size_t t = 0; t < types.size(); ++t) {
    std::vector<LawSample> of_type;
    for (const LawSample& sample : files[t]->samples()) {
      if (sample.index < types[t].num_instances) of_type.push_back(sample);
    }
    std::sort(of_type.begin(), of_type.end(), [](const LawSample& a, const LawSample& b) { return a.index < b.index; });
    samples.push_back(std::move(of_type));
  }
  return samples;
}

LawRow make_law_row(const LawType& type, std::span<const LawSample> samples) {
  LawRow row;
  row.type = type;
  row.type.num_instances = samples.size();
  std::vector<PurityHistogram> instances;
  std::size_t num_fitted = 0;
  for (const LawSample& sample : samples) {
    row.pooled.add(sample.orders);
    instances.push_back(sample.orders);
    if (const auto fit = fit_exponential(order_shares(sample.orders))) {
      row.mean_instance_error += fit->mean_squared_error;
      ++num_fitted;
    }
  }
  if (num_fitted > 0) row.mean_instance_error /= static_cast<double>(num_fitted);
  if (samples.empty()) return row;
  const std::vector<double> shares = order_shares(row.pooled);
  row.fit = fit_exponential(shares);
  row.log_fit = fit_log_linear(shares);
  row.spread = bootstrap_fit(instances, kBootstrapRounds, kBootstrapSeed);
  const PaperFit* paper = find_paper_fit(type.scale, type.distribution);
  if (paper != nullptr && row.fit && row.spread) {
    const auto ours = static_cast<double>(samples.size());
    const auto theirs = static_cast<double>(paper_instances(type.scale));
    row.alpha_z = z_score(row.fit->alpha, paper->alpha, row.spread->alpha.standard_error, ours, theirs);
    row.beta_z = z_score(row.fit->beta, paper->beta, row.spread->beta.standard_error, ours, theirs);
  }
  return row;
}

std::string law_csv(std::span<const LawRow> rows) {
  std::string csv =
      "scale,distribution,instances,alpha,beta,fit_error,r_squared,alpha_low,alpha_high,beta_low,beta_high,"
      "mean_instance_fit_error,alpha_log,beta_log,r_squared_log,mean_order,prop_0,apo_non_0,"
      "paper_alpha,paper_beta,paper_fit_error,z_alpha,z_beta\n";
  const auto optional = [](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string();
  };
  for (const LawRow& row : rows) {
    const auto of_fit = [&](const std::optional<ExponentialFit>& fit, double ExponentialFit::*member,
                            const char* format) {
      return fit ? fmt::format(fmt::runtime(format), (*fit).*member) : std::string();
    };
    const auto of_spread = [&](FitSpread BootstrapResult::*which, double FitSpread::*member) {
      return row.spread ? fmt::format("{:.5f}", (*row.spread).*which.*member) : std::string();
    };
    const PaperFit* paper = find_paper_fit(row.type.scale, row.type.distribution);
    const bool is_empty = row.pooled.num_edges() == 0;
    const std::vector<std::string> fields = {
        fmt::format("{}", row.type.scale),
        std::string(distribution_name(row.type.distribution)),
        fmt::format("{}", row.type.num_instances),
        of_fit(row.fit, &ExponentialFit::alpha, "{:.5f}"),
        of_fit(row.fit, &ExponentialFit::beta, "{:.5f}"),
        of_fit(row.fit, &ExponentialFit::mean_squared_error, "{:.3e}"),
        of_fit(row.fit, &ExponentialFit::r_squared, "{:.6f}"),
        of_spread(&BootstrapResult::alpha, &FitSpread::low),
        of_spread(&BootstrapResult::alpha, &FitSpread::high),
        of_spread(&BootstrapResult::beta, &FitSpread::low),
        of_spread(&BootstrapResult::beta, &FitSpread::high),
        row.fit ? fmt::format("{:.3e}", row.mean_instance_error) : std::string(),
        of_fit(row.log_fit, &ExponentialFit::alpha, "{:.5f}"),
        of_fit(row.log_fit, &ExponentialFit::beta, "{:.5f}"),
        of_fit(row.log_fit, &ExponentialFit::r_squared, "{:.6f}"),
        is_empty ? std::string() : fmt::format("{:.5f}", row.pooled.mean_order()),
        is_empty ? std::string() : fmt::format("{:.5f}", row.pooled.proportion_zero()),
        is_empty ? std::string() : optional(row.pooled.mean_positive_order(), "{:.5f}"),
        paper != nullptr ? fmt::format("{:.4f}", paper->alpha) : std::string(),
        paper != nullptr ? fmt::format("{:.4f}", paper->beta) : std::string(),
        paper != nullptr ? fmt::format("{:.2e}", paper->fit_error) : std::string(),
        optional(row.alpha_z, "{:.2f}"),
        optional(row.beta_z, "{:.2f}"),
    };
    csv += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return csv;
}

}  // namespace puretour
