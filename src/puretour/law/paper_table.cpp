// SPDX-License-Identifier: MIT
#include "puretour/law/paper_table.h"

#include <algorithm>
#include <array>

namespace puretour {
namespace {

using enum Distribution;

// "Purity Law for Generalizable Neural TSP Solvers", appendix: fits of 84 instance types.
constexpr std::array<PaperFit, 84> kTable = {{
    {20, kUniform, 0.8860, 2.2514, 6.58e-05},     {20, kClustered, 0.8554, 2.0800, 2.45e-04},
    {20, kExplosion, 0.8835, 2.2483, 1.01e-04},   {20, kImplosion, 0.8872, 2.2630, 5.71e-05},
    {50, kUniform, 0.9115, 2.5166, 5.42e-05},     {50, kClustered, 0.8919, 2.3295, 7.90e-05},
    {50, kExplosion, 0.9027, 2.4152, 3.96e-05},   {50, kImplosion, 0.9002, 2.3923, 5.05e-05},
    {100, kUniform, 0.9204, 2.5974, 2.41e-05},    {100, kClustered, 0.9124, 2.5133, 3.75e-05},
    {100, kExplosion, 0.9091, 2.4567, 1.85e-05},  {100, kImplosion, 0.9137, 2.5286, 3.61e-05},
    {150, kUniform, 0.9236, 2.6410, 2.54e-05},    {150, kClustered, 0.9188, 2.5782, 2.57e-05},
    {150, kExplosion, 0.9150, 2.5412, 2.96e-05},  {150, kImplosion, 0.9184, 2.5681, 1.78e-05},
    {200, kUniform, 0.9236, 2.6384, 2.18e-05},    {200, kClustered, 0.9221, 2.6192, 2.20e-05},
    {200, kExplosion, 0.9197, 2.6002, 2.62e-05},  {200, kImplosion, 0.9202, 2.5887, 1.63e-05},
    {250, kUniform, 0.9263, 2.6568, 1.18e-05},    {250, kClustered, 0.9245, 2.6366, 1.35e-05},
    {250, kExplosion, 0.9209, 2.6066, 2.38e-05},  {250, kImplosion, 0.9227, 2.6337, 2.42e-05},
    {300, kUniform, 0.9259, 2.6535, 1.26e-05},    {300, kClustered, 0.9258, 2.6578, 1.49e-05},
    {300, kExplosion, 0.9211, 2.6057, 2.06e-05},  {300, kImplosion, 0.9224, 2.6201, 2.08e-05},
    {350, kUniform, 0.9273, 2.6762, 1.39e-05},    {350, kClustered, 0.9263, 2.6621, 1.40e-05},
    {350, kExplosion, 0.9236, 2.6318, 1.61e-05},  {350, kImplosion, 0.9224, 2.6166, 1.71e-05},
    {400, kUniform, 0.9278, 2.6814, 1.33e-05},    {400, kClustered, 0.9280, 2.6918, 1.54e-05},
    {400, kExplosion, 0.9241, 2.6430, 1.80e-05},  {400, kImplosion, 0.9235, 2.6206, 1.05e-05},
    {450, kUniform, 0.9280, 2.6805, 1.04e-05},    {450, kClustered, 0.9288, 2.6947, 1.12e-05},
    {450, kExplosion, 0.9234, 2.6289, 1.61e-05},  {450, kImplosion, 0.9260, 2.6633, 1.52e-05},
    {500, kUniform, 0.9273, 2.6634, 8.38e-06},    {500, kClustered, 0.9288, 2.6936, 1.15e-05},
    {500, kExplosion, 0.9256, 2.6515, 1.18e-05},  {500, kImplosion, 0.9255, 2.6536, 1.28e-05},
    {550, kUniform, 0.9306, 2.7190, 1.04e-05},    {550, kClustered, 0.9298, 2.7186, 1.49e-05},
    {550, kExplosion, 0.9257, 2.6615, 1.94e-05},  {550, kImplosion, 0.9267, 2.6673, 1.31e-05},
    {600, kUniform, 0.9294, 2.6931, 7.55e-06},    {600, kClustered, 0.9306, 2.7207, 1.08e-05},
    {600, kExplosion, 0.9259, 2.6591, 1.48e-05},  {600, kImplosion, 0.9275, 2.6803, 1.26e-05},
    {650, kUniform, 0.9297, 2.7058, 1.13e-05},    {650, kClustered, 0.9310, 2.7293, 1.37e-05},
    {650, kExplosion, 0.9262, 2.6535, 9.63e-06},  {650, kImplosion, 0.9263, 2.6689, 1.79e-05},
    {700, kUniform, 0.9280, 2.6856, 1.34e-05},    {700, kClustered, 0.9306, 2.7175, 1.02e-05},
    {700, kExplosion, 0.9277, 2.6877, 1.40e-05},  {700, kImplosion, 0.9256, 2.6563, 1.77e-05},
    {750, kUniform, 0.9287, 2.6959, 1.22e-05},    {750, kClustered, 0.9308, 2.7251, 1.19e-05},
    {750, kExplosion, 0.9264, 2.6658, 1.50e-05},  {750, kImplosion, 0.9282, 2.6930, 1.26e-05},
    {800, kUniform, 0.9294, 2.7040, 1.22e-05},    {800, kClustered, 0.9311, 2.7323, 1.29e-05},
    {800, kExplosion, 0.9255, 2.6459, 9.97e-06},  {800, kImplosion, 0.9273, 2.6750, 1.19e-05},
    {850, kUniform, 0.9300, 2.7151, 1.30e-05},    {850, kClustered, 0.9305, 2.7184, 1.12e-05},
    {850, kExplosion, 0.9276, 2.6909, 1.80e-05},  {850, kImplosion, 0.9271, 2.6707, 1.33e-05},
    {900, kUniform, 0.9309, 2.7296, 1.33e-05},    {900, kClustered, 0.9316, 2.7357, 1.03e-05},
    {900, kExplosion, 0.9276, 2.6790, 1.08e-05},  {900, kImplosion, 0.9281, 2.6906, 1.46e-05},
    {950, kUniform, 0.9299, 2.7132, 1.33e-05},    {950, kClustered, 0.9314, 2.7376, 1.38e-05},
    {950, kExplosion, 0.9284, 2.6951, 1.44e-05},  {950, kImplosion, 0.9277, 2.6855, 1.41e-05},
    {1000, kUniform, 0.9310, 2.7340, 1.51e-05},   {1000, kClustered, 0.9318, 2.7413, 1.21e-05},
    {1000, kExplosion, 0.9282, 2.6890, 1.26e-05}, {1000, kImplosion, 0.9289, 2.6978, 1.24e-05},
}};

}  // namespace

std::span<const PaperFit> paper_fits() {
  return kTable;
}

const PaperFit* find_paper_fit(std::size_t scale, Distribution distribution) {
  const auto found = std::find_if(kTable.begin(), kTable.end(), [&](const PaperFit& fit) {
    return fit.scale == scale && fit.distribution == distribution;
  });
  return found == kTable.end() ? nullptr : &*found;
}

std::size_t paper_instances(std::size_t scale) {
  return scale < 500 ? 256 : 128;
}

}  // namespace puretour
