// Sixteen floats at a time, in registers of any width: what the kernels are written in.
//
// A kernel is a template over the number of lanes of the machine's registers. It works on blocks of sixteen floats,
// which are one, two or four registers, and every sum runs in the same order for all widths, without fused
// multiply-add. So all versions of a kernel give the same bits, and tours do not depend on the CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "puretour/base/isa.h"

namespace puretour::kernels {

inline constexpr std::size_t kBlock = 16;

/// `count` rounded up to whole blocks.
constexpr std::size_t padded(std::size_t count) {
  return (count + kBlock - 1) / kBlock * kBlock;
}

// Inlined into functions for several instruction sets; a call would use the instructions of none.
#define PURETOUR_INLINE __attribute__((always_inline)) inline
#define PURETOUR_INLINE_LAMBDA __attribute__((always_inline))

template <int kLanes>
struct Register;
template <>
struct Register<4> {
  typedef float Float __attribute__((vector_size(16)));
  typedef std::int32_t Int __attribute__((vector_size(16)));
};
template <>
struct Register<8> {
  typedef float Float __attribute__((vector_size(32)));
  typedef std::int32_t Int __attribute__((vector_size(32)));
};
template <>
struct Register<16> {
  typedef float Float __attribute__((vector_size(64)));
  typedef std::int32_t Int __attribute__((vector_size(64)));
};

/// Sixteen floats in 16 / kLanes registers.
template <int kLanes>
struct Block {
  using Float = typename Register<kLanes>::Float;
  using Int = typename Register<kLanes>::Int;
  static constexpr std::size_t kRegisters = kBlock / kLanes;
  Float part[kRegisters];

  PURETOUR_INLINE static void fill(Block& b, float value) {
    for (std::size_t r = 0; r < kRegisters; ++r) b.part[r] = Float{} + value;
  }
  PURETOUR_INLINE static void load(Block& b, const float* from) {
    for (std::size_t r = 0; r < kRegisters; ++r) std::memcpy(&b.part[r], from + r * kLanes, sizeof(Float));
  }
  PURETOUR_INLINE static void store(const Block& b, float* to) {
    for (std::size_t r = 0; r < kRegisters; ++r) std::memcpy(to + r * kLanes, &b.part[r], sizeof(Float));
  }
  PURETOUR_INLINE static void add(Block& b, const Block& other) {
    for (std::size_t r = 0; r < kRegisters; ++r) b.part[r] += other.part[r];
  }
  /// b += factor * other, with two roundings.
  PURETOUR_INLINE static void add_scaled(Block& b, float factor, const Block& other) {
    for (std::size_t r = 0; r < kRegisters; ++r) b.part[r] += factor * other.part[r];
  }
  PURETOUR_INLINE static void maximum(Block& b, const Block& other) {
    for (std::size_t r = 0; r < kRegisters; ++r) b.part[r] = b.part[r] > other.part[r] ? b.part[r] : other.part[r];
  }
  /// Lanes from `count` on become `other`.
  PURETOUR_INLINE static void keep_first(Block& b, std::size_t count, float other) {
    for (std::size_t r = 0; r < kRegisters; ++r) {
      Int lane;
      for (int i = 0; i < kLanes; ++i) lane[i] = static_cast<std::int32_t>(r) * kLanes + i;
      b.part[r] = lane < static_cast<std::int32_t>(count) ? b.part[r] : Float{} + other;
    }
  }
  /// Lanes eight apart, then four, two and one apart: few additions wait for each other.
  PURETOUR_INLINE static float sum(const Block& b) {
    return reduce(b, [](const Float& x, const Float& y) PURETOUR_INLINE_LAMBDA { return x + y; });
  }
  PURETOUR_INLINE static float largest(const Block& b) {
    return reduce(b, [](const Float& x, const Float& y) PURETOUR_INLINE_LAMBDA { return x > y ? x : y; });
  }
  template <class Operation>
  PURETOUR_INLINE static float reduce(const Block& b, const Operation& operation) {
    Block rest = b;
    for (std::size_t half = kRegisters / 2; half >= 1; half /= 2) {
      for (std::size_t r = 0; r < half; ++r) rest.part[r] = operation(rest.part[r], rest.part[r + half]);
    }
    fold<kLanes / 2>(rest.part[0], operation);
    return rest.part[0][0];
  }

