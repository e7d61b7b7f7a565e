// How a program that trains should treat memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>

namespace puretour::train {

/// Tensors of many megabytes come and go with every step. Given back to the system each time, as is the default, their
/// pages cost as much as the arithmetic on them. For main(): it holds for the whole process.
inline void keep_freed_memory() {
  constexpr int kOneGigabyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kOneGigabyte);
  mallopt(M_TRIM_THRESHOLD, kOneGigabyte);
  // One arena for all threads: those of other threads give memory back whatever the thresholds say, and keep three
  // times as much.
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace puretour::train
