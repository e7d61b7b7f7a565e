// SPDX-License-Identifier: MIT
#include "puretour/base/isa.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

constexpr std::array kAll = {Isa::kPlain, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

bool has_matrix_unit() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr unsigned kBfloat16 = 1U << 22U;  // AMX-BF16
  constexpr unsigned kTiles = 1U << 24U;     // AMX-TILE
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kBfloat16) == 0 || (d & kTiles) == 0) return false;
  // The registers of AMX are large: Linux gives them only to programs that ask.
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Isa best_of_cpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") != 0) {
    if (__builtin_cpu_supports("avx512bf16") == 0) return Isa::kAvx512;
    return has_matrix_unit() ? Isa::kAmx : Isa::kAvx512Bf16;
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
      throw InputError(fmt::format("vector instructions {} (--isa or PURETOUR_ISA): this CPU has {} at most",
                                   quote_input(wanted), isa_name(best)));
    }
    return isa;
  }
  throw InputError(fmt::format("vector instructions {} (--isa or PURETOUR_ISA) are unknown; choose one of: {}",
                               quote_input(wanted), known_isas()));
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
    case Isa::kAmx:
      return "amx";
  }
  throw InternalError("isa_name: unknown value");
}

std::string known_isas() {
  std::string names;
  for (const Isa isa : kAll) names += fmt::format("{}{}", names.empty() ? "" : ", ", isa_name(isa));
  return names;
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace puretour
