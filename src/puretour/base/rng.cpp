// SPDX-License-Identifier: MIT
#include "puretour/base/rng.h"

#include <cmath>

#include "puretour/base/error.h"
#include "puretour/base/portable_math.h"

namespace puretour {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;  // SplitMix64's increment

Rng::State expand(std::uint64_t seed) {
  Rng::State state;
  for (auto& word : state) word = mix64(seed += kGolden);
  return state;  // never all zero: mix64 is a bijection and the four inputs differ
}

std::uint64_t combine(std::uint64_t seed, std::initializer_list<std::uint64_t> keys) {
  std::uint64_t hash = mix64(seed + kGolden);
  for (const std::uint64_t key : keys) hash = mix64(hash ^ mix64(key + kGolden)) + kGolden;
  return hash;
}

}  // namespace

Rng::Rng(std::uint64_t seed) : state_(expand(seed)) {}

Rng::Rng(std::uint64_t seed, std::initializer_list<std::uint64_t> keys) : state_(expand(combine(seed, keys))) {}

Rng Rng::from_state(const State& state) {
  if (state == State{}) throw InputError("random state: all 256 bits are zero, which xoshiro256** cannot leave");
  Rng rng;
  rng.state_ = state;
  return rng;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  // Lemire 2019: multiply, and reject the few products that would make some results likelier.
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(bits()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(bits()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Rng::normal() {
  // The second value of the pair is dropped so that the 256 bits are the whole state.
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

double Rng::exponential() {
  return -portable_log(1 - uniform());
}

}  // namespace puretour
