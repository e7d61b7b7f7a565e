// SPDX-License-Identifier: MIT
#include "puretour/models/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

using Json = nlohmann::ordered_json;

// Far above every published model; keeps sizes computed from a damaged file small.
constexpr std::size_t kMaxDim = 1 << 16;
constexpr std::size_t kMaxLayers = 1000;

template <typename Config>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<AmConfig> = "am";
template <>
constexpr const char* kName<PointerformerConfig> = "pointerformer";
template <>
constexpr const char* kName<InvitConfig> = "invit";

// The one list of fields that writing, reading and checking share: visit(key, member, largest value).
template <typename Config, typename Visitor>
void for_each_field(Config& config, const Visitor& visit) {
  using Plain = std::remove_const_t<Config>;
  visit("embedding_dim", config.embedding_dim, kMaxDim);
  visit("num_heads", config.num_heads, kMaxDim);
  visit("feed_forward_dim", config.feed_forward_dim, kMaxDim);
  if constexpr (std::is_same_v<Plain, InvitConfig>) {
    visit("num_state_layers", config.num_state_layers, kMaxLayers);
    visit("num_action_layers", config.num_action_layers, kMaxLayers);
    visit("action_view", config.action_view, kMaxDim);
    visit("state_views", config.state_views, kMaxDim);
    visit("aggregate_whole_graph", config.aggregate_whole_graph, std::size_t{1});
    visit("local_mask", config.local_mask, std::size_t{1});
  } else {
    visit("num_layers", config.num_layers, kMaxLayers);
  }
  visit("tanh_clip", config.tanh_clip, kMaxDim);
}

class Reader {
 public:
  Reader(const Json& json, const std::string& source) : json_(json), source_(source) {}

  template <typename Config>
  Config read() {
    Config config;
    std::size_t num_fields = 1;  // architecture
    for_each_field(config, [&](const char* key, auto& member, std::size_t largest) {
      if (!json_.contains(key)) fail(fmt::format("{} is missing", key));
      get(key, json_[key], member, largest);
      ++num_fields;
    });
    if (num_fields != json_.size()) {
      for (const auto& item : json_.items()) {
        const std::string& key = item.key();
        bool known = key == "architecture";
        for_each_field(config, [&](const char* field, auto&, std::size_t) { known = known || key == field; });
        if (!known) fail(fmt::format("{} is unknown; the file may be from a newer version", quote_input(key)));
      }
    }
    check(config);
    return config;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ModelError(fmt::format("{}: model configuration: {}", source_, what));
  }

 private:
  void get(const char* key, const Json& value, std::size_t& member, std::size_t largest) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > largest) {
      fail(fmt::format("{} is {}, not a whole number from 1 to {}", key, value.dump(), largest));
    }
    member = value.get<std::size_t>();
  }
  void get(const char* key, const Json& value, double& member, std::size_t largest) const {
    if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > static_cast<double>(largest)) {
      fail(fmt::format("{} is {}, not a number above 0 and up to {}", key, value.dump(), largest));
    }
    member = value.get<double>();
  }
  void get(const char* key, const Json& value, bool& member, std::size_t /*largest*/) const {
    if (!value.is_boolean()) fail(fmt::format("{} is {}, not true or false", key, value.dump()));
    member = value.get<bool>();
  }
  void get(const char* key, const Json& value, std::vector<std::size_t>& member, std::size_t largest) const {
    if (!value.is_array() || value.empty()) fail(fmt::format("{} is {}, not a list", key, value.dump()));
    member.clear();
    for (const Json& item : value) get(key, item, member.emplace_back(), largest);
  }

  template <typename Config>
  void check(const Config& config) const {
    if (config.embedding_dim % config.num_heads != 0) {
      fail(fmt::format("embedding_dim {} is no multiple of num_heads {}", config.embedding_dim, config.num_heads));
    }
    if constexpr (std::is_same_v<Config, InvitConfig>) {
      for (const std::size_t view : config.state_views) {
        if (view < config.action_view) {
          fail(fmt::format("state view {} is smaller than action_view {}", view, config.action_view));
        }
      }
    }
  }

  const Json& json_;
  const std::string& source_;
};

