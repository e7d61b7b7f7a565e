// All-pairs purity orders by counting obtuse angles on quantised squared distances.
//
// K_p(i, j) counts the k with |ik|^2 + |jk|^2 < |ij|^2. Squared distances are rounded to integers of 16 or 32 bits, so
// one vector instruction serves 16 or 8 triples. Rounding moves either side by at most 1.5 units: a difference of 2 or
// more proves the sign of the exact predicate, and a pair with a closer call is counted again with the predicate
// itself.
// SPDX-License-Identifier: MIT
#include "puretour/purity/order_matrix.h"

#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/isa.h"
#include "puretour/base/parallel.h"
#include "puretour/base/vectorize.h"
#include "puretour/geometry/disc.h"

namespace puretour {
namespace {

// Rows of the result are padded to this many entries, so that whole vectors can be read and written.
constexpr std::size_t kRowPadding = 16;

template <typename T>
struct VectorOf;
template <>
struct VectorOf<std::int16_t> {
  typedef std::int16_t Type __attribute__((vector_size(32)));
  typedef OrderMatrix::Order Orders __attribute__((vector_size(32)));
};
template <>
struct VectorOf<std::int32_t> {
  typedef std::int32_t Type __attribute__((vector_size(32)));
  typedef OrderMatrix::Order Orders __attribute__((vector_size(16)));
};

template <typename T>
constexpr std::size_t kLanes = 32 / sizeof(T);

// Columns are worked on in panels of three vectors: one broadcast serves three, and all sums stay in registers.
constexpr std::size_t kPanelVectors = 3;
template <typename T>
constexpr std::size_t kPanelWidth = kPanelVectors* kLanes<T>;

// How squared distances become integers. With H = 2^(bits - 2), a squared distance d is stored as q + 2 - H with
// q = round(d * scale) in 0 .. 2H - 6: the sum of two stored values just fits. Of the three roundings in a + b < c each
// is off by at most 0.52 units, so a + b <= c - 2 proves "inside" and a + b >= c + 2 proves "not inside". In stored
// values:
//   inside    a + b <= c - 2   <=>   A + B < C + kInside
//   possible  a + b <= c + 1   <=>   A + B < C + kPossible
template <typename T>
struct Quantised {
  static constexpr std::int64_t kH = std::int64_t{1} << (8 * sizeof(T) - 2);
  static constexpr std::int64_t kOffset = 2 - kH;
  static constexpr double kLargest = 2.0 * kH - 6;
  static constexpr T kInside = static_cast<T>(1 - kH);
  static constexpr T kPossible = static_cast<T>(4 - kH);
  // On the diagonal: keeps k = i and k = j from counting as inside or as a close call.
  static constexpr T kDiagonal = static_cast<T>(2 * kH - 6 + kOffset);
  // Floats are enough for 16 bits: coordinates and squares add less than 0.02 units to the 0.5 of the rounding.
  using Real = std::conditional_t<sizeof(T) == 2, float, double>;
};

// A pair whose order the quantised distances leave open.
struct CloseCall {
  std::uint32_t i;
  std::uint32_t j;
};

// Memory that one thread reuses from one instance to the next.
template <typename T>
struct Workspace {
  std::vector<typename Quantised<T>::Real> xs;  // relative to the corner of the bounding box
  std::vector<typename Quantised<T>::Real> ys;
  std::vector<T> squares;  // row by row
};

template <typename T>
inline __attribute__((always_inline)) void quantise_table(const typename Quantised<T>::Real* xs,
                                                          const typename Quantised<T>::Real* ys, std::size_t n,
                                                          std::size_t stride, typename Quantised<T>::Real scale,
                                                          std::size_t first_row, std::size_t last_row, T* squares) {
  using Real = typename Quantised<T>::Real;
  for (std::size_t i = first_row; i < last_row; ++i) {
    T* row = squares + i * stride;
    for (std::size_t k = 0; k < n; ++k) {
      const Real dx = xs[i] - xs[k];
      const Real dy = ys[i] - ys[k];
      const auto rounded = static_cast<std::int32_t>((dx * dx + dy * dy) * scale + Real(0.5));
      row[k] = static_cast<T>(rounded + static_cast<std::int32_t>(Quantised<T>::kOffset));
    }
    row[i] = Quantised<T>::kDiagonal;
    row[n] = Quantised<T>::kDiagonal;  // a node far from everything, for kernels that take two k at a time
  }
}

PURETOUR_VECTORISED
void quantise(const float* xs, const float* ys, std::size_t n, std::size_t stride, float scale, std::size_t first_row,
              std::size_t last_row, std::int16_t* squares) {
  quantise_table(xs, ys, n, stride, scale, first_row, last_row, squares);
}
PURETOUR_VECTORISED
void quantise(const double* xs, const double* ys, std::size_t n, std::size_t stride, double scale,
              std::size_t first_row, std::size_t last_row, std::int32_t* squares) {
  quantise_table(xs, ys, n, stride, scale, first_row, last_row, squares);
}

// The orders of (i, j) for `Vectors` vectors of columns j. Counts all k at once; panel holds the squared distances
// |jk|^2 as n rows (k) of kPanelWidth columns (j), row_i the |ik|^2. Marks the columns with a close call in `undecided`
// (not zero) and returns whether there are any.
template <typename T, std::size_t Vectors>
inline __attribute__((always_inline)) std::uint64_t count_vectors(const T* panel, const T* row_i, std::size_t i,
                                                                  std::size_t n, OrderMatrix::Order* orders) {
  using V = typename VectorOf<T>::Type;
  V low[Vectors];
  V high[Vectors];
  V inside[Vectors] = {};
  V possible[Vectors] = {};
  for (std::size_t b = 0; b < Vectors; ++b) {
    V c;
    std::memcpy(&c, panel + i * kPanelWidth<T> + b * kLanes<T>, sizeof(V));
    low[b] = c + Quantised<T>::kInside;
    high[b] = c + Quantised<T>::kPossible;
  }
  const T* row_k = panel;
  for (std::size_t k = 0; k < n; ++k, row_k += kPanelWidth<T>) {
    const V a = V{} + row_i[k];
    for (std::size_t b = 0; b < Vectors; ++b) {
      V sum;
      std::memcpy(&sum, row_k + b * kLanes<T>, sizeof(V));
      sum += a;
      inside[b] -= (sum < low[b]);  // true is -1
      possible[b] -= (sum < high[b]);
    }
  }
  std::uint64_t close = 0;
  for (std::size_t b = 0; b < Vectors; ++b) {
    const auto narrow = __builtin_convertvector(inside[b], typename VectorOf<T>::Orders);
    std::memcpy(orders + b * kLanes<T>, &narrow, sizeof(narrow));
    const V difference = inside[b] ^ possible[b];
    for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
      close |= static_cast<std::uint64_t>(difference[lane] != 0) << (b * kLanes<T> + lane);
    }
  }
  return close;
}

template <typename T>
using ColumnCounter = std::uint64_t (*)(const T* panel, const T* row_i, std::size_t i, std::size_t n,
                                        std::size_t num_vectors, OrderMatrix::Order* orders);

PURETOUR_VECTORISED
std::uint64_t count_columns16(const std::int16_t* panel, const std::int16_t* row_i, std::size_t i, std::size_t n,
                              std::size_t num_vectors, OrderMatrix::Order* orders) {
  switch (num_vectors) {
    case 1:
      return count_vectors<std::int16_t, 1>(panel, row_i, i, n, orders);
    case 2:
      return count_vectors<std::int16_t, 2>(panel, row_i, i, n, orders);
    default:
      return count_vectors<std::int16_t, 3>(panel, row_i, i, n, orders);
  }
}

PURETOUR_VECTORISED
std::uint64_t count_columns32(const std::int32_t* panel, const std::int32_t* row_i, std::size_t i, std::size_t n,
                              std::size_t num_vectors, OrderMatrix::Order* orders) {
  switch (num_vectors) {
    case 1:
      return count_vectors<std::int32_t, 1>(panel, row_i, i, n, orders);
    case 2:
      return count_vectors<std::int32_t, 2>(panel, row_i, i, n, orders);
    default:
      return count_vectors<std::int32_t, 3>(panel, row_i, i, n, orders);
  }
}

#if defined(__x86_64__)
// The same by hand, with a fifth fewer instructions than the compiler's: the differences a + b - c of two k are packed,
// saturated, into one vector of bytes, which are counted as one and keep their smallest value instead of a second
// count.
template <std::size_t Vectors>
__attribute__((target("avx2"), always_inline)) inline std::uint64_t count_vectors_avx2(const std::int16_t* panel,
                                                                                       const std::int16_t* row_i,
                                                                                       std::size_t i, std::size_t n,
                                                                                       OrderMatrix::Order* orders) {
  constexpr std::size_t kWidth = kPanelWidth<std::int16_t>;
  const __m256i zero = _mm256_setzero_si256();
  __m256i low[Vectors];
  __m256i inside[Vectors];
  __m256i smallest[Vectors];
  for (std::size_t b = 0; b < Vectors; ++b) {
    const auto* c = reinterpret_cast<const __m256i*>(panel + i * kWidth + b * kLanes<std::int16_t>);
    low[b] = _mm256_add_epi16(_mm256_loadu_si256(c), _mm256_set1_epi16(Quantised<std::int16_t>::kInside));
    inside[b] = zero;
    smallest[b] = _mm256_set1_epi8(-1);
  }
  const std::int16_t* row_k = panel;
  for (std::size_t k = 0; k < n; k += 2, row_k += 2 * kWidth) {  // node n is far from everything
    const __m256i a0 = _mm256_set1_epi16(row_i[k]);
    const __m256i a1 = _mm256_set1_epi16(row_i[k + 1]);
    for (std::size_t b = 0; b < Vectors; ++b) {
      const auto* b0 = reinterpret_cast<const __m256i*>(row_k + b * kLanes<std::int16_t>);
      const auto* b1 = reinterpret_cast<const __m256i*>(row_k + kWidth + b * kLanes<std::int16_t>);
      const __m256i u0 = _mm256_subs_epi16(_mm256_add_epi16(a0, _mm256_loadu_si256(b0)), low[b]);
      const __m256i u1 = _mm256_subs_epi16(_mm256_add_epi16(a1, _mm256_loadu_si256(b1)), low[b]);
      const __m256i both = _mm256_packs_epi16(u0, u1);  // negative: inside; 0, 1 and 2: close
      inside[b] = _mm256_sub_epi8(inside[b], _mm256_cmpgt_epi8(zero, both));
      smallest[b] = _mm256_min_epu8(smallest[b], both);
    }
  }
  std::uint64_t close = 0;
  for (std::size_t b = 0; b < Vectors; ++b) {
    // In each half of a vector the bytes of even k come before those of odd k.
    const __m256i count =
        _mm256_add_epi16(_mm256_unpacklo_epi8(inside[b], zero), _mm256_unpackhi_epi8(inside[b], zero));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(orders + b * kLanes<std::int16_t>), count);
    const __m256i least =
        _mm256_min_epi16(_mm256_unpacklo_epi8(smallest[b], zero), _mm256_unpackhi_epi8(smallest[b], zero));
    const __m256i is_close = _mm256_packs_epi16(_mm256_cmpgt_epi16(_mm256_set1_epi16(3), least), zero);
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(is_close));
    close |= static_cast<std::uint64_t>((bits & 0xFFU) | ((bits >> 8) & 0xFF00U)) << (b * kLanes<std::int16_t>);
  }
  return close;
}

