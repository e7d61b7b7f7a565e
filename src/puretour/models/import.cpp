// SPDX-License-Identifier: MIT
#include "puretour/models/import.h"

#include <fmt/format.h>

#include "puretour/base/error.h"
#include "puretour/base/sha256.h"
#include "puretour/models/legacy_torch.h"
#include "puretour/models/safetensors.h"

namespace puretour {
namespace {

TensorMap read_tensors(std::string_view bytes, const std::string& source) {
  // A pickle begins with its PROTO instruction; a zip archive gets its message there, too.
  if (bytes.starts_with('\x80') || bytes.starts_with("PK")) return parse_legacy_torch(bytes, "model", source);
  TensorMap tensors;
  for (const auto& [name, stored] : parse_safetensors(bytes, source).tensors) {
    if (stored.dtype != Dtype::kI64) tensors[name] = to_tensor(stored, name, source);  // counters: see legacy_torch.cpp
  }
  return tensors;
}

AmConfig config_from_shapes(const TensorMap& tensors, double tanh_clip, const std::string& source) {
  const auto shape_of = [&](const std::string& name, std::size_t rank) -> const Shape& {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw ModelError(fmt::format("{}: no attention model: {} is missing", source, name));
    }
    if (found->second.shape.size() != rank) {
      throw ModelError(fmt::format("{}: no attention model: {} is {}, but should have {} dimensions", source, name,
                                   shape_text(found->second.shape), rank));
    }
    return found->second.shape;
  };
  AmConfig config;
  config.embedding_dim = shape_of("init_embed.weight", 2)[0];
  config.num_heads = shape_of("embedder.layers.0.0.module.W_query", 3)[0];
  config.feed_forward_dim = shape_of("embedder.layers.0.2.module.0.weight", 2)[0];
  config.num_layers = 0;
  while (tensors.contains(fmt::format("embedder.layers.{}.0.module.W_query", config.num_layers))) ++config.num_layers;
  config.tanh_clip = tanh_clip;
  // The same checks as for a configuration in a file.
  (void)parse_model_config(model_config_text(config), source);
  return config;
}

}  // namespace

Checkpoint import_kool(std::string_view bytes, const std::string& source, double tanh_clip) {
  Checkpoint checkpoint;
  checkpoint.weights = read_tensors(bytes, source);
  checkpoint.config = config_from_shapes(checkpoint.weights, tanh_clip, source);
  check_weights(checkpoint.config, checkpoint.weights, source);
  checkpoint.notes["imported_from"] = "wouterkool/attention-learn-to-route";
  checkpoint.notes["imported_sha256"] = sha256_hex(bytes);
  return checkpoint;
}

}  // namespace puretour
