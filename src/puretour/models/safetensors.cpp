// SPDX-License-Identifier: MIT
#include "puretour/models/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "puretour/base/error.h"
#include "puretour/base/sha256.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

using Json = nlohmann::ordered_json;

constexpr const char* kMetadataKey = "__metadata__";
constexpr const char* kChecksumKey = "checksum";
constexpr std::string_view kChecksumKind = "sha256:";
constexpr std::size_t kLengthBytes = 8;
// The limit of the format's own library: a larger number is a damaged file.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
// Values start at a multiple of this, so that a mapped file can be used in place.
constexpr std::size_t kAlignment = 8;

struct DtypeEntry {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DtypeEntry, 4> kDtypes = {
    {{Dtype::kF64, "F64", 8}, {Dtype::kI64, "I64", 8}, {Dtype::kF32, "F32", 4}, {Dtype::kU8, "U8", 1}}};

const DtypeEntry& entry_of(Dtype dtype) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.dtype == dtype) return entry;
  }
  throw InternalError("unknown dtype");
}

// What the checksum covers: the header without it, and the values.
std::string digest(Json header, std::string_view values) {
  header[kMetadataKey].erase(kChecksumKey);
  Sha256 hash;
  hash.update(header.dump());
  hash.update(values);
  return std::string(kChecksumKind) + hash.hex_digest();
}

std::string padded(std::string header_text) {
  header_text.resize((header_text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return header_text;
}

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  Safetensors parse() {
    read_header();
    Safetensors result;
    result.metadata = read_metadata();
    read_tensors(result);
    check_digest(result);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", source_, what)); }

  void read_header() {
    if (bytes_.size() < kLengthBytes) {
      fail(fmt::format("{} bytes are no safetensors file; it is truncated, or another kind of file", bytes_.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), kLengthBytes);
    if (length > kMaxHeaderBytes || kLengthBytes + length > bytes_.size()) {
      fail(fmt::format("the header should have {} bytes, but {} follow; no safetensors file, or a truncated one",
                       length, bytes_.size() - kLengthBytes));
    }
    header_text_ = bytes_.substr(kLengthBytes, length);
    values_ = bytes_.substr(kLengthBytes + length);
    header_ = parse_json(header_text_);
    if (!header_.is_object()) fail("the header is no JSON object");
  }

  // The JSON library keeps one of two equal keys in silence; here they are an error.
  [[nodiscard]] Json parse_json(std::string_view text) const {
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        repeated = value.get<std::string>();
      }
      return true;
    };
    Json result;
    try {
      result = Json::parse(text, watch);
    } catch (const Json::exception&) {
      fail("the header is no valid JSON; the file is damaged, or of another kind");
    }
    if (!repeated.empty()) fail(fmt::format("the header has {} twice", quote_input(repeated)));
    return result;
  }

  [[nodiscard]] std::map<std::string, std::string> read_metadata() const {
    std::map<std::string, std::string> metadata;
    if (!header_.contains(kMetadataKey)) return metadata;
    const Json& entries = header_[kMetadataKey];
    if (!entries.is_object()) fail("the metadata are no JSON object");
    for (const auto& [key, value] : entries.items()) {
      if (!value.is_string()) fail(fmt::format("metadata {}: not a text", quote_input(key)));
      metadata[key] = value.get<std::string>();
    }
    return metadata;
  }

  void read_tensors(Safetensors& result) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [name, entry] : header_.items()) {
      if (name == kMetadataKey) continue;
      const auto [begin, end] = read_tensor(name, entry, result);
      if (begin != end) ranges.emplace_back(begin, end);
    }
    std::sort(ranges.begin(), ranges.end());
    std::uint64_t next = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin != next) fail(fmt::format("the values of two tensors overlap or leave a gap at byte {}", next));
      next = end;
    }
    if (next != values_.size()) {
      fail(fmt::format("the tensors end at byte {} of the values, but there are {}; bytes were lost or added", next,
                       values_.size()));
    }
  }

  std::pair<std::uint64_t, std::uint64_t> read_tensor(const std::string& name, const Json& entry,
                                                      Safetensors& result) const {
    const auto complain = [&](const std::string& what) { fail(fmt::format("tensor {}: {}", quote_input(name), what)); };
    if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry.contains("data_offsets") || !entry["dtype"].is_string() || !is_list_of_counts(entry["shape"]) ||
        !is_list_of_counts(entry["data_offsets"]) || entry["data_offsets"].size() != 2) {
      complain("the entry must have dtype, shape and data_offsets, and nothing else");
    }
    const std::string dtype = entry["dtype"].get<std::string>();
    const auto* known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& e) { return e.name == dtype; });
    if (known == kDtypes.end()) complain(fmt::format("dtype {} is not one of F32, F64, I64, U8", quote_input(dtype)));
    StoredTensor tensor;
    tensor.dtype = known->dtype;
    std::uint64_t size = known->size;
    bool empty = false;
    for (const Json& dimension : entry["shape"]) {
      tensor.shape.push_back(dimension.get<std::size_t>());
      if (tensor.shape.back() == 0) {
        empty = true;
      } else if (size > values_.size() / tensor.shape.back()) {
        complain(fmt::format("shape {} does not fit into the file", entry["shape"].dump()));
      } else {
        size *= tensor.shape.back();
      }
    }
    if (empty) size = 0;
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > values_.size()) {
      complain(
          fmt::format("its values should end at byte {}, but the file has {}; it is truncated", end, values_.size()));
    }
    if (end - begin != size) {
      complain(
          fmt::format("shape {} of {} needs {} bytes, but has {}", shape_text(tensor.shape), dtype, size, end - begin));
    }
    tensor.bytes = values_.substr(begin, size);
    result.tensors.emplace(name, std::move(tensor));
    return {begin, end};
  }

  static bool is_list_of_counts(const Json& value) {
    return value.is_array() &&
           std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number_unsigned(); });
  }

  void check_digest(Safetensors& result) const {
    const auto stored = result.metadata.extract(kChecksumKey);
    if (stored.empty()) return;
    // Our own writer's form, byte for byte, so that not even a blank can change.
    if (padded(header_.dump()) != header_text_ || stored.mapped() != digest(header_, values_)) {
      fail("the checksum does not fit: the file was altered after it was written; get it again");
    }
    result.has_checksum = true;
  }

  std::string_view bytes_;
  const std::string& source_;
  std::string_view header_text_;
  std::string_view values_;
  Json header_;
};

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return entry_of(dtype).name;
}

