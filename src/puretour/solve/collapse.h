// Equal points solved as one: they create zero-length plateaus and fill candidate lists with copies.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "puretour/tour/instance.h"
#include "puretour/tour/tour.h"

namespace puretour {

/// An instance without repeated points, and the way back. Copies of a point are consecutive in some optimal tour of
/// every metric that is collapsed, so solving the collapsed instance loses nothing.
class CollapsedInstance {
 public:
  /// O(n log n). EXPLICIT and GEO instances, in which copies have a distance, are kept as they are.
  explicit CollapsedInstance(const Instance& instance);

  /// The distinct points, in the order in which they first occur. The original instance if there are no copies.
  [[nodiscard]] const Instance& instance() const { return instance_; }
  [[nodiscard]] bool has_copies() const { return !first_copy_.empty(); }

  /// The tour of the original instance that visits all copies of a point one after the other; the same length.
  [[nodiscard]] Tour expanded(const Tour& collapsed) const;

  /// The tour of the collapsed instance that visits each point where the given tour visits its first copy.
  [[nodiscard]] Tour collapsed(const Tour& original) const;

 private:
  Instance instance_;
  // Of each original node its collapsed one; of each collapsed node where its copies begin in copies_. Empty without
  // copies.
  std::vector<NodeId> collapsed_node_;
  std::vector<std::size_t> first_copy_;
  std::vector<NodeId> copies_;
};

}  // namespace puretour
