// Memory that kernels keep from call to call: asking for fresh memory each time would take longer than many a kernel,
// and memory that was used just now is still in the cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace puretour::kernels {

/// One object of every type that is asked for. Nobody may keep anything in there when a kernel returns, but for passes
/// of several calls that say so: these end before the thread waits for another.
class Scratch {
 public:
  template <class T>
  T& of() {
    const std::size_t index = index_of<T>();
    if (index >= objects_.size()) objects_.resize(index + 1);
    if (!objects_[index]) objects_[index] = std::make_shared<T>();
    return *static_cast<T*>(objects_[index].get());
  }

  /// That of this thread: its own, unless it was told to use another one.
  static Scratch& current();
  /// Threads that take turns on a processor should share one: what the last one left in the cache serves the next one.
  /// It must outlive its use, and only one thread may use it at a time. Null: this thread's own again.
  static void use(Scratch* other);

 private:
  static std::size_t next_index();
  template <class T>
  static std::size_t index_of() {
    static const std::size_t index = next_index();
    return index;
  }

  std::vector<std::shared_ptr<void>> objects_;
};

template <class T>
T& scratch() {
  return Scratch::current().of<T>();
}

}  // namespace puretour::kernels
