// SPDX-License-Identifier: MIT
#include "puretour/train/training_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "puretour/base/build_info.h"
#include "puretour/base/error.h"
#include "puretour/base/files.h"
#include "puretour/base/progress.h"
#include "puretour/models/checkpoint.h"
#include "puretour/tour/formats.h"
#include "puretour/tour/line_format.h"
#include "puretour/train/policy_gradient.h"

namespace puretour::train {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Where the recipe of the folder differs from the one that was asked for. A run may be made longer.
void check_same_run(const Recipe& there, const Recipe& here, const std::string& folder) {
  for (const RecipeField& field : recipe_fields()) {
    if (field.key == "epochs" || field_text(there, field) == field_text(here, field)) continue;
    throw InputError(fmt::format("{} holds another run: {} is {} there and {} here; choose another folder", folder,
                                 field.key, field_text(there, field), field_text(here, field)));
  }
}

void add(StepSums& sums, const StepSums& step) {
  sums.weight_min = sums.steps == 0 ? step.weight_min : std::min(sums.weight_min, step.weight_min);
  sums.weight_max = sums.steps == 0 ? step.weight_max : std::max(sums.weight_max, step.weight_max);
  sums.steps += step.steps;
  sums.length += step.length;
  sums.advantage += step.advantage;
  sums.loss += step.loss;
  sums.gradient_norm += step.gradient_norm;
  sums.weight_mean += step.weight_mean;
  sums.decisions += step.decisions;
  sums.correct += step.correct;
  sums.skipped += step.skipped;
  sums.nats += step.nats;
}

// How long a run has taken: by the clock, and by the processor time of all threads, which work beside it does not change.
struct ElapsedTime {
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

// By the last line of a timing file.
ElapsedTime last_elapsed(const std::string& path) {
  ElapsedTime elapsed;
  if (!std::filesystem::exists(path)) return elapsed;
  std::ifstream stream(path);
  std::string line;
  while (std::getline(stream, line)) {
    const Json values = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!values.is_object()) continue;
    elapsed.wall_seconds = values.value("wall_seconds", elapsed.wall_seconds);
    elapsed.cpu_seconds = values.value("cpu_seconds", elapsed.cpu_seconds);
  }
  return elapsed;
}

double process_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Text that grows at its end. Errors (disk full) are found at once.
class AppendedFile {
 public:
  /// Keeps the first `bytes` of what is there.
  AppendedFile(std::filesystem::path path, std::uint64_t bytes) : path_(std::move(path)) {
    std::error_code error;
    if (std::filesystem::exists(path_)) std::filesystem::resize_file(path_, bytes, error);
    stream_.open(path_, std::ios::app | std::ios::binary);
    if (error || !stream_) throw InputError(fmt::format("{}: cannot be written", path_.string()));
    bytes_ = bytes;
  }

  void line(const Json& values) {
    const std::string text = values.dump() + '\n';
    stream_ << text << std::flush;
    if (!stream_) throw InputError(fmt::format("{}: cannot be written; is the disk full?", path_.string()));
    bytes_ += text.size();
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
  std::uint64_t bytes_ = 0;
};

class Run {
 public:
  Run(const Recipe& recipe, const RunOptions& options)
      : options_(options), stop_(Deadline().with_stop_flag(options.stop_requested)) {
    const std::string recipe_path = path("recipe.toml");
    if (std::filesystem::exists(recipe_path)) {
      check_same_run(parse_recipe(read_file(recipe_path), recipe_path), recipe, options_.folder.string());
    }
    std::optional<TrainingState> state = newest_state(options_.folder);
    if (state) {
      check_same_run(state->recipe, recipe, options_.folder.string());
      state->recipe.epochs = recipe.epochs;
      sums_ = state->sums;
      trainer_ = std::make_unique<Trainer>(*state, options_.train);
    } else {
      trainer_ = std::make_unique<Trainer>(recipe, options_.train);
    }
    writes_ = trainer_->communicator().rank() == 0;
    first_step_ = trainer_->num_steps();
    visible_ = writes_ && !options_.quiet && isatty(STDERR_FILENO) != 0;
    if (!writes_) return;
    std::filesystem::create_directories(options_.folder);
    write_file(recipe_path, recipe_text(recipe));
    load_validation();
    log_.emplace(path("log.jsonl"), state ? state->log_bytes : 0);
    const std::string timing = path("timing.jsonl");
    elapsed_before_ = last_elapsed(timing);
    elapsed_before_.cpu_seconds -= process_seconds();
    timing_.emplace(timing, std::filesystem::exists(timing) ? std::filesystem::file_size(timing) : 0);
    if (!options_.quiet && state) {
      fmt::print(stderr, "puretour: going on after step {} of {}\n", first_step_, trainer_->num_steps_in_all());
    }
  }

