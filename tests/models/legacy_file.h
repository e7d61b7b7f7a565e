// Files of tensors as PyTorch wrote them before version 1.6.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "puretour/models/tensor.h"

namespace puretour::test {

using namespace std::string_literals;

class LegacyFile {
 public:
  explicit LegacyFile(const TensorMap& tensors) {
    for (const auto& [name, tensor] : tensors) {
      const std::string key = fmt::format("key{}", keys_.size());
      object_ += text(name) + "ctorch._utils\n_rebuild_tensor\n((" + text("storage") + "ctorch\nFloatStorage\n" +
                 text(key) + text("cpu") + integer(tensor.values.size()) + "NtQK\0"s;
      object_ += "(";
      for (const std::size_t size : tensor.shape) object_ += integer(size);
      object_ += "t(";
      for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        std::size_t stride = 1;
        for (std::size_t j = i + 1; j < tensor.shape.size(); ++j) stride *= tensor.shape[j];
        object_ += integer(stride);
      }
      object_ += "ttR";
      keys_.push_back(key);
      std::string storage(8 + tensor.values.size() * 4, '\0');
      const std::uint64_t count = tensor.values.size();
      std::memcpy(storage.data(), &count, 8);
      std::memcpy(storage.data() + 8, tensor.values.data(), tensor.values.size() * 4);
      storages_ = storages_ + storage;
    }
  }

  /// With `extra` instructions at the end of the dictionary's pickle.
  [[nodiscard]] std::string bytes(const std::string& extra = "") const {
    std::string result = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s + "\x80\x02M\xe9\x03."s +
                         "\x80\x02}q\0X\x04\0\0\0longK\x04s."s;
    result += "\x80\x02}"s + text("model") + "ccollections\nOrderedDict\n)R(" + object_ + "us" + extra + ".";
    result += "\x80\x02](";
    for (const std::string& key : keys_) result += text(key);
    return result + "e." + storages_;
  }

  static std::string text(const std::string& content) {
    std::string result = "X....";
    const auto length = static_cast<std::uint32_t>(content.size());
    std::memcpy(result.data() + 1, &length, 4);
    return result + content;
  }
  static std::string integer(std::size_t number) {
    std::string result = "J....";
    const auto value = static_cast<std::int32_t>(number);
    std::memcpy(result.data() + 1, &value, 4);
    return result;
  }

 private:
  std::string object_;
  std::string storages_;
  std::vector<std::string> keys_;
};

}  // namespace puretour::test
