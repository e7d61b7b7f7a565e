// SPDX-License-Identifier: MIT
#include "puretour/train/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "puretour/base/error.h"
#include "puretour/base/text.h"
#include "puretour/solve/small_tour.h"
#include "puretour/train/teacher.h"

namespace puretour::train {
namespace {

constexpr double kMany = 1e12;

std::vector<RecipeField> make_fields() {
  using R = Recipe;
  return {
      {"model", &R::model, 0, 0, {"am", "pointerformer", "invit"}, "network: am, pointerformer or invit"},
      {"nodes", &R::nodes, 2, 1e5, {}, "nodes of every training instance"},
      {"method",
       &R::method,
       0,
       0,
       {"vanilla", "pupo", "teacher"},
       "vanilla (REINFORCE), pupo (with purity weights) or teacher (imitation of best completions)"},
      {"seed", &R::seed, 0, 9e15, {}, "of instances, samples and initial weights"},
      {"precision",
       &R::precision,
       0,
       0,
       {"float32", "bfloat16"},
       "of products with weights: float32, or bfloat16 (faster where `puretour info` says bf16 or amx)"},
      {"initial_weights",
       &R::initial_weights,
       0,
       0,
       {},
       "network to start from: a .safetensors file; empty: random weights"},
      {"weights",
       &R::weights,
       0,
       0,
       {"none", "paper", "authors"},
       "purity weights of the steps: none, paper (the definition) or authors (their program)"},

      {"embedding_dim", &R::embedding_dim, 1, 4096, {}, "width of the network"},
      {"num_heads", &R::num_heads, 1, 128, {}, "attention heads; divides the width"},
      {"num_layers", &R::num_layers, 1, 64, {}, "layers of the encoder, of each state encoder for invit"},
      {"feed_forward_dim", &R::feed_forward_dim, 1, 65536, {}, "hidden layer of the feed-forward parts"},
      {"tanh_clip", &R::tanh_clip, 1e-3, 1000, {}, "scores lie between minus and plus this"},
      {"num_action_layers", &R::num_action_layers, 1, 64, {}, "invit: layers of the action encoder"},
      {"action_view", &R::action_view, 1, 1000, {}, "invit: nearest nodes that can be chosen"},
      {"state_views", &R::state_views, 1, 1000, {}, "invit: nearest nodes that each state encoder sees"},
      {"aggregate_whole_graph", &R::aggregate_whole_graph, 0, 0, {}, "invit: a token for the mean of all nodes left"},

      {"epochs", &R::epochs, 1, kMany, {}, "number of epochs"},
      {"steps", &R::steps, 1, kMany, {}, "optimiser steps of an epoch"},
      {"batch", &R::batch, 1, 1e6, {}, "instances of a step"},
      {"copies", &R::copies, 1, 1024, {}, "turned and mirrored views of an instance, each with its tours (invit)"},
      {"tours", &R::tours, 1, 1e5, {}, "tours of a view, each from another start (pointerformer)"},

      {"optimizer", &R::optimizer, 0, 0, {"adam", "adamw"}, "adam (weight decay in the gradient) or adamw (beside it)"},
      {"learning_rate", &R::learning_rate, 0, 10, {}, "of the first epoch"},
      {"learning_rate_schedule",
       &R::learning_rate_schedule,
       0,
       0,
       {"constant", "exponential", "cosine"},
       "constant, exponential (learning_rate_decay) or cosine (to learning_rate_final)"},
      {"learning_rate_decay", &R::learning_rate_decay, 0, 1, {}, "exponential: factor after every epoch"},
      {"learning_rate_warmup",
       &R::learning_rate_warmup,
       0,
       kMany,
       {},
       "steps over which the rate rises from 0, with any schedule"},
      {"learning_rate_final", &R::learning_rate_final, 0, 10, {}, "cosine: rate after the last step"},
      {"weight_decay", &R::weight_decay, 0, 1, {}, "of the optimiser"},
      {"clip_norm", &R::clip_norm, 0, 1e9, {}, "largest norm of the gradient; 0: any"},

      {"baseline",
       &R::baseline,
       0,
       0,
       {"none", "exponential", "rollout", "gated", "shared"},
       "none, exponential (moving mean), rollout (greedy copy, t-test), gated (greedy copy), shared (mean of the "
       "tours)"},
      {"normalise_advantage",
       &R::normalise_advantage,
       0,
       0,
       {},
       "shared: divide by the standard deviation of the tours"},
      {"warmup_epochs", &R::warmup_epochs, 0, kMany, {}, "rollout: epochs with the exponential baseline first"},
      {"exponential_beta", &R::exponential_beta, 0, 1, {}, "exponential: share of the old mean"},
      {"significance", &R::significance, 0, 1, {}, "rollout: replace the copy if p is below"},
      {"gate_tolerance", &R::gate_tolerance, 0, 1, {}, "gated: replace the copy if its tours are longer by more"},
      {"baseline_instances", &R::baseline_instances, 2, 1e7, {}, "rollout, gated: instances of the comparison"},

      {"questions", &R::questions, 1, 1e4, {}, "teacher: states of an instance that it is asked about"},
      {"own_states",
       &R::own_states,
       0,
       1,
       {},
       "teacher: share of the states that come from sampled tours of the network"},
      {"own_states_warmup", &R::own_states_warmup, 0, kMany, {}, "teacher: steps over which that share rises from 0"},
      {"taught_steps", &R::taught_steps, 0, 1e5, {}, "teacher: steps of an answer that are taught; 0: all"},
      {"data", &R::data, 0, 0, {}, "teacher: file of solved instances (.npz, .txt); empty: fresh ones"},

      {"discount", &R::discount, 0, 1, {}, "pupo: of later costs; the paper names none"},
      {"clamp_weights", &R::clamp_weights, 0, 0, {}, "pupo: raise negative weights to 0"},
      {"norm_penalty", &R::norm_penalty, 0, 1e3, {}, "factor of the sum of Frobenius norms in the loss"},

      {"validation_instances", &R::validation_instances, 1, 1e6, {}, "fixed instances with known optima"},
      {"validation_steps", &R::validation_steps, 0, kMany, {}, "steps between validations; 0: once per epoch"},
      {"log_steps", &R::log_steps, 1, kMany, {}, "steps that a line of the log sums up"},
  };
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string real_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

// Reads and writes one kind of value.
struct Setter {
  const RecipeField& field;
  std::string_view text;

  [[nodiscard]] bool in_range(double value) const { return value >= field.low && value <= field.high; }

  bool operator()(std::string& value) const {
    std::string_view word = text;
    if (word.size() >= 2 && word.front() == '"' && word.back() == '"') word = word.substr(1, word.size() - 2);
    if (field.choices.empty()) {  // any text that a line can hold
      if (word.find_first_of("\"\n") != std::string_view::npos) return false;
    } else if (std::find(field.choices.begin(), field.choices.end(), word) == field.choices.end()) {
      return false;
    }
    value = word;
    return true;
  }
  bool operator()(std::size_t& value) const {
    const auto number = parse_number<std::size_t>(text);
    if (!number || !in_range(static_cast<double>(*number))) return false;
    value = *number;
    return true;
  }
  bool operator()(double& value) const {
    const auto number = parse_number<double>(text);
    if (!number || !std::isfinite(*number) || !in_range(*number)) return false;
    value = *number;
    return true;
  }
  bool operator()(bool& value) const {
    if (text != "true" && text != "false") return false;
    value = text == "true";
    return true;
  }
  bool operator()(std::vector<std::size_t>& value) const {
    std::string_view rest = text;
    if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') rest = rest.substr(1, rest.size() - 2);
    std::vector<std::size_t> numbers;
    while (true) {
      const std::size_t comma = rest.find(',');
      std::size_t number = 0;
      if (!Setter{field, trimmed(rest.substr(0, comma))}(number)) return false;
      numbers.push_back(number);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    value = std::move(numbers);
    return true;
  }

  [[nodiscard]] std::string possible(const std::string& /*kind*/) const {
    if (field.choices.empty()) return "a text without quotes";
    return fmt::format("one of {}", fmt::join(field.choices, ", "));
  }
  [[nodiscard]] std::string possible(std::size_t /*kind*/) const {
    return fmt::format("a whole number from {} to {}", real_text(field.low), real_text(field.high));
  }
  [[nodiscard]] std::string possible(double /*kind*/) const {
    return fmt::format("a number from {} to {}", real_text(field.low), real_text(field.high));
  }
  [[nodiscard]] static std::string possible(bool /*kind*/) { return "true or false"; }
  [[nodiscard]] std::string possible(const std::vector<std::size_t>& /*kind*/) const {
    return fmt::format("whole numbers from {} to {} with commas between them", real_text(field.low),
                       real_text(field.high));
  }
};

struct Writer {
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(std::size_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return real_text(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::vector<std::size_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
};

// A comment begins at a # outside quotes.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

const RecipeField* find_field(std::string_view key) {
  const auto fields = recipe_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const RecipeField& f) { return f.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

struct Assignment {
  const RecipeField* field;
  std::string value;
  std::string where;
};

std::vector<Assignment> read_assignments(std::string_view text, const std::string& source) {
  std::vector<Assignment> assignments;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(without_comment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", source, number);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      throw InputError(fmt::format("{}: {} is no line of the kind: key = value", where, quote_input(line)));
    }
    const std::string_view key = trimmed(line.substr(0, equals));
    const RecipeField* field = find_field(key);
    if (field == nullptr) {
      throw InputError(
          fmt::format("{}: there is no field {}; \"puretour train --help\" lists them", where, quote_input(key)));
    }
    if (std::any_of(assignments.begin(), assignments.end(), [&](const Assignment& a) { return a.field == field; })) {
      throw InputError(fmt::format("{}: {} is set twice", where, field->key));
    }
    assignments.push_back({field, std::string(trimmed(line.substr(equals + 1))), where});
  }
  return assignments;
}

// What the network of a paper's recipe is, whatever the method.
void set_network(Recipe& recipe) {
  if (recipe.model == "pointerformer") {
    recipe.num_layers = 6;
    recipe.tanh_clip = 50;
  } else if (recipe.model == "invit") {
    recipe.num_layers = 2;
  }
}

// What learned fastest on two cores: docs/training.md.
Recipe teacher_recipe(Recipe recipe) {
  set_network(recipe);
  recipe.baseline = "none";
  recipe.optimizer = "adamw";
  recipe.weight_decay = 0.01;
  recipe.clip_norm = 1;
  recipe.learning_rate = 5e-4;
  recipe.learning_rate_schedule = "cosine";
  recipe.learning_rate_warmup = 200;
  recipe.learning_rate_final = 1e-5;
  recipe.epochs = 24;
  recipe.steps = 1000;
  recipe.batch = 64;
  if (recipe.model == "pointerformer") recipe.questions = 16;  // its encoder has twice the layers: let it teach more
  if (recipe.model == "invit") {
    // Every step has views of its own: a few steps of many states, but enough to be worth the sampled tour.
    recipe.epochs = 12;
    recipe.batch = 12;
    recipe.questions = 16;
    recipe.taught_steps = 6;
    recipe.log_steps = 10;
    recipe.validation_steps = 500;
  }
  return recipe;
}

}  // namespace

std::span<const RecipeField> recipe_fields() {
  static const std::vector<RecipeField> fields = make_fields();
  return fields;
}

std::string field_text(const Recipe& recipe, const RecipeField& field) {
  return std::visit([&](auto member) { return Writer()(recipe.*member); }, field.member);
}

void set_field(Recipe& recipe, const RecipeField& field, std::string_view text, const std::string& where) {
  const Setter setter{field, trimmed(text)};
  std::visit(
      [&](auto member) {
        if (setter(recipe.*member)) return;
        throw InputError(fmt::format("{}: {} is {}, but must be {}", where, field.key, quote_input(trimmed(text)),
                                     setter.possible(recipe.*member)));
      },
      field.member);
}

Recipe paper_recipe(const std::string& model, std::size_t nodes, const std::string& method) {
  Recipe recipe;
  for (const auto& [key, value] : {std::pair("model", model), std::pair("method", method)}) {
    set_field(recipe, *find_field(key), value, "recipe");
  }
  recipe.nodes = nodes;
  if (method == "teacher") return teacher_recipe(std::move(recipe));
  if (method == "pupo") recipe.weights = "paper";
  const bool pupo = method == "pupo";
  const bool large = nodes > 50;  // the paper trains at 50 and 100 nodes
  set_network(recipe);
  if (model == "am") {
    recipe.learning_rate = pupo && large ? 1.5e-4 : 1e-4;
  } else if (model == "pointerformer") {
    recipe.epochs = 500;
    recipe.steps = 1563;  // 100,000 instances; the original's last batch is half full
    recipe.batch = 64;
    recipe.tours = nodes;
    recipe.learning_rate = pupo && large ? 1.7e-4 : 1e-4;
    recipe.weight_decay = 1e-6;
    recipe.clip_norm = 0;
    recipe.baseline = "shared";
    recipe.normalise_advantage = true;
  } else {
    recipe.epochs = 250;
    recipe.steps = 300;
    recipe.batch = 8;
    recipe.copies = 16;
    recipe.optimizer = "adamw";
    recipe.learning_rate = pupo ? (large ? 1.2e-4 : 1.1e-4) : 1e-4;
    recipe.learning_rate_decay = 0.99;
    recipe.weight_decay = 0.01;
    recipe.clip_norm = 0;
    recipe.baseline = "gated";
    recipe.baseline_instances = 640;
    recipe.log_steps = 10;
    recipe.validation_instances = 200;
  }
  return recipe;
}

std::string recipe_text(const Recipe& recipe) {
  std::string text;
  for (const RecipeField& field : recipe_fields()) {
    text += fmt::format("{:<32}# {}\n", fmt::format("{} = {}", field.key, field_text(recipe, field)), field.help);
  }
  return text;
}

Recipe parse_recipe(std::string_view text, const std::string& source) {
  const std::vector<Assignment> assignments = read_assignments(text, source);
  // Model, nodes and method decide the values of all that is not there.
  Recipe named;
  for (const Assignment& a : assignments) set_field(named, *a.field, a.value, a.where);
  Recipe recipe = paper_recipe(named.model, named.nodes, named.method);
  for (const Assignment& a : assignments) set_field(recipe, *a.field, a.value, a.where);
  check_recipe(recipe);
  return recipe;
}

void check_recipe(const Recipe& recipe) {
  const bool chooses_start = recipe.model == "am";
  if (recipe.embedding_dim % recipe.num_heads != 0) {
    throw InputError(fmt::format("num_heads is {}, but must divide embedding_dim, which is {}", recipe.num_heads,
                                 recipe.embedding_dim));
  }
  if (!chooses_start && recipe.tours > recipe.nodes) {
    throw InputError(fmt::format("tours is {}, but there are only {} nodes to start from", recipe.tours, recipe.nodes));
  }
  if (recipe.baseline == "shared" && recipe.tours < 2) {
    throw InputError("baseline is shared, which compares the tours of an instance, so that tours must be at least 2");
  }
  if (recipe.model == "invit" &&
      *std::min_element(recipe.state_views.begin(), recipe.state_views.end()) < recipe.action_view) {
    throw InputError(fmt::format("state_views are {}, but none may be below action_view, which is {}",
                                 fmt::join(recipe.state_views, ", "), recipe.action_view));
  }
  if (recipe.method == "pupo" && recipe.weights == "none") {
    throw InputError("method is pupo, but weights is none; choose weights = paper or authors, or method = vanilla");
  }
  if (recipe.method == "vanilla" && recipe.weights != "none") {
    throw InputError(fmt::format("method is vanilla, which has no weights, but weights is {}; choose method = pupo",
                                 recipe.weights));
  }
  if (recipe.method != "teacher" && !recipe.data.empty()) {
    throw InputError(
        fmt::format("data is {}, but only method = teacher learns from solved instances", quote_input(recipe.data)));
  }
  if (recipe.method == "teacher" && (recipe.copies != 1 || recipe.baseline != "none")) {
    throw InputError(
        fmt::format("method is teacher, which needs copies = 1 and baseline = none, but they are {} and {}",
                    recipe.copies, recipe.baseline));
  }
  if (recipe.method == "teacher" && (recipe.nodes < kMinTaughtNodes || recipe.nodes > SmallTourSearch::kMaxNodes)) {
    throw InputError(fmt::format("nodes is {}, but method = teacher needs {} to {} of them", recipe.nodes,
                                 kMinTaughtNodes, SmallTourSearch::kMaxNodes));
  }
  if (recipe.learning_rate <= 0) throw InputError("learning_rate is 0: nothing would be learned");
}

ModelConfig network_config(const Recipe& r) {
  if (r.model == "am") return AmConfig{r.embedding_dim, r.num_heads, r.num_layers, r.feed_forward_dim, r.tanh_clip};
  if (r.model == "pointerformer") {
    return PointerformerConfig{r.embedding_dim, r.num_heads, r.num_layers, r.feed_forward_dim, r.tanh_clip};
  }
  InvitConfig config;
  config.embedding_dim = r.embedding_dim;
  config.num_heads = r.num_heads;
  config.feed_forward_dim = r.feed_forward_dim;
  config.num_state_layers = r.num_layers;
  config.num_action_layers = r.num_action_layers;
  config.action_view = r.action_view;
  config.state_views = r.state_views;
  config.aggregate_whole_graph = r.aggregate_whole_graph;
  config.tanh_clip = r.tanh_clip;
  return config;
}

kernels::Precision product_precision(const Recipe& recipe) {
  return kernels::parse_precision(recipe.precision);
}

}  // namespace puretour::train
