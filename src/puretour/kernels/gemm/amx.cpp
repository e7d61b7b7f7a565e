// SPDX-License-Identifier: MIT
#include "puretour/kernels/gemm/amx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "puretour/base/error.h"
#include "puretour/kernels/gemm/tile_unit.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {
namespace {

static_assert(kTileHeight == kBlock, "a tile of sums is as wide as a panel");

// Eight tile registers of sixteen rows of 64 bytes. Four hold sums (two tiles down, two across), two the left factors,
// two the right ones: each factor that is loaded serves two products.
enum Register : std::uint8_t { kSums = 0, kLeft = 4, kRight = 6 };

#if defined(__x86_64__)
// What LDTILECFG reads.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved = {};
  std::array<std::uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);
#endif

struct EmulatedUnit {
  using Tile = std::array<std::array<std::uint32_t, 16>, 16>;
  static Tile& tile(int number) {
    thread_local std::array<Tile, 8> tiles;
    return tiles.at(static_cast<std::size_t>(number));
  }
  template <int kRegister>
  static void zero() {
    tile(kRegister) = {};
  }
  template <int kRegister>
  static void load(const void* from, std::size_t stride) {
    for (std::size_t r = 0; r < 16; ++r) {
      std::memcpy(tile(kRegister)[r].data(), static_cast<const std::byte*>(from) + r * stride, 64);
    }
  }
  template <int kRegister>
  static void store(void* to, std::size_t stride) {
    for (std::size_t r = 0; r < 16; ++r) {
      std::memcpy(static_cast<std::byte*>(to) + r * stride, tile(kRegister)[r].data(), 64);
    }
  }
  // Sums of the first and of the second numbers of the pairs, then both to the sum.
  template <int kSum, int kA, int kB>
  static void add_product() {
    for (std::size_t r = 0; r < 16; ++r) {
      for (std::size_t c = 0; c < 16; ++c) {
        float low = 0;
        float high = 0;
        for (std::size_t k = 0; k < 16; ++k) {
          const std::uint32_t a = tile(kA)[r][k];
          const std::uint32_t b = tile(kB)[k][c];
          low += std::bit_cast<float>(a << 16U) * std::bit_cast<float>(b << 16U);
          high += std::bit_cast<float>(a & 0xFFFF0000U) * std::bit_cast<float>(b & 0xFFFF0000U);
        }
        std::uint32_t& sum = tile(kSum)[r][c];
        sum = std::bit_cast<std::uint32_t>(std::bit_cast<float>(sum) + (low + high));
      }
    }
  }
};

// One tile of sums. At the lower and right edges it passes through memory of its own, as tiles are always whole.
struct SumTile {
  const Bf16Gemm& product;
  std::size_t row;
  std::size_t column;

  [[nodiscard]] std::size_t height() const { return std::min(kTileHeight, product.num_rows - row); }
  [[nodiscard]] std::size_t width() const { return std::min(kBlock, product.columns - column); }
  [[nodiscard]] bool whole() const { return height() == kTileHeight && width() == kBlock; }
  [[nodiscard]] const float* start() const { return product.start + row * product.start_stride + column; }
  [[nodiscard]] float* out() const { return product.out + row * product.out_stride + column; }
};

// What there is of the tile. Most edges are lower ones: their rows are whole registers.
PURETOUR_INLINE void copy_rows(const float* from, std::size_t from_stride, float* to, std::size_t to_stride,
                               const SumTile& tile) {
  if (tile.width() == kBlock) {
    for (std::size_t r = 0; r < tile.height(); ++r) {
      std::memcpy(to + r * to_stride, from + r * from_stride, kBlock * sizeof(float));
    }
  } else {
    for (std::size_t r = 0; r < tile.height(); ++r) {
      std::memcpy(to + r * to_stride, from + r * from_stride, tile.width() * sizeof(float));
    }
  }
}

template <class Unit, int kRegister>
PURETOUR_INLINE void begin_sum(const SumTile& tile) {
  const Bf16Gemm& p = tile.product;
  if (p.start == nullptr) return Unit::template zero<kRegister>();
  if (tile.whole()) return Unit::template load<kRegister>(tile.start(), p.start_stride * sizeof(float));
  alignas(64) float edge[kTileHeight * kBlock] = {};
  copy_rows(tile.start(), p.start_stride, edge, kBlock, tile);
  Unit::template load<kRegister>(edge, kBlock * sizeof(float));
}