  RunEnd go() {
    start_ = Clock::now();
    last_checkpoint_ = start_;
    if (trainer_->num_steps() == 0) log_validation();  // the untrained network
    bool saved = true;
    while (!trainer_->is_finished()) {
      if (should_stop()) {
        if (!saved) save();
        clear_line();
        return RunEnd::kPaused;
      }
      add(sums_, trainer_->step());
      saved = false;
      const std::uint64_t step = trainer_->num_steps();
      if (step % recipe().log_steps == 0) log_steps();
      const bool epoch_ended = step % recipe().steps == 0;
      if (epoch_ended || (recipe().validation_steps > 0 && step % recipe().validation_steps == 0)) log_validation();
      if (step % options_.checkpoint_steps == 0 || trainer_->is_finished() ||
          seconds_since(last_checkpoint_) > 60 * options_.checkpoint_minutes) {
        save();
        saved = true;
      }
      draw_line();
    }
    clear_line();
    return RunEnd::kFinished;
  }

 private:
  [[nodiscard]] const Recipe& recipe() const { return trainer_->recipe(); }
  [[nodiscard]] std::string path(const char* name) const { return (options_.folder / name).string(); }

  [[nodiscard]] bool is_taught() const { return recipe().method == "teacher"; }
  [[nodiscard]] static double per_decision(const StepSums& sums) {
    return static_cast<double>(std::max<std::uint64_t>(1, sums.decisions));
  }

  // All processes stop after the same step.
  bool should_stop() {
    const bool mine = stop_.expired() || (options_.stop_after && trainer_->num_steps() >= *options_.stop_after);
    return trainer_->communicator().add_up(mine ? 1.0 : 0.0) > 0;
  }

  void load_validation() {
    const std::string file = path("validation.txt");
    if (std::filesystem::exists(file)) {
      validation_set_ = read_samples(file);
      return;
    }
    validation_set_ = make_validation_set(recipe(), options_.train.threads, options_.quiet, stop_);
    std::string text;
    for (const Sample& sample : validation_set_) append_sample_line(text, sample);
    write_file(file, text);
  }

  void log_steps() {
    if (writes_) {
      const auto count = static_cast<double>(sums_.steps);
      last_length_ = sums_.length / count;
      Json line = {{"step", trainer_->num_steps()},
                   {"epoch", (trainer_->num_steps() - 1) / recipe().steps + 1},
                   {"instances", trainer_->num_steps() * recipe().batch},
                   {"length", last_length_}};
      if (is_taught()) {
        line["loss"] = sums_.loss / count;
        line["decisions"] = sums_.decisions;
        line["nats_per_decision"] = sums_.nats / per_decision(sums_);
        line["accuracy"] = static_cast<double>(sums_.correct) / per_decision(sums_);
        line["skipped_decisions"] = sums_.skipped;
      } else {
        line["advantage"] = sums_.advantage / count;
        line["loss"] = sums_.loss / count;
      }
      line["gradient_norm"] = sums_.gradient_norm / count;
      line["weight_min"] = sums_.weight_min;
      line["weight_mean"] = sums_.weight_mean / count;
      line["weight_max"] = sums_.weight_max;
      log_->line(line);
      last_sums_ = sums_;
      const PhaseTimes& p = trainer_->phases();
      timing_->line({{"step", trainer_->num_steps()},
                     {"wall_seconds", elapsed_before_.wall_seconds + seconds_since(start_)},
                     {"cpu_seconds", elapsed_before_.cpu_seconds + process_seconds()},
                     {"threads", trainer_->num_threads()},
                     {"instances_per_second", instances_per_second()},
                     {"seconds",
                      {{"instances", p.instances.seconds},
                       {"encode", p.encode.seconds},
                       {"tours", p.tours.seconds},
                       {"labels", p.labels.seconds},
                       {"baseline", p.baseline.seconds},
                       {"weights", p.weights.seconds},
                       {"gradient", p.gradient.seconds},
                       {"optimizer", p.optimizer.seconds}}}});
    }
    sums_ = {};
  }