// Collects weights under a prefix.
class SpecList {
 public:
  void add(const std::string& name, Shape shape, WeightRole role) { specs_.push_back({name, std::move(shape), role}); }

  /// y = x W^T (+ b), W stored [out, in].
  void add_linear(const std::string& name, std::size_t out, std::size_t in, bool bias) {
    add(name + ".weight", {out, in}, WeightRole::kMatrix);
    if (bias) add(name + ".bias", {out}, WeightRole::kBias);
  }
  void add_layer_norm(const std::string& name, std::size_t dim) {
    add(name + ".weight", {dim}, WeightRole::kScale);
    add(name + ".bias", {dim}, WeightRole::kShift);
  }
  void add_batch_norm(const std::string& name, std::size_t dim) {
    add_layer_norm(name, dim);
    add(name + ".running_mean", {dim}, WeightRole::kRunningMean);
    add(name + ".running_var", {dim}, WeightRole::kRunningVar);
  }

  std::vector<WeightSpec> take() { return std::move(specs_); }

 private:
  std::vector<WeightSpec> specs_;
};

void add_weights(SpecList& list, const AmConfig& c) {
  const std::size_t d = c.embedding_dim;
  const std::size_t head_dim = d / c.num_heads;
  list.add("W_placeholder", {2 * d}, WeightRole::kPlaceholder);
  list.add_linear("init_embed", d, 2, true);
  for (std::size_t l = 0; l < c.num_layers; ++l) {
    const std::string layer = fmt::format("embedder.layers.{}.", l);
    for (const char* name : {"W_query", "W_key", "W_val"}) {
      list.add(layer + "0.module." + name, {c.num_heads, d, head_dim}, WeightRole::kMatrix);
    }
    list.add(layer + "0.module.W_out", {c.num_heads, head_dim, d}, WeightRole::kMatrix);
    list.add_batch_norm(layer + "1.normalizer", d);
    list.add_linear(layer + "2.module.0", c.feed_forward_dim, d, true);
    list.add_linear(layer + "2.module.2", d, c.feed_forward_dim, true);
    list.add_batch_norm(layer + "3.normalizer", d);
  }
  list.add_linear("project_node_embeddings", 3 * d, d, false);
  list.add_linear("project_fixed_context", d, d, false);
  list.add_linear("project_step_context", d, 2 * d, false);
  list.add_linear("project_out", d, d, false);
}

void add_weights(SpecList& list, const PointerformerConfig& c) {
  const std::size_t d = c.embedding_dim;
  constexpr std::size_t kFeatures = 24;  // eight angles and eight pairs of coordinates
  list.add_linear("encoder.init_projection_layer", d, kFeatures, true);
  for (std::size_t l = 0; l < c.num_layers; ++l) {
    const std::string block = fmt::format("encoder.sequence.reversible_blocks.{}.", l);
    list.add_batch_norm(block + "f_block.mixing_layer_norm", d);
    list.add(block + "f_block.mha.in_proj_weight", {3 * d, d}, WeightRole::kMatrix);
    list.add_linear(block + "f_block.mha.out_proj", d, d, false);
    list.add_linear(block + "g_block.feed_forward", c.feed_forward_dim, d, true);
    list.add_linear(block + "g_block.output_dense", d, c.feed_forward_dim, true);
    list.add_batch_norm(block + "g_block.output_layer_norm", d);
  }
  for (const char* name : {"Wq_graph", "Wq_first", "Wq_last", "wq", "W_visited", "Wk"}) {
    list.add_linear(std::string("decoder.") + name, d, d, false);
  }
}

