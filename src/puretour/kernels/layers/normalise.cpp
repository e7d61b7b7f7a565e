// SPDX-License-Identifier: MIT
#include "puretour/kernels/layers/normalise.h"

#include <algorithm>
#include <cstring>

#include "puretour/base/vectorize.h"
#include "puretour/kernels/simd/row_moments.h"
#include "puretour/kernels/simd/rows.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {
namespace {

template <int kLanes>
PURETOUR_INLINE void layer_norm_gradient_impl(const float* sum, const float* out_gradient, std::size_t num_rows,
                                              std::size_t dim, const float* scale, float epsilon, float* sum_gradient,
                                              float* scale_gradient, float* shift_gradient) {
  using B = Block<kLanes>;
  const std::size_t whole = dim / kBlock * kBlock;
  const auto count = static_cast<float>(dim);
  for (std::size_t r = 0; r < num_rows; ++r) {
    const float* x = sum + r * dim;
    const float* incoming = out_gradient + r * dim;
    float* out = sum_gradient + r * dim;
    const auto [mean, root] = row_moments<kLanes>(x, dim, epsilon);
    B value;
    // Means of the gradient before scale and shift, and of its product with the normalised values.
    B gradients;
    B products;
    B::fill(gradients, 0);
    B::fill(products, 0);
    for (std::size_t i = 0; i < whole; i += kBlock) {
      B gradient;
      B factor;
      B of_scale;
      B of_shift;
      B::load(value, x + i);
      B::load(gradient, incoming + i);
      B::load(factor, scale + i);
      B::load(of_scale, scale_gradient + i);
      B::load(of_shift, shift_gradient + i);
      for (std::size_t p = 0; p < B::kRegisters; ++p) {
        const auto normalised = (value.part[p] - mean) * root;
        of_scale.part[p] += gradient.part[p] * normalised;
        of_shift.part[p] += gradient.part[p];
        const auto inner = gradient.part[p] * factor.part[p];
        gradients.part[p] += inner;
        products.part[p] += inner * normalised;
      }
      B::store(of_scale, scale_gradient + i);
      B::store(of_shift, shift_gradient + i);
    }
    float gradient_mean = B::sum(gradients);
    float product_mean = B::sum(products);
    for (std::size_t i = whole; i < dim; ++i) {
      const float normalised = (x[i] - mean) * root;
      scale_gradient[i] += incoming[i] * normalised;
      shift_gradient[i] += incoming[i];
      gradient_mean += incoming[i] * scale[i];
      product_mean += incoming[i] * scale[i] * normalised;
    }
    gradient_mean /= count;
    product_mean /= count;
    for (std::size_t i = 0; i < whole; i += kBlock) {
      B gradient;
      B factor;
      B::load(value, x + i);
      B::load(gradient, incoming + i);
      B::load(factor, scale + i);
      for (std::size_t p = 0; p < B::kRegisters; ++p) {
        const auto normalised = (value.part[p] - mean) * root;
        gradient.part[p] = (gradient.part[p] * factor.part[p] - gradient_mean - normalised * product_mean) * root;
      }
      B::store(gradient, out + i);
    }
    for (std::size_t i = whole; i < dim; ++i) {
      const float normalised = (x[i] - mean) * root;
      out[i] = (incoming[i] * scale[i] - gradient_mean - normalised * product_mean) * root;
    }
  }
}

}  // namespace

PURETOUR_KERNEL(layer_norm_gradient,
                (const float* sum, const float* out_gradient, std::size_t num_rows, std::size_t dim, const float* scale,
                 float epsilon, float* sum_gradient, float* scale_gradient, float* shift_gradient),
                (sum, out_gradient, num_rows, dim, scale, epsilon, sum_gradient, scale_gradient, shift_gradient))

void add_layer_norm(const float* a, const float* b, std::size_t num_rows, std::size_t dim, const float* scale,
                    const float* shift, float epsilon, float* sum, float* out) {
  // Row by row, so that a row is still in the cache for its normalisation.
  for (std::size_t r = 0; r < num_rows; ++r) {
    std::copy_n(a + r * dim, dim, out + r * dim);
    if (b != nullptr) {
      add(out + r * dim, b + r * dim, dim);
      std::copy_n(out + r * dim, dim, sum + r * dim);
    }
    layer_norm(out + r * dim, 1, dim, scale, shift, epsilon);
  }
}

