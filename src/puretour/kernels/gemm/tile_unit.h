// The instructions of AMX (AMX): eight registers, each a tile of sixteen rows of 64 bytes. Only where
// active_isa() is Isa::kAmx and a MatrixUnitInUse (amx.h) exists.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <cstddef>

#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

// In assembly: the compiler's functions for these instructions exist in code for AMX only, and templates
// over the unit are not.
struct MatrixUnit {
  template <int kRegister>
  PURETOUR_INLINE static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kRegister));
  }
  template <int kRegister>
  PURETOUR_INLINE static void load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kRegister) : "memory");
  }
  template <int kRegister>
  PURETOUR_INLINE static void store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kRegister) : "memory");
  }
  template <int kSum, int kA, int kB>
  PURETOUR_INLINE static void add_product() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace puretour::kernels
#endif