__attribute__((target("avx2"))) std::uint64_t count_columns16_avx2(const std::int16_t* panel, const std::int16_t* row_i,
                                                                   std::size_t i, std::size_t n,
                                                                   std::size_t num_vectors,
                                                                   OrderMatrix::Order* orders) {
  switch (num_vectors) {
    case 1:
      return count_vectors_avx2<1>(panel, row_i, i, n, orders);
    case 2:
      return count_vectors_avx2<2>(panel, row_i, i, n, orders);
    default:
      return count_vectors_avx2<3>(panel, row_i, i, n, orders);
  }
}
#endif

ColumnCounter<std::int16_t> best_counter(std::int16_t /*type*/) {
#if defined(__x86_64__)
  if (active_isa() >= Isa::kAvx2) return count_columns16_avx2;
#endif
  return count_columns16;
}
ColumnCounter<std::int32_t> best_counter(std::int32_t /*type*/) {
  return count_columns32;
}

// The pairs (i, j) with j in the panel first .. first + kPanelWidth - 1, for i < j and for i >= num_columns: only whole
// vectors of columns are worked on, and the few nodes left over have their pairs counted from their own rows. Writes
// whole vectors of orders, also on and below the diagonal. Returns the number of close calls noted.
template <typename T>
std::size_t count_panel(const T* squares, std::size_t stride, std::size_t n, std::size_t num_columns, std::size_t first,
                        T* panel, OrderMatrix::Order* orders, std::size_t order_stride, CloseCall* close_calls) {
  static const ColumnCounter<T> count_columns = best_counter(T{});
  for (std::size_t k = 0; k < n; ++k) {
    std::memcpy(panel + k * kPanelWidth<T>, squares + k * stride + first, kPanelWidth<T> * sizeof(T));
  }
  std::fill_n(panel + n * kPanelWidth<T>, kPanelWidth<T>, Quantised<T>::kDiagonal);
  const std::size_t last = std::min(num_columns, first + kPanelWidth<T>);
  const std::size_t num_vectors = (last - first) / kLanes<T>;
  std::size_t num_close = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + 1 == last) i = num_columns;  // from the diagonal on to the nodes left over
    if (i >= n) break;
    const bool left_over = i >= num_columns;
    const std::size_t start_vector = i < first || left_over ? 0 : (i + 1 - first) / kLanes<T>;
    const std::size_t column = first + start_vector * kLanes<T>;
    const T* row_i = squares + i * stride;
    const T* columns = panel + start_vector * kLanes<T>;
    OrderMatrix::Order* out = orders + i * order_stride + column;
    std::uint64_t close = count_columns(columns, row_i, i, n, num_vectors - start_vector, out);
    for (; close != 0; close &= close - 1) {
      const std::size_t j = column + static_cast<std::size_t>(std::countr_zero(close));
      if (j <= i && !left_over) continue;  // on or below the diagonal
      close_calls[num_close++] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)};
    }
  }
  return num_close;
}

