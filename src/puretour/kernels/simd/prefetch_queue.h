// Memory that is needed soon, brought into L2 a few lines at a time while something else is computed:
// rows that come from the third cache or from memory would otherwise be waited for.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

class PrefetchQueue {
 public:
  /// `count` floats that will be read, or written.
  void reads(const float* begin, std::size_t count) { add(begin, count, false); }
  void writes(const float* begin, std::size_t count) { add(begin, count, true); }

  /// The next few lines.
  PURETOUR_INLINE void fetch(std::size_t num_lines) {
    for (std::size_t i = 0; i < num_lines && current_ < num_ranges_; ++i) {
      Range& range = ranges_[current_];
      if (range.written) {
        fetch_to_write(range.next);
      } else {
        __builtin_prefetch(range.next, 0, 2);
      }
      range.next += kLine;
      if (range.next >= range.end) ++current_;
    }
  }

 private:
  static constexpr std::size_t kLine = 64;  // bytes
  static constexpr std::size_t kMaxRanges = 4;

  struct Range {
    const char* next;
    const char* end;
    bool written;
  };

  void add(const float* begin, std::size_t count, bool written) {
    if (count == 0 || num_ranges_ == kMaxRanges) return;  // it is but a hint
    ranges_[num_ranges_++] = {reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(begin + count),
                              written};
  }
  PURETOUR_INLINE static void fetch_to_write(const char* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw (%0)" : : "r"(line));  // the compiler takes another instruction for old CPUs
#else
    __builtin_prefetch(line, 1, 2);
#endif
  }

  Range ranges_[kMaxRanges] = {};
  std::size_t num_ranges_ = 0;
  std::size_t current_ = 0;
};

}  // namespace puretour::kernels
