// Memory that begins where a cache line begins. Vectors of the standard library begin anywhere: registers and tiles of
// 64 bytes would then lie across two lines each, which costs up to three times the time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace puretour::kernels {

inline constexpr std::align_val_t kCacheLine{64};

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {
  }  // NOLINT(google-explicit-constructor): as allocators do

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kCacheLine)); }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kCacheLine); }
  friend bool operator==(const CacheLineAllocator& /*a*/, const CacheLineAllocator& /*b*/) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

/// The memory of a vector that has room for `count` values, which is kept from call to call: it never shrinks.
template <class T>
T* ensure_size(AlignedVector<T>& values, std::size_t count) {
  if (values.size() < count) values.resize(count);
  return values.data();
}

}  // namespace puretour::kernels
