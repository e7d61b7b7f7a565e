// Arrays in NumPy's .npy format, in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace puretour {

/// A numeric array inside the bytes of a .npy file; the bytes must outlive it.
struct NpyArray {
  char kind = 'f';             // 'f' float, 'i' signed, 'u' unsigned integer
  std::size_t item_bytes = 8;  // 4 or 8 for floats; 1, 2, 4 or 8 for integers
  bool fortran_order = false;  // first index fastest, instead of the last
  std::vector<std::size_t> shape;
  std::string_view items;        // as stored: little endian, in the order above
  std::size_t items_offset = 0;  // of `items` in the file, for messages

  [[nodiscard]] std::size_t size() const { return items.size() / item_bytes; }
  [[nodiscard]] bool is_float() const { return kind == 'f'; }
  [[nodiscard]] std::string type_name() const;   // "<f8"
  [[nodiscard]] std::string shape_name() const;  // "(3, 2)"
};

/// Reads the header, versions 1 to 3, and checks that it fits the number of bytes. Throws InputError
/// "SOURCE:byte OFFSET: ..." for anything else, and for big-endian, structured, complex or object arrays.
NpyArray parse_npy(std::string_view bytes, const std::string& source);

/// All items in C order (last index fastest). Integers must be asked from an integer array; unsigned 64-bit values
/// beyond int64 become its maximum. Doubles come from any array.
std::vector<double> npy_doubles(const NpyArray& array);
std::vector<std::int64_t> npy_integers(const NpyArray& array);

/// The bytes of a .npy file, version 1, C order: <f8, <f4 (rounded) or <i8. The shape must fit the number of values.
std::string format_npy(std::span<const double> values, std::span<const std::size_t> shape, bool single_precision);
std::string format_npy(std::span<const std::int64_t> values, std::span<const std::size_t> shape);

}  // namespace puretour
