// SPDX-License-Identifier: MIT
#include "puretour/kernels/simd/scratch.h"

#include <atomic>

namespace puretour::kernels {
namespace {

thread_local Scratch own;
thread_local Scratch* in_use = nullptr;

}  // namespace

Scratch& Scratch::current() {
  return in_use != nullptr ? *in_use : own;
}

void Scratch::use(Scratch* other) {
  in_use = other;
}

std::size_t Scratch::next_index() {
  static std::atomic<std::size_t> count = 0;
  return count++;
}

}  // namespace puretour::kernels