// Fills, of the pairs among the first n - n % kRowPadding nodes, the part of `orders` above the diagonal, and of every
// node left over its row up to the diagonal. What lies elsewhere is left, or written over with anything.
template <typename T>
void compute_quantised(std::span<const Point> points, const Box& box, double largest, int threads,
                       const double* exact_xs, const double* exact_ys, OrderMatrix::Order* orders,
                       std::size_t order_stride) {
  using Real = typename Quantised<T>::Real;
  thread_local Workspace<T> work;
  const std::size_t n = points.size();
  const std::size_t num_columns = n - n % kRowPadding;
  const std::size_t num_panels = (num_columns + kPanelWidth<T> - 1) / kPanelWidth<T>;
  const std::size_t stride = std::max(n + 1, num_panels * kPanelWidth<T>);
  work.xs.resize(n);
  work.ys.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    work.xs[i] = static_cast<Real>(points[i].x - box.low.x);
    work.ys[i] = static_cast<Real>(points[i].y - box.low.y);
  }
  work.squares.resize(n * stride);  // what lies in the padding is computed with, but never used
  // Threads other than this one must see this thread's workspace.
  const Real* xs = work.xs.data();
  const Real* ys = work.ys.data();
  T* squares = work.squares.data();
  const auto scale = static_cast<Real>(Quantised<T>::kLargest / largest);
  const auto exact_order = [=](std::size_t i, std::size_t j) {
    return static_cast<OrderMatrix::Order>(
        count_inside_diametral_disc({exact_xs[i], exact_ys[i]}, {exact_xs[j], exact_ys[j]}, exact_xs, exact_ys, n));
  };
  parallel_for_blocks(n, 64, threads, [=](std::size_t begin, std::size_t end) {
    quantise(xs, ys, n, stride, scale, begin, end, squares);
  });
  parallel_for(num_panels, threads, [=](std::size_t p) {
    thread_local std::vector<T> panel;
    thread_local std::vector<CloseCall> close_calls;
    panel.resize((n + 1) * kPanelWidth<T>);
    close_calls.resize(n * kPanelWidth<T>);
    const std::size_t num_close = count_panel(squares, stride, n, num_columns, p * kPanelWidth<T>, panel.data(), orders,
                                              order_stride, close_calls.data());
    for (std::size_t c = 0; c < num_close; ++c) {
      orders[close_calls[c].i * order_stride + close_calls[c].j] = exact_order(close_calls[c].i, close_calls[c].j);
    }
  });
  for (std::size_t i = num_columns; i < n; ++i) {
    for (std::size_t j = num_columns; j < i; ++j) orders[i * order_stride + j] = exact_order(i, j);
  }
}

