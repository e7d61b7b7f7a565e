// How long work of very different sizes will still take.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace puretour {

/// Work comes in kinds (a solver on a set), each with pieces of one size. What a kind takes is known from its finished
/// pieces, or guessed from another kind of the same family. Not for several threads.
class RemainingTime {
 public:
  /// A kind of work with `pieces` pieces of `size` nodes each; families are solvers. Returns its number.
  std::size_t add_kind(std::size_t family, std::size_t size, std::size_t pieces);

  void finish_piece(std::size_t kind, double seconds);

  /// Seconds of one thread; nothing as long as some family with work left is unknown.
  [[nodiscard]] std::optional<double> seconds_left() const;

 private:
  struct Kind {
    std::size_t family;
    double size;
    std::size_t left;
    std::size_t num_finished = 0;
    double seconds = 0;
  };
  std::vector<Kind> kinds_;
};

}  // namespace puretour
