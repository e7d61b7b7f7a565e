// SPDX-License-Identifier: MIT
#include "puretour/models/config.h"

#include <set>

#include "models/model_checks.h"

namespace puretour {
namespace {

using test::expect_model_error;

InvitConfig invit(std::vector<std::size_t> views, std::size_t action_layers = 2) {
  InvitConfig config;
  config.state_views = std::move(views);
  config.num_action_layers = action_layers;
  return config;
}

TEST(ModelConfig, HasTheWeightsOfTheOriginals) {
  struct Case {
    ModelConfig config;
    std::size_t num_tensors;
    std::size_t num_parameters;
  };
  // Counts of the published programs; their integer counters of batches are left out.
  const std::vector<Case> cases = {{AmConfig{}, 55, 708'608},
                                   {PointerformerConfig{}, 104 - 12, 1'288'064},
                                   {invit({35}), 98, 1'190'272},
                                   {invit({35, 50}), 132, 1'718'528},
                                   {invit({35, 50}, 4), 160, 2'114'560}};
  for (const Case& c : cases) {
    const auto specs = weight_specs(c.config);
    std::set<std::string> names;
    for (const WeightSpec& spec : specs) names.insert(spec.name);
    EXPECT_EQ(names.size(), specs.size());
    EXPECT_EQ(specs.size(), c.num_tensors) << architecture_name(c.config);
    EXPECT_EQ(num_parameters(c.config), c.num_parameters) << architecture_name(c.config);
  }
}

TEST(ModelConfig, IsReadBackAsItWasWritten) {
  InvitConfig odd = invit({20, 30, 40}, 3);
  odd.aggregate_whole_graph = true;
  odd.tanh_clip = 7.25;
  for (const ModelConfig& config :
       {ModelConfig(AmConfig{64, 4, 2, 100, 8}), ModelConfig(PointerformerConfig{}), ModelConfig(odd)}) {
    EXPECT_EQ(parse_model_config(model_config_text(config), "file"), config);
  }
}

TEST(ModelConfig, SaysWhatIsWrong) {
  const auto expect = [](std::string text, const std::string& from, const std::string& to, const std::string& message) {
    text.replace(text.find(from), from.size(), to);
    expect_model_error([&] { (void)parse_model_config(text, "file"); }, message);
  };
  const std::string am = model_config_text(AmConfig{});
  expect(am, "\"am\"", "\"rnn\"",
         "file: model configuration: architecture 'rnn' is not one of am, pointerformer, invit");
  expect(am, "\"num_heads\":8,", "", "num_heads is missing");
  expect(am, "\"num_heads\":8", "\"num_heads\":8,\"extra\":1", "'extra' is unknown");
  expect(am, "\"num_heads\":8", "\"num_heads\":0", "num_heads is 0, not a whole number from 1");
  expect(am, "\"num_heads\":8", "\"num_heads\":7", "embedding_dim 128 is no multiple of num_heads 7");
  expect(am, "\"num_layers\":3", "\"num_layers\":100000000000", "not a whole number from 1 to 1000");
  expect(am, "10.0", "-1", "tanh_clip is -1");
  expect(am, "{", "[", "no JSON object");
  const std::string views = model_config_text(InvitConfig{});
  expect(views, "[35]", "[35,10]", "state view 10 is smaller than action_view 15");
  expect(views, "[35]", "[]", "state_views is []");
  expect(views, "false", "0", "not true or false");
}

}  // namespace
}  // namespace puretour
