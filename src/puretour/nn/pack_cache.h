// Weights in the form that kernels read, made once for as long as the weights stay as they are.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <utility>

#include "puretour/kernels/gemm/bfloat16.h"

namespace puretour::nn {

/// Shared by networks with the same weights that work on shares of a batch, one thread each.
class PackCache {
 public:
  /// What was made of this type and under this name, or what `make` makes now.
  template <class T>
  std::shared_ptr<const T> get(const std::string& name, const std::function<T()>& make) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const void>& found = packed_[{name, std::type_index(typeid(T))}];
    if (!found) found = std::make_shared<const T>(make());
    return std::static_pointer_cast<const T>(found);
  }
  /// To be called whenever the weights have changed.
  void clear() {
    const std::lock_guard lock(mutex_);
    packed_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::type_index>, std::shared_ptr<const void>> packed_;
};

/// How a kernel gets its weights: rounded to which precision, and from which cache.
struct Packing {
  Packing(kernels::Precision p = kernels::Precision::kFloat) : precision(p) {}  // NOLINT(google-explicit-constructor)
  Packing(kernels::Precision p, PackCache* c, std::string n) : precision(p), cache(c), name(std::move(n)) {}

  kernels::Precision precision;
  PackCache* cache = nullptr;  // null: made for every call
  std::string name;            // of the weights, in the cache

  template <class T>
  [[nodiscard]] std::shared_ptr<const T> get(const std::function<T()>& make) const {
    return cache == nullptr ? std::make_shared<const T>(make()) : cache->get<T>(name, make);
  }
};

}  // namespace puretour::nn
