// All-pairs purity orders by counting obtuse angles on quantised squared distances.
//
// K_p(i, j) counts the k with |ik|^2 + |jk|^2 < |ij|^2. Squared distances are rounded to integers of 16 or 32 bits, so
// one vector instruction serves 16 or 8 triples. Rounding moves either side by at most 1.5 units: a difference of 2 or
// more proves the sign of the exact predicate, and a pair with a closer call is counted again with the predicate
// itself. SPDX-License-Identifier: MIT
#include "puretour/purity/order_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "puretour/base/error.h"
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
  }
}

// The orders of (i, j) for `Vectors` vectors of columns j from `column` on. Counts all k at once; panel holds the
// squared distances |jk|^2 as n rows (k) of kPanelWidth columns (j), row_i the |ik|^2.
template <typename T, std::size_t Vectors>
inline __attribute__((always_inline)) bool count_columns(const T* panel, const T* row_i, std::size_t i, std::size_t n,
                                                         OrderMatrix::Order* orders, T* undecided) {
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
  V close = {};
  for (std::size_t b = 0; b < Vectors; ++b) {
    const auto narrow = __builtin_convertvector(inside[b], typename VectorOf<T>::Orders);
    std::memcpy(orders + b * kLanes<T>, &narrow, sizeof(narrow));
    const V difference = inside[b] ^ possible[b];
    std::memcpy(undecided + b * kLanes<T>, &difference, sizeof(V));
    close |= difference;
  }
  T any = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) any |= close[lane];
  return any != 0;
}

// The pairs (i, j) with j in the panel first .. first + kPanelWidth - 1, for i < j and for i >= num_columns: only whole
// vectors of columns are worked on, and the few nodes left over have their pairs counted from their own rows. Writes
// whole vectors of orders, also on and below the diagonal. Returns the number of close calls noted.
template <typename T>
inline __attribute__((always_inline)) std::size_t count_panel(const T* squares, std::size_t stride, std::size_t n,
                                                              std::size_t num_columns, std::size_t first, T* panel,
                                                              OrderMatrix::Order* orders, std::size_t order_stride,
                                                              CloseCall* close_calls) {
  for (std::size_t k = 0; k < n; ++k) {
    std::memcpy(panel + k * kPanelWidth<T>, squares + k * stride + first, kPanelWidth<T> * sizeof(T));
  }
  const std::size_t last = std::min(num_columns, first + kPanelWidth<T>);
  const std::size_t num_vectors = (last - first) / kLanes<T>;
  std::size_t num_close = 0;
  T undecided[kPanelWidth<T>];
  for (std::size_t i = 0; i < n; ++i) {
    if (i + 1 == last) i = num_columns;  // from the diagonal on to the nodes left over
    if (i >= n) break;
    const bool left_over = i >= num_columns;
    const std::size_t start_vector = i < first || left_over ? 0 : (i + 1 - first) / kLanes<T>;
    const std::size_t column = first + start_vector * kLanes<T>;
    const T* row_i = squares + i * stride;
    const T* columns = panel + start_vector * kLanes<T>;
    OrderMatrix::Order* out = orders + i * order_stride + column;
    bool close = false;
    switch (num_vectors - start_vector) {
      case 3:
        close = count_columns<T, 3>(columns, row_i, i, n, out, undecided);
        break;
      case 2:
        close = count_columns<T, 2>(columns, row_i, i, n, out, undecided);
        break;
      default:
        close = count_columns<T, 1>(columns, row_i, i, n, out, undecided);
        break;
    }
    if (!close) continue;
    for (std::size_t j = left_over ? column : std::max(column, i + 1); j < last; ++j) {
      close_calls[num_close] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)};
      num_close += undecided[j - column] != 0 ? 1 : 0;
    }
  }
  return num_close;
}

// The two loops that carry all the work, once per vector extension.
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
PURETOUR_VECTORISED
std::size_t count(const std::int16_t* squares, std::size_t stride, std::size_t n, std::size_t num_columns,
                  std::size_t first, std::int16_t* panel, OrderMatrix::Order* orders, std::size_t order_stride,
                  CloseCall* close_calls) {
  return count_panel(squares, stride, n, num_columns, first, panel, orders, order_stride, close_calls);
}
PURETOUR_VECTORISED
std::size_t count(const std::int32_t* squares, std::size_t stride, std::size_t n, std::size_t num_columns,
                  std::size_t first, std::int32_t* panel, OrderMatrix::Order* orders, std::size_t order_stride,
                  CloseCall* close_calls) {
  return count_panel(squares, stride, n, num_columns, first, panel, orders, order_stride, close_calls);
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
  const std::size_t stride = std::max(n, num_panels * kPanelWidth<T>);
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
    panel.resize(n * kPanelWidth<T>);
    close_calls.resize(n * kPanelWidth<T>);
    const std::size_t num_close = count(squares, stride, n, num_columns, p * kPanelWidth<T>, panel.data(), orders,
                                        order_stride, close_calls.data());
    for (std::size_t c = 0; c < num_close; ++c) {
      orders[close_calls[c].i * order_stride + close_calls[c].j] = exact_order(close_calls[c].i, close_calls[c].j);
    }
  });
  for (std::size_t i = num_columns; i < n; ++i) {
    for (std::size_t j = num_columns; j < i; ++j) orders[i * order_stride + j] = exact_order(i, j);
  }
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
  // In tiles: going down a column of a large table is slow otherwise.
  for (std::size_t tile_i = 0; tile_i < whole; tile_i += kRowPadding) {
    for (std::size_t tile_j = tile_i; tile_j < whole; tile_j += kRowPadding) {
      for (std::size_t i = tile_i; i < tile_i + kRowPadding; ++i) {
        for (std::size_t j = std::max(tile_j, i + 1); j < tile_j + kRowPadding; ++j) {
          orders_[j * stride_ + i] = orders_[i * stride_ + j];
        }
      }
    }
  }
  for (std::size_t i = whole; i < size_; ++i) {
    for (std::size_t j = 0; j < i; ++j) orders_[j * stride_ + i] = orders_[i * stride_ + j];
  }
  for (std::size_t i = 0; i < size_; ++i) orders_[i * stride_ + i] = 0;
}

}  // namespace puretour
