// The safetensors container: named arrays of numbers and a few lines of text in one file.
//
// Eight bytes (little endian) with the length of a JSON header, the header, then the values of all tensors without
// gaps. See https://github.com/huggingface/safetensors for the format; our writer's files are read by that library.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "puretour/models/tensor.h"

namespace puretour {

enum class Dtype : std::uint8_t { kF32, kF64, kI64, kU8 };

/// "F32", "F64", "I64", "U8": the names in the header.
std::string_view dtype_name(Dtype dtype);
std::size_t dtype_size(Dtype dtype);

/// A tensor as it lies in the file; the values are little endian.
struct StoredTensor {
  Dtype dtype = Dtype::kF32;
  Shape shape;
  std::string bytes;
  bool operator==(const StoredTensor&) const = default;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;
  bool has_checksum = false;  // set by parse_safetensors: there was one, and it fits
};

/// The file's bytes. Under the metadata key "checksum" they carry a digest of all the rest.
std::string format_safetensors(const Safetensors& content);

/// Throws ModelError, with `source` in front, for anything that is not a whole and consistent file. A checksum
/// that is there must fit; with it every altered byte is found.
Safetensors parse_safetensors(std::string_view bytes, const std::string& source);

/// Values as float32. Throws ModelError, with `source` and `name` in front, if they are of another type.
Tensor to_tensor(const StoredTensor& stored, const std::string& name, const std::string& source);
StoredTensor to_stored(const Tensor& tensor);

}  // namespace puretour