template <class Unit, int kRegister>
PURETOUR_INLINE void end_sum(const SumTile& tile) {
  const Bf16Gemm& p = tile.product;
  if (tile.whole()) return Unit::template store<kRegister>(tile.out(), p.out_stride * sizeof(float));
  alignas(64) float edge[kTileHeight * kBlock];
  Unit::template store<kRegister>(edge, kBlock * sizeof(float));
  copy_rows(edge, kBlock, tile.out(), p.out_stride, tile);
}

// kDown x kAcross tiles of sums.
template <class Unit, int kDown, int kAcross>
PURETOUR_INLINE void multiply_block(const Bf16Gemm& p, std::size_t row, std::size_t column) {
  constexpr bool kTwoDown = kDown == 2;
  constexpr bool kTwoAcross = kAcross == 2;
  const std::size_t below = row + kTileHeight;
  const std::size_t beside = column + kBlock;
  begin_sum<Unit, kSums>({p, row, column});
  if constexpr (kTwoAcross) begin_sum<Unit, kSums + 1>({p, row, beside});
  if constexpr (kTwoDown) begin_sum<Unit, kSums + 2>({p, below, column});
  if constexpr (kTwoDown && kTwoAcross) begin_sum<Unit, kSums + 3>({p, below, beside});

  const std::uint32_t* left = p.left + row * p.left_stride;
  const std::uint32_t* right = p.right + column / kBlock * p.panel_stride;
  const std::size_t left_bytes = p.left_stride * sizeof(std::uint32_t);
  const std::size_t right_bytes = p.right_step * sizeof(std::uint32_t);
  for (std::size_t k = 0; k < p.num_pairs; k += kTilePairs) {
    Unit::template load<kLeft>(left + k, left_bytes);
    Unit::template load<kRight>(right + k * p.right_step, right_bytes);
    Unit::template add_product<kSums, kLeft, kRight>();
    if constexpr (kTwoAcross) {
      Unit::template load<kRight + 1>(right + p.panel_stride + k * p.right_step, right_bytes);
      Unit::template add_product<kSums + 1, kLeft, kRight + 1>();
    }
    if constexpr (kTwoDown) {
      Unit::template load<kLeft + 1>(left + kTileHeight * p.left_stride + k, left_bytes);
      Unit::template add_product<kSums + 2, kLeft + 1, kRight>();
    }
    if constexpr (kTwoDown && kTwoAcross) Unit::template add_product<kSums + 3, kLeft + 1, kRight + 1>();
  }

  end_sum<Unit, kSums>({p, row, column});
  if constexpr (kTwoAcross) end_sum<Unit, kSums + 1>({p, row, beside});
  if constexpr (kTwoDown) end_sum<Unit, kSums + 2>({p, below, column});
  if constexpr (kTwoDown && kTwoAcross) end_sum<Unit, kSums + 3>({p, below, beside});
}

// Panels outside, rows inside: two panels stay in L1 while all rows pass.
template <class Unit>
PURETOUR_INLINE void multiply_all(const Bf16Gemm& p) {
  for (std::size_t column = 0; column < p.columns; column += 2 * kBlock) {
    const bool two_across = column + kBlock < p.columns;
    for (std::size_t row = 0; row < p.num_rows; row += 2 * kTileHeight) {
      const bool two_down = row + kTileHeight < p.num_rows;
      if (two_down && two_across) {
        multiply_block<Unit, 2, 2>(p, row, column);
      } else if (two_down) {
        multiply_block<Unit, 2, 1>(p, row, column);
      } else if (two_across) {
        multiply_block<Unit, 1, 2>(p, row, column);
      } else {
        multiply_block<Unit, 1, 1>(p, row, column);
      }
    }
  }
}

// On this thread.
thread_local int num_uses = 0;

}  // namespace

MatrixUnitInUse::MatrixUnitInUse() : is_there_(active_isa() >= Isa::kAmx) {
#if defined(__x86_64__)
  constexpr TileConfiguration kConfiguration;
  if (is_there_ && num_uses++ == 0) asm volatile("ldtilecfg %0" : : "m"(kConfiguration));
#endif
}

MatrixUnitInUse::~MatrixUnitInUse() {
#if defined(__x86_64__)
  if (is_there_ && --num_uses == 0) asm volatile("tilerelease");
#endif
}

void multiply_tiles(const Bf16Gemm& product) {
#if defined(__x86_64__)
  const MatrixUnitInUse in_use;
  multiply_all<MatrixUnit>(product);
#else
  throw InternalError("multiply_tiles: there is no AMX unit");
#endif
}

void multiply_tiles_emulated(const Bf16Gemm& product) {
  multiply_all<EmulatedUnit>(product);
}

}  // namespace puretour::kernels