typedef OrderMatrix::Order Eight __attribute__((vector_size(16)));
constexpr std::size_t kTile = 8;

// Copies an 8 x 8 tile to its mirror image, by three rounds of interleaving.
void transpose_tile(const OrderMatrix::Order* from, OrderMatrix::Order* to, std::size_t stride) {
  Eight rows[kTile];
  for (std::size_t r = 0; r < kTile; ++r) std::memcpy(&rows[r], from + r * stride, sizeof(Eight));
  for (int round = 0; round < 3; ++round) {
    Eight mixed[kTile];
    for (std::size_t r = 0; r < kTile / 2; ++r) {
      mixed[2 * r] = __builtin_shufflevector(rows[r], rows[r + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      mixed[2 * r + 1] = __builtin_shufflevector(rows[r], rows[r + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::copy_n(mixed, kTile, rows);
  }
  for (std::size_t r = 0; r < kTile; ++r) std::memcpy(to + r * stride, &rows[r], sizeof(Eight));
}

}  // namespace

std::size_t purity_order(std::span<const Point> points, NodeId i, NodeId j) {
  return count_inside_diametral_disc(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)], points);
}

OrderMatrix::OrderMatrix(std::span<const Point> points, int threads) {
  compute(points, threads);
}

OrderMatrix OrderMatrix::from_orders(std::size_t num_nodes, std::span<const Order> orders) {
  if (orders.size() != num_nodes * num_nodes) {
    throw InputError(fmt::format("order matrix: {} orders given, {} nodes need {}", orders.size(), num_nodes,
                                 num_nodes * num_nodes));
  }
  OrderMatrix matrix;
  matrix.resize(num_nodes);
  for (std::size_t i = 0; i < num_nodes; ++i) {
    std::copy_n(orders.begin() + static_cast<std::ptrdiff_t>(i * num_nodes), num_nodes,
                matrix.orders_.begin() + static_cast<std::ptrdiff_t>(i * matrix.stride_));
  }
  return matrix;
}

void OrderMatrix::resize(std::size_t num_nodes) {
  if (num_nodes > kMaxNodes) {
    throw InputError(
        fmt::format("purity order of all pairs: {} nodes are too many (at most {}); the orders of a tour "
                    "or the Gabriel graph need no table of pairs",
                    num_nodes, kMaxNodes));
  }
  size_ = num_nodes;
  stride_ = (num_nodes + kRowPadding - 1) / kRowPadding * kRowPadding;
  orders_.assign(size_ * stride_, 0);
}

void OrderMatrix::compute(std::span<const Point> points, int threads) {
  const std::size_t n = points.size();
  resize(n);
  thread_local std::vector<double> xs;
  thread_local std::vector<double> ys;
  xs.resize(n);
  ys.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    xs[i] = points[i].x;
    ys[i] = points[i].y;
  }
  const Box box = bounding_box(points);
  // Bounds every squared distance. Outside the range of floats the predicate is used for every pair.
  const double largest = box.width() * box.width() + box.height() * box.height();
  if (largest > 1e-30 && largest < 1e30) {
    // 16 bits leave about one pair in a hundred open at 100 nodes, and more with every node: 32 bits win from 300 on.
    // (Counts of every other k must fit a byte, too.)
    constexpr std::size_t kSmall = 300;
    const auto compute = n <= kSmall ? compute_quantised<std::int16_t> : compute_quantised<std::int32_t>;
    compute(points, box, largest, threads, xs.data(), ys.data(), orders_.data(), stride_);
  } else if (largest > 0) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        orders_[i * stride_ + j] =
            static_cast<Order>(count_inside_diametral_disc(points[i], points[j], xs.data(), ys.data(), n));
      }
    }
  }
  mirror();
}

void OrderMatrix::mirror() {
  const std::size_t whole = size_ - size_ % kRowPadding;
  for (std::size_t tile_i = 0; tile_i < whole; tile_i += kTile) {
    for (std::size_t tile_j = tile_i + kTile; tile_j < whole; tile_j += kTile) {
      transpose_tile(orders_.data() + tile_i * stride_ + tile_j, orders_.data() + tile_j * stride_ + tile_i, stride_);
    }
    for (std::size_t i = tile_i; i < tile_i + kTile; ++i) {
      for (std::size_t j = i + 1; j < tile_i + kTile; ++j) orders_[j * stride_ + i] = orders_[i * stride_ + j];
    }
  }
  for (std::size_t i = whole; i < size_; ++i) {
    for (std::size_t j = 0; j < i; ++j) orders_[j * stride_ + i] = orders_[i * stride_ + j];
  }
  for (std::size_t i = 0; i < size_; ++i) orders_[i * stride_ + i] = 0;
}

}  // namespace puretour
