// Which vector instructions hand-written code may use.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace puretour {

/// In rising order; each includes the ones before it.
enum class Isa : std::uint8_t {
  kPlain,       // what every CPU of this kind has
  kAvx2,        // AVX2
  kAvx512,      // AVX-512 with byte and word instructions
  kAvx512Bf16,  // and products of bfloat16
  kAmx,         // and those of whole tiles, by an AMX unit
};

/// "plain", "avx2", "avx512", "avx512bf16", "amx".
std::string_view isa_name(Isa isa);

/// The names of all, for help texts.
std::string known_isas();

/// The best that this CPU has, or the lower one that the environment variable PURETOUR_ISA names. Looked up once.
/// Throws InputError if the variable holds no such name, or one that this CPU does not have.
Isa active_isa();

}  // namespace puretour