namespace {

// A register of doubles and as many floats.
template <int kLanes>
struct DoubleRegister;
template <>
struct DoubleRegister<4> {
  typedef float Float __attribute__((vector_size(8)));
  typedef double Double __attribute__((vector_size(16)));
  PURETOUR_INLINE static void widen(const Float& x, Double& out) { out = __builtin_convertvector(x, Double); }
};
template <>
struct DoubleRegister<8> {
  typedef float Float __attribute__((vector_size(16)));
  typedef double Double __attribute__((vector_size(32)));
  PURETOUR_INLINE static void widen(const Float& x, Double& out) { out = __builtin_convertvector(x, Double); }
};
template <>
struct DoubleRegister<16> {
  typedef float Float __attribute__((vector_size(32)));
  typedef double Double __attribute__((vector_size(64)));
  PURETOUR_INLINE static void widen(const Float& x, Double& out) { out = __builtin_convertvector(x, Double); }
};

template <class Vector, class Number>
PURETOUR_INLINE void load_register(Vector& to, const Number* from) {
  std::memcpy(&to, from, sizeof to);
}

// Sums stay in registers while all rows pass.
template <int kLanes>
PURETOUR_INLINE void add_column_moments_impl(const float* x, std::size_t num_rows, std::size_t dim, double* sums,
                                             double* squares) {
  using R = DoubleRegister<kLanes>;
  constexpr std::size_t kCount = kLanes / 2;
  const std::size_t whole = dim / kCount * kCount;
  for (std::size_t c = 0; c < whole; c += kCount) {
    typename R::Double sum;
    typename R::Double square;
    load_register(sum, sums + c);
    load_register(square, squares + c);
    for (std::size_t r = 0; r < num_rows; ++r) {
      typename R::Float narrow;
      typename R::Double value;
      load_register(narrow, x + r * dim + c);
      R::widen(narrow, value);
      sum += value;
      square += value * value;
    }
    std::memcpy(sums + c, &sum, sizeof sum);
    std::memcpy(squares + c, &square, sizeof square);
  }
  for (std::size_t c = whole; c < dim; ++c) {
    for (std::size_t r = 0; r < num_rows; ++r) {
      const auto value = static_cast<double>(x[r * dim + c]);
      sums[c] += value;
      squares[c] += value * value;
    }
  }
}

// In float for a few rows at a time: gradients need no more, and it is twice as fast.
template <int kLanes>
PURETOUR_INLINE void add_gradient_moments_impl(const float* x, const float* gradient, std::size_t num_rows,
                                               std::size_t dim, const float* mean, const float* root, double* sums,
                                               double* products) {
  using B = Block<kLanes>;
  constexpr std::size_t kRows = 64;
  const std::size_t whole = dim / kBlock * kBlock;
  for (std::size_t begin = 0; begin < num_rows; begin += kRows) {
    const std::size_t end = std::min(begin + kRows, num_rows);
    for (std::size_t c = 0; c < whole; c += kBlock) {
      B sum;
      B product;
      B means;
      B roots;
      B::fill(sum, 0);
      B::fill(product, 0);
      B::load(means, mean + c);
      B::load(roots, root + c);
      for (std::size_t r = begin; r < end; ++r) {
        B value;
        B incoming;
        B::load(value, x + r * dim + c);
        B::load(incoming, gradient + r * dim + c);
        B::add(sum, incoming);
        for (std::size_t p = 0; p < B::kRegisters; ++p) {
          product.part[p] += incoming.part[p] * ((value.part[p] - means.part[p]) * roots.part[p]);
        }
      }
      float lanes[kBlock];
      B::store(sum, lanes);
      for (std::size_t i = 0; i < kBlock; ++i) sums[c + i] += static_cast<double>(lanes[i]);
      B::store(product, lanes);
      for (std::size_t i = 0; i < kBlock; ++i) products[c + i] += static_cast<double>(lanes[i]);
    }
    for (std::size_t c = whole; c < dim; ++c) {
      for (std::size_t r = begin; r < end; ++r) {
        const float normalised = (x[r * dim + c] - mean[c]) * root[c];
        sums[c] += static_cast<double>(gradient[r * dim + c]);
        products[c] += static_cast<double>(gradient[r * dim + c] * normalised);
      }
    }
  }
}

}  // namespace

PURETOUR_KERNEL(add_column_moments,
                (const float* x, std::size_t num_rows, std::size_t dim, double* sums, double* squares),
                (x, num_rows, dim, sums, squares))
PURETOUR_KERNEL(add_gradient_moments,
                (const float* x, const float* gradient, std::size_t num_rows, std::size_t dim, const float* mean,
                 const float* root, double* sums, double* products),
                (x, gradient, num_rows, dim, mean, root, sums, products))

PURETOUR_VECTORISED void batch_norm_gradient(const float* x, const float* gradient, std::size_t num_rows,
                                             std::size_t dim, const float* mean, const float* root,
                                             const float* gradient_mean, const float* product_mean, const float* factor,
                                             float* out) {
  for (std::size_t r = 0; r < num_rows; ++r) {
    for (std::size_t c = 0; c < dim; ++c) {
      const float normalised = (x[r * dim + c] - mean[c]) * root[c];
      out[r * dim + c] = (gradient[r * dim + c] - gradient_mean[c] - normalised * product_mean[c]) * factor[c];
    }
  }
}

}  // namespace puretour::kernels