void add_invit_encoder(SpecList& list, const std::string& prefix, std::size_t num_layers, const InvitConfig& c) {
  const std::size_t d = c.embedding_dim;
  for (std::size_t l = 0; l < num_layers; ++l) {
    const std::string attention = fmt::format("{}encoder.MHA_layers.{}.", prefix, l);
    for (const char* name : {"w_qs", "w_ks", "w_vs", "fc"}) list.add_linear(attention + name, d, d, false);
    list.add_layer_norm(attention + "layer_norm", d);
  }
  const auto each_layer = [&](const char* name, const auto& add) {
    for (std::size_t l = 0; l < num_layers; ++l) add(fmt::format("{}encoder.{}.{}", prefix, name, l));
  };
  each_layer("linear1_layers", [&](const std::string& name) { list.add_linear(name, c.feed_forward_dim, d, true); });
  each_layer("linear2_layers", [&](const std::string& name) { list.add_linear(name, d, c.feed_forward_dim, true); });
  each_layer("norm1_layers", [&](const std::string& name) { list.add_layer_norm(name, d); });
  each_layer("norm2_layers", [&](const std::string& name) { list.add_layer_norm(name, d); });
}

void add_weights(SpecList& list, const InvitConfig& c) {
  const std::size_t d = c.embedding_dim;
  const std::size_t num_states = c.state_views.size();
  for (std::size_t i = 0; i < num_states; ++i) {
    const std::string prefix = fmt::format("state_encoders.{}.", i);
    for (const char* name : {"input_emb", "input_emb_for_last", "input_emb_for_first"}) {
      list.add_linear(prefix + name, d, 2, true);
    }
    if (c.aggregate_whole_graph) list.add_linear(prefix + "agg_emb", d, 2, true);
    add_invit_encoder(list, prefix, c.num_state_layers, c);
  }
  for (const char* name : {"input_emb", "input_emb_for_last"}) {
    list.add_linear(std::string("action_encoder.") + name, d, 2, true);
  }
  add_invit_encoder(list, "action_encoder.", c.num_action_layers, c);
  for (std::size_t l = 0; l < 2; ++l) {  // the decoder has two layers in every version
    const std::string layer = fmt::format("decoder.decoder_layers.{}.", l);
    for (const char* name : {"W0_att", "Wq_att", "W1_MLP", "W2_MLP"}) list.add_linear(layer + name, d, d, true);
    list.add_layer_norm(layer + "BN_att", d);
    list.add_layer_norm(layer + "BN_MLP", d);
  }
  list.add_linear("decoder.Wq_final", d, d, true);
  list.add_linear("WK_att_decoder", 3 * d, d * (num_states + 1), true);
  list.add_linear("WV_att_decoder", 3 * d, d * (num_states + 1), true);
  list.add_linear("query_mlp", d, d * (2 * num_states + 1), true);
}

}  // namespace

std::string_view architecture_name(const ModelConfig& config) {
  return std::visit([](const auto& c) { return kName<std::decay_t<decltype(c)>>; }, config);
}

std::string model_config_text(const ModelConfig& config) {
  Json json;
  json["architecture"] = std::string(architecture_name(config));
  std::visit(
      [&](const auto& c) {
        for_each_field(c, [&](const char* key, auto& member, std::size_t) { json[key] = member; });
      },
      config);
  return json.dump();
}

ModelConfig parse_model_config(std::string_view text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  Reader reader(json, source);
  if (!json.is_object() || !json.contains("architecture") || !json["architecture"].is_string()) {
    reader.fail("no JSON object with an architecture");
  }
  const std::string name = json["architecture"].get<std::string>();
  if (name == kName<AmConfig>) return reader.read<AmConfig>();
  if (name == kName<PointerformerConfig>) return reader.read<PointerformerConfig>();
  if (name == kName<InvitConfig>) return reader.read<InvitConfig>();
  reader.fail(fmt::format("architecture {} is not one of am, pointerformer, invit", quote_input(name)));
}

std::vector<WeightSpec> weight_specs(const ModelConfig& config) {
  SpecList list;
  std::visit([&](const auto& c) { add_weights(list, c); }, config);
  return list.take();
}

std::size_t num_parameters(const ModelConfig& config) {
  std::size_t count = 0;
  for (const WeightSpec& spec : weight_specs(config)) {
    if (spec.role != WeightRole::kRunningMean && spec.role != WeightRole::kRunningVar) count += num_values(spec.shape);
  }
  return count;
}

}  // namespace puretour