  // Combines every lane with the one kStep further on, then with the one half as far.
  template <int kStep, class Operation>
  PURETOUR_INLINE static void fold(Float& x, const Operation& operation) {
    x = operation(x, rotated<kStep>(x, std::make_integer_sequence<int, kLanes>()));
    if constexpr (kStep > 1) fold<kStep / 2>(x, operation);
  }
  template <int kStep, int... kIndices>
  PURETOUR_INLINE static Float rotated(const Float& x, std::integer_sequence<int, kIndices...> /*lanes*/) {
    return __builtin_shufflevector(x, x, ((kIndices + kStep) % kLanes)...);
  }

  /// b = exp(b): relative error below 2e-7; 0 below -87.3 (the smallest normal float); arguments up to 88.
  PURETOUR_INLINE static void exponential(Block& b) {
    constexpr float kLowest = -87.3F;
    constexpr float kLog2E = 1.44269504F;
    // ln 2 in two parts; the first has few bits, so that its products with small integers are exact.
    constexpr float kLn2High = 0.693359375F;
    constexpr float kLn2Low = -2.12194440e-4F;
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
    constexpr float kRounder = 12582912.0F;
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const Float x = b.part[r];
      const Float shifted = x * kLog2E + kRounder;
      const Float n = shifted - kRounder;
      const Float f = (x - n * kLn2High) - n * kLn2Low;  // |f| <= 0.35
      // Taylor: the next term is below 6e-9.
      Float p = f * (1.0F / 5040) + 1.0F / 720;
      p = p * f + 1.0F / 120;
      p = p * f + 1.0F / 24;
      p = p * f + 1.0F / 6;
      p = p * f + 0.5F;
      p = p * f * f + f + 1.0F;
      // 2^n by its exponent bits; the low bits of `shifted` hold n.
      Int bits;
      std::memcpy(&bits, &shifted, sizeof bits);
      const Int power_bits = (bits + 127) << 23;
      Float power;
      std::memcpy(&power, &power_bits, sizeof power);
      const Float result = p * power;
      b.part[r] = x < Float{} + kLowest ? Float{} : result;
    }
  }

  /// b = tanh(b): absolute error below 2e-7.
  PURETOUR_INLINE static void hyperbolic_tangent(Block& b) {
    Block decay;
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const Float x = b.part[r];
      decay.part[r] = (x < Float{} ? x : -x) * 2.0F;
    }
    exponential(decay);  // exp(-2 |x|)
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const Float magnitude = (1.0F - decay.part[r]) / (1.0F + decay.part[r]);
      b.part[r] = b.part[r] < Float{} ? -magnitude : magnitude;
    }
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are lists that have their parentheses already.
// Defines name(parameters) that runs name_impl<lanes>(arguments) with the widest registers of this CPU.
#if defined(__x86_64__)
#define PURETOUR_KERNEL(name, parameters, arguments)                          \
  namespace {                                                                 \
  __attribute__((target("avx512f,avx512bw"))) void name##_avx512 parameters { \
    name##_impl<16> arguments;                                                \
  }                                                                           \
  __attribute__((target("avx2"))) void name##_avx2 parameters {               \
    name##_impl<8> arguments;                                                 \
  }                                                                           \
  void name##_plain parameters {                                              \
    name##_impl<4> arguments;                                                 \
  }                                                                           \
  }                                                                           \
  void name parameters {                                                      \
    const Isa isa = active_isa();                                             \
    if (isa >= Isa::kAvx512) return name##_avx512 arguments;                  \
    if (isa == Isa::kAvx2) return name##_avx2 arguments;                      \
    name##_plain arguments;                                                   \
  }
#else
#define PURETOUR_KERNEL(name, parameters, arguments) \
  void name parameters {                             \
    name##_impl<4> arguments;                        \
  }
#endif
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace puretour::kernels
