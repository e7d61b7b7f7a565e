// The published attention model, and files that try to be more than tensors.
// SPDX-License-Identifier: MIT
#include "puretour/models/import.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "models/legacy_file.h"
#include "models/model_checks.h"
#include "puretour/base/files.h"
#include "puretour/models/legacy_torch.h"
#include "puretour/models/safetensors.h"

namespace puretour {
namespace {

using namespace std::string_literals;
using test::expect_model_error;
using test::LegacyFile;
using test::peer_file;

const TensorMap kTwoTensors = {{"a", {{2, 3}, {1, 2, 3, 4, 5, 6}}}, {"b.c", {{1}, {-7}}}};

TEST(LegacyTorch, TensorsAreRead) {
  EXPECT_EQ(parse_legacy_torch(LegacyFile(kTwoTensors).bytes(), "model", "file"), kTwoTensors);
}

TEST(LegacyTorch, NothingIsExecuted) {
  const LegacyFile file(kTwoTensors);
  const auto expect = [&](const std::string& extra, const std::string& message) {
    expect_model_error([&] { (void)parse_legacy_torch(file.bytes(extra), "model", "file"); }, message);
  };
  // What a malicious file would do: os.system("..."), the same by way of builtins, a class with state, a copied global.
  expect("cposix\nsystem\n" + LegacyFile::text("touch /tmp/x") + "\x85R", "'posix system'");
  expect("c__builtin__\neval\n" + LegacyFile::text("1") + "\x85R", "'__builtin__ eval'");
  expect("ccollections\nOrderedDict\n)R}b", "instruction 0x62");
  expect("\x8c\x02os\x8c\x06system\x93", "instruction 0x8c");
  expect("iposix\nsystem\n", "instruction 0x69");
  expect("ctorch\nFloatStorage\n)R", "cannot be called");
  expect("ccollections\nOrderedDict\n(K\1tR", "an ordered dictionary with arguments");
}

TEST(LegacyTorch, WhatIsWrongIsSaid) {
  const std::string good = LegacyFile(kTwoTensors).bytes();
  const auto expect = [](const std::string& bytes, const std::string& message) {
    expect_model_error([&] { (void)parse_legacy_torch(bytes, "model", "f.pt"); }, message);
  };
  expect("PK\3\4 a zip file", "f.pt: this is the zip format of newer PyTorch");
  expect("hello", "the magic number is missing");
  expect(good + "x", "bytes follow behind the last tensor");
  expect_model_error([&] { (void)parse_legacy_torch(good, "other", "f.pt"); }, "there is no entry 'other'");
  std::string transposed = good;
  const std::string stride = LegacyFile::integer(3) + LegacyFile::integer(1) + "t";
  transposed.replace(transposed.find(stride), stride.size(), LegacyFile::integer(1) + LegacyFile::integer(2) + "t");
  expect(transposed, "not contiguous");
}

TEST(LegacyTorch, EveryTruncationAndRandomDamageIsRefusedOrReadConsistently) {
  const std::string good = LegacyFile(kTwoTensors).bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_THROW((void)parse_legacy_torch(good.substr(0, size), "model", "file"), ModelError) << size;
  }
  Rng rng(5);
  int num_refused = 0;
  constexpr int kMutations = 50'000;
  for (int i = 0; i < kMutations; ++i) {
    std::string damaged = good;
    for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      const std::size_t at = 15 + rng.below(damaged.size() - 15);
      static constexpr std::string_view kInstructions = "\x80\x85\x86\x87\x88(.NJKMX}])taesuqrhjcQR";
      damaged[at] =
          rng.below(2) == 0 ? static_cast<char>(rng.below(256)) : kInstructions[rng.below(kInstructions.size())];
      if (rng.below(4) == 0) damaged.erase(at, rng.below(4));
    }
    try {
      for (const auto& [name, tensor] : parse_legacy_torch(damaged, "model", "file")) {
        ASSERT_EQ(tensor.values.size(), num_values(tensor.shape));
      }
    } catch (const ModelError&) {
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, kMutations / 10);
  EXPECT_LT(num_refused, kMutations);
}

double norm(const Tensor& tensor) {
  double sum = 0;
  for (const float v : tensor.values) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

TEST(ImportKool, PublishedFilesGiveTheirConvertedTensors) {
  if (!test::peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout";
  for (const std::string name : {"am_tsp50", "am_tsp100"}) {
    const Checkpoint checkpoint = import_kool(read_file(peer_file(name + ".pt")), name);
    EXPECT_EQ(checkpoint.config, ModelConfig(AmConfig{}));
    TensorMap converted;
    const std::string path = peer_file(name + ".safetensors");
    for (const auto& [key, stored] : parse_safetensors(read_file(path), path).tensors) {
      converted[key] = to_tensor(stored, key, path);
    }
    EXPECT_EQ(checkpoint.weights.size(), 55U);
    EXPECT_EQ(checkpoint.weights, converted);
    EXPECT_EQ(import_kool(read_file(path), path).weights, converted);
    const Checkpoint read = parse_checkpoint(format_checkpoint(checkpoint), "copy");
    EXPECT_EQ(read.weights, converted);
  }
}

TEST(ImportKool, PublishedTensorsHaveTheirNorms) {
  if (!test::peer_files_are_there()) GTEST_SKIP() << "no published weights beside the checkout";
  const TensorMap w50 = import_kool(read_file(peer_file("am_tsp50.pt")), "50").weights;
  const TensorMap w100 = import_kool(read_file(peer_file("am_tsp100.pt")), "100").weights;
  // Tensors of one shape that a wrong order of the storages would exchange.
  EXPECT_NEAR(norm(w100.at("W_placeholder")), 9.186659, 1e-5);
  EXPECT_NEAR(norm(w100.at("embedder.layers.2.0.module.W_val")), 18.39847, 1e-4);
  EXPECT_NEAR(norm(w100.at("embedder.layers.2.0.module.W_key")), 19.77579, 1e-4);
  EXPECT_NEAR(norm(w100.at("project_out.weight")), 10.53562, 1e-4);
  EXPECT_NEAR(norm(w50.at("embedder.layers.1.0.module.W_out")), 8.137852, 1e-5);
  EXPECT_NEAR(norm(w50.at("embedder.layers.1.1.normalizer.running_var")), 19.11382, 1e-4);
  EXPECT_NEAR(norm(w50.at("project_fixed_context.weight")), 10.14476, 1e-4);
}

TEST(ImportKool, OtherTensorsAreRefused) {
  expect_model_error([] { (void)import_kool(LegacyFile(kTwoTensors).bytes(), "file"); },
                     "no attention model: init_embed.weight is missing");
  TensorMap weights = test::tiny_checkpoint().weights;
  EXPECT_EQ(import_kool(LegacyFile(weights).bytes(), "file").weights, weights);
  weights.erase("project_out.weight");
  expect_model_error([&] { (void)import_kool(LegacyFile(weights).bytes(), "file"); }, "project_out.weight (2x2)");
}

}  // namespace
}  // namespace puretour
