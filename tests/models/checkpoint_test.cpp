// SPDX-License-Identifier: MIT
#include "puretour/models/checkpoint.h"

#include <limits>

#include "models/model_checks.h"
#include "puretour/models/safetensors.h"

namespace puretour {
namespace {

using test::expect_model_error;
using test::tiny_checkpoint;

InvitConfig tiny_invit() {
  InvitConfig config;
  config.embedding_dim = 4;
  config.num_heads = 2;
  config.feed_forward_dim = 3;
  return config;
}

TEST(Checkpoint, IsReadBackAsItWasWritten) {
  for (const ModelConfig& config : {ModelConfig(AmConfig{4, 2, 2, 3, 10}),
                                    ModelConfig(PointerformerConfig{4, 2, 1, 3, 50}), ModelConfig(tiny_invit())}) {
    const Checkpoint checkpoint = tiny_checkpoint(config);
    const Checkpoint read = parse_checkpoint(format_checkpoint(checkpoint), "file");
    EXPECT_EQ(read.config, checkpoint.config);
    EXPECT_EQ(read.weights, checkpoint.weights);
    EXPECT_EQ(read.notes, checkpoint.notes);
  }
}

TEST(Checkpoint, IsRefusedAfterAnyFlippedBit) {
  const std::string bytes = format_checkpoint(tiny_checkpoint());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_THROW((void)parse_checkpoint(damaged, "file"), ModelError) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(Checkpoint, IsRefusedWhenBytesAreMissingOrAdded) {
  const std::string bytes = format_checkpoint(tiny_checkpoint());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_THROW((void)parse_checkpoint(bytes.substr(0, size), "file"), ModelError) << size;
    ASSERT_THROW((void)parse_checkpoint(bytes.substr(0, size) + ' ' + bytes.substr(size), "file"), ModelError) << size;
  }
}

TEST(Checkpoint, SaysExactlyWhatDiffers) {
  const Checkpoint good = tiny_checkpoint();
  const auto expect = [&](const auto& change, const std::string& message) {
    Checkpoint bad = good;
    change(bad.weights);
    expect_model_error([&] { check_weights(bad.config, bad.weights, "file"); }, message);
    expect_model_error([&] { (void)format_checkpoint(bad); }, message);
  };
  expect([](TensorMap& w) { w.erase("project_out.weight"); }, "project_out.weight (2x2) is missing");
  expect([](TensorMap& w) { w["more"] = {{3}, {1, 2, 3}}; }, "'more' (3) is unknown");
  expect([](TensorMap& w) { w["W_placeholder"] = {{1, 4}, {1, 2, 3, 4}}; }, "W_placeholder is 1x4, should be 4");
  expect([](TensorMap& w) { w["W_placeholder"].values[2] = std::numeric_limits<float>::quiet_NaN(); },
         "W_placeholder[2] is nan");
  expect([](TensorMap& w) { w["init_embed.bias"].values[1] = -std::numeric_limits<float>::infinity(); },
         "init_embed.bias[1] is -inf");
  expect([](TensorMap& w) { w["embedder.layers.0.1.normalizer.running_var"].values[0] = -1; }, "a negative variance");
  expect([](TensorMap& w) { w.clear(); }, "and 17 more");
}

TEST(Checkpoint, OtherFilesAreRefusedWithAHint) {
  expect_model_error([] { (void)parse_checkpoint("#!/bin/sh\necho hello world\n", "file"); }, "no safetensors file");
  Safetensors foreign;
  foreign.tensors["w"] = to_stored({{1}, {1}});
  expect_model_error([&] { (void)parse_checkpoint(format_safetensors(foreign), "file"); }, "puretour models import");
  foreign.metadata = {{"puretour_checkpoint", "2"}, {"model", "{}"}};
  expect_model_error([&] { (void)parse_checkpoint(format_safetensors(foreign), "file"); }, "checkpoint version '2'");
  EXPECT_THROW((void)read_checkpoint("/no/such/file"), InputError);
}

}  // namespace
}  // namespace puretour