std::size_t dtype_size(Dtype dtype) {
  return entry_of(dtype).size;
}

std::string format_safetensors(const Safetensors& content) {
  // Wide types first, so that every tensor is aligned to its own type.
  std::vector<std::pair<const std::string*, const StoredTensor*>> order;
  order.reserve(content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) order.emplace_back(&name, &tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return dtype_size(a.second->dtype) > dtype_size(b.second->dtype);
  });
  Json header;
  header[kMetadataKey] = Json::object();
  for (const auto& [key, value] : content.metadata) {
    if (key != kChecksumKey) header[kMetadataKey][key] = value;
  }
  std::string values;
  for (const auto& [name, tensor] : order) {
    if (num_values(tensor->shape) * dtype_size(tensor->dtype) != tensor->bytes.size()) {
      throw InternalError(fmt::format("tensor {}: the number of bytes does not fit its shape", *name));
    }
    header[*name] = {{"dtype", std::string(dtype_name(tensor->dtype))},
                     {"shape", tensor->shape},
                     {"data_offsets", {values.size(), values.size() + tensor->bytes.size()}}};
    values += tensor->bytes;
  }
  header[kMetadataKey][kChecksumKey] = digest(header, values);
  const std::string text = padded(header.dump());
  const std::uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes + text + values;
}

Safetensors parse_safetensors(std::string_view bytes, const std::string& source) {
  return Parser(bytes, source).parse();
}

Tensor to_tensor(const StoredTensor& stored, const std::string& name, const std::string& source) {
  if (stored.dtype != Dtype::kF32) {
    throw ModelError(fmt::format("{}: tensor {}: dtype is {}, but F32 is needed", source, quote_input(name),
                                 dtype_name(stored.dtype)));
  }
  Tensor tensor{stored.shape, std::vector<float>(num_values(stored.shape))};
  if (!tensor.values.empty()) std::memcpy(tensor.values.data(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

StoredTensor to_stored(const Tensor& tensor) {
  StoredTensor stored{Dtype::kF32, tensor.shape, std::string(tensor.values.size() * sizeof(float), '\0')};
  if (!tensor.values.empty()) std::memcpy(stored.bytes.data(), tensor.values.data(), stored.bytes.size());
  return stored;
}

}  // namespace puretour
