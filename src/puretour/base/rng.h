// The only source of randomness in PureTour: explicit state, the same numbers on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace puretour {

/// Scrambles 64 bits (the finaliser of SplitMix64): a bijection with full avalanche.
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// xoshiro256** by Blackman and Vigna: 256 bits of state, period 2^256 - 1.
/// A value type: copy it to fork a replayable stream, store state() to resume one.
class Rng {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Rng(std::uint64_t seed = 0);

  /// An independent stream for each (seed, key...) tuple, e.g. one per instance of a data set.
  Rng(std::uint64_t seed, std::initializer_list<std::uint64_t> keys);

  static Rng from_state(const State& state);
  [[nodiscard]] const State& state() const { return state_; }

  /// 64 uniform random bits.
  std::uint64_t bits() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// Uniform in [0, 1), a multiple of 2^-24: every value is a float.
  float uniform_float() { return static_cast<float>(bits() >> 40) * 0x1p-24F; }

  /// Uniform in 0 .. bound - 1, without bias. bound >= 1.
  std::uint64_t below(std::uint64_t bound);

  /// Standard normal, by the polar method; bit-exact on every machine.
  double normal();

  /// Exponential with rate 1; bit-exact on every machine.
  double exponential();

  /// Puts items[0..count) in uniformly random order (Fisher-Yates).
  template <typename T>
  void shuffle(T* items, std::uint64_t count) {
    for (std::uint64_t i = count; i > 1; --i) {
      const std::uint64_t j = below(i);
      const T kept = items[i - 1];
      items[i - 1] = items[j];
      items[j] = kept;
    }
  }

  // Also a standard UniformRandomBitGenerator; results of std:: distributions are not portable, prefer the members.
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~0ULL; }
  result_type operator()() { return bits(); }

  bool operator==(const Rng&) const = default;

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  State state_;
};

}  // namespace puretour
