// SPDX-License-Identifier: MIT
#include "puretour/base/isa.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "puretour/base/error.h"

namespace puretour {
namespace {

constexpr std::array kAll = {Isa::kPlain, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16};

Isa best_of_cpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") != 0) {
    return __builtin_cpu_supports("avx512bf16") != 0 ? Isa::kAvx512Bf16 : Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") != 0) return Isa::kAvx2;
#endif
  return Isa::kPlain;
}

Isa choose() {
  const Isa best = best_of_cpu();
  const char* wanted = std::getenv("PURETOUR_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (const Isa isa : kAll) {
    if (isa_name(isa) != wanted) continue;
    if (isa > best) {
      throw InputError(fmt::format("PURETOUR_ISA={}: this CPU has {} at most", wanted, isa_name(best)));
    }
    return isa;
  }
  throw InputError(fmt::format("PURETOUR_ISA={}: unknown; plain, avx2, avx512 and avx512bf16 are known", wanted));
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return "plain";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512bf16";
  }
  throw InternalError("isa_name: unknown value");
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace puretour
