// A picture that explains purity: a tour with its edges coloured by purity order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

struct TourPictureOptions {
  std::string title;            // default: the name of the instance
  std::size_t num_circles = 3;  // covering circles drawn, for the edges of highest order
};

/// More nodes make a file that no viewer opens gladly.
inline constexpr std::size_t kMaxPictureNodes = 200'000;

/// An SVG document: the tour, the covering circles of its worst edges with the nodes inside them, a legend that says
/// what an order is, the histogram of orders and the three metrics. `orders` as from tour_orders. Throws InputError if
/// the instance has no coordinates or too many nodes.
std::string tour_picture_svg(const Instance& instance, const Tour& tour, std::span<const std::uint32_t> orders,
                             const TourPictureOptions& options = {});

}  // namespace puretour