  void log_validation() {
    if (!writes_) return;
    validation_ = validate(*trainer_->policy(), validation_set_, options_.train.threads);
    const ParameterNorms norms = parameter_norms(trainer_->network());
    log_->line({{"validation_step", trainer_->num_steps()},
                {"instances", trainer_->num_steps() * recipe().batch},
                {"learning_rate", trainer_->learning_rate()},
                {"gap", validation_->gap},
                {"length", validation_->length},
                {"prop0", validation_->proportion_zero},
                {"apo_all", validation_->mean_order},
                {"apo_non0", validation_->mean_positive_order},
                {"norm_sum", norms.sum},
                {"norm_joint", norms.joint},
                {"new_baseline", trainer_->replaced_baseline()}});
  }

  void save() {
    if (writes_) {
      TrainingState state = trainer_->state();
      state.sums = sums_;
      state.log_bytes = log_->bytes();
      const ParameterNorms norms = parameter_norms(trainer_->network());
      Checkpoint checkpoint{network_config(recipe()), state.weights, {}};
      checkpoint.notes["training_recipe"] = recipe_text(recipe());
      checkpoint.notes["training_steps"] = fmt::format("{} of {}", state.step, trainer_->num_steps_in_all());
      checkpoint.notes["training_instances"] = fmt::format("{}", state.step * recipe().batch);
      if (trainer_->ancestry() != "[]") checkpoint.notes["training_ancestry"] = trainer_->ancestry();
      checkpoint.notes["frobenius_norms"] = fmt::format("sum {:.4f}, joint {:.4f}", norms.sum, norms.joint);
      checkpoint.notes["program"] = fmt::format("PureTour {} ({})", build_info().version, build_info().commit);
      if (validation_) {
        checkpoint.notes["validation"] = fmt::format("gap {:.3f} % of {} uniform instances of {} nodes, greedy",
                                                     100 * validation_->gap, validation_set_.size(), recipe().nodes);
      }
      // The network first: a state that says the run is finished must not be there without it.
      write_file(path("model.safetensors"), format_checkpoint(checkpoint));
      write_state(options_.folder, state);
    }
    last_checkpoint_ = Clock::now();
  }

  [[nodiscard]] double instances_per_second() const {
    return static_cast<double>((trainer_->num_steps() - first_step_) * recipe().batch) / seconds_since(start_);
  }

  void draw_line() {
    if (!visible_ || seconds_since(last_draw_) < 0.2) return;
    last_draw_ = Clock::now();
    const std::uint64_t step = trainer_->num_steps();
    const double rate = instances_per_second();
    const double left = static_cast<double>((trainer_->num_steps_in_all() - step) * recipe().batch) / rate;
    const auto count = static_cast<double>(std::max<std::uint64_t>(1, last_sums_.steps));
    fmt::print(stderr,
               "\r\033[Kepoch {}/{} step {}  {:.0f} instances/s, {} left  length {:.4f}  gap {:.2f} %  W {:.2f} {:.2f} "
               "{:.2f}  gradient {:.3g}",
               (step - 1) / recipe().steps + 1, recipe().epochs, step, rate, format_duration(left), last_length_,
               validation_ ? 100 * validation_->gap : 0.0, last_sums_.weight_min, last_sums_.weight_mean / count,
               last_sums_.weight_max, last_sums_.gradient_norm / count);
    std::fflush(stderr);
  }

  void clear_line() const {
    if (visible_) fmt::print(stderr, "\r\033[K");
  }

  RunOptions options_;
  Deadline stop_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<Sample> validation_set_;
  std::optional<AppendedFile> log_;
  std::optional<AppendedFile> timing_;
  StepSums sums_;
  StepSums last_sums_;  // of the last line of the log
  double last_length_ = 0;
  std::optional<Validation> validation_;
  bool writes_ = true;
  bool visible_ = false;
  std::uint64_t first_step_ = 0;
  ElapsedTime elapsed_before_;  // that earlier processes worked on the run
  Clock::time_point start_;
  Clock::time_point last_checkpoint_;
  Clock::time_point last_draw_;
};

}  // namespace

RunEnd run_training(const Recipe& recipe, const RunOptions& options) {
  return Run(recipe, options).go();
}

}  // namespace puretour::train
