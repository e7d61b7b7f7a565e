// SPDX-License-Identifier: MIT
#include "puretour/tour/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "puretour/base/error.h"
#include "puretour/base/text.h"

namespace puretour {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they lie in little-endian files");

constexpr std::string_view kMagic = "\x93NUMPY";

/// Reads the Python dictionary in a header, e.g. {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset, const std::string& source)
      : text_(text), offset_(offset), source_(source) {}

  NpyArray parse() {
    expect('{');
    while (!accept('}')) {
      const std::size_t key_position = position_;
      const std::string_view key = take_string();
      expect(':');
      if (key == "descr") {
        set_once(has_type_, key_position, key);
        take_type();
      } else if (key == "fortran_order") {
        set_once(has_order_, key_position, key);
        array_.fortran_order = take_bool();
      } else if (key == "shape") {
        set_once(has_shape_, key_position, key);
        take_shape();
      } else {
        fail(key_position, fmt::format("unknown key {} in the header", quote_input(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_white();
    if (position_ != text_.size()) fail(position_, fmt::format("unexpected {} after the header", quote_input(rest())));
    if (!has_type_ || !has_order_ || !has_shape_) {
      fail(0, "the header lacks one of 'descr', 'fortran_order' and 'shape'");
    }
    return array_;
  }

 private:
  [[noreturn]] void fail(std::size_t position, const std::string& message) const {
    throw InputError(fmt::format("{}:byte {}: {}", source_, offset_ + position, message));
  }

  void set_once(bool& flag, std::size_t position, std::string_view key) const {
    if (flag) fail(position, fmt::format("second '{}' in the header", key));
    flag = true;
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(position_); }

  void skip_white() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  bool accept(char c) {
    skip_white();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(position_, fmt::format("expected '{}' in the header, found {}", c, quote_input(rest())));
  }

  std::string_view take_string() {
    skip_white();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      fail(position_, fmt::format("expected a quoted word in the header, found {}", quote_input(rest())));
    }
    const std::string_view word = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return word;
  }

  bool take_bool() {
    skip_white();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (rest().starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    fail(position_, fmt::format("expected True or False in the header, found {}", quote_input(rest())));
  }

  void take_type() {
    skip_white();
    const std::size_t begin = position_;
    if (rest().starts_with('[')) fail(begin, "structured arrays are not supported; save plain float or integer arrays");
    const std::string_view type = take_string();
    const char order = type.empty() ? '\0' : type[0];
    if (type.size() == 3 && (order == '<' || order == '|')) {
      array_.kind = type[1];
      array_.item_bytes = static_cast<std::size_t>(type[2] - '0');
      const bool is_integer = array_.kind == 'i' || array_.kind == 'u';
      const bool has_size = type[2] == '1' || type[2] == '2' || type[2] == '4' || type[2] == '8';
      if (has_size && (order == '|') == (type[2] == '1') && (is_integer || (array_.kind == 'f' && type[2] >= '4'))) {
        return;
      }
    }
    fail(begin, fmt::format("array type {} is not supported; save with .astype('<f8'), '<f4' or an integer type",
                            quote_input(type)));
  }

  void take_shape() {
    expect('(');
    while (!accept(')')) {
      skip_white();
      std::size_t extent = 0;
      const auto [end, error] = std::from_chars(rest().data(), rest().data() + rest().size(), extent);
      if (error != std::errc()) {
        fail(position_, fmt::format("expected a length in the shape, found {}", quote_input(rest())));
      }
      position_ = static_cast<std::size_t>(end - text_.data());
      array_.shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  std::size_t offset_;
  const std::string& source_;
  std::size_t position_ = 0;
  NpyArray array_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::optional<std::size_t> product(std::span<const std::size_t> factors) {
  std::size_t result = 1;
  for (const std::size_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  }
  return result;
}

/// Where the items of a Fortran-order array lie while C order (last index fastest) is walked through.
class FortranPlace {
 public:
  explicit FortranPlace(std::span<const std::size_t> shape) {
    std::size_t stride = 1;
    for (const std::size_t extent : shape) {
      axes_.push_back({extent, stride, 0});
      stride *= extent;
    }
  }

  [[nodiscard]] std::size_t offset() const { return offset_; }

  void advance() {
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      offset_ += axis->stride;
      if (++axis->index < axis->extent) return;
      offset_ -= axis->stride * axis->extent;
      axis->index = 0;
    }
  }

 private:
  struct Axis {
    std::size_t extent;
    std::size_t stride;
    std::size_t index;
  };
  std::vector<Axis> axes_;
  std::size_t offset_ = 0;
};

template <typename Stored, typename Value>
Value converted(Stored stored) {
  if constexpr (std::is_same_v<Stored, std::uint64_t> && std::is_same_v<Value, std::int64_t>) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(stored, kMax));
  } else {
    return static_cast<Value>(stored);
  }
}

template <typename Stored, typename Value>
std::vector<Value> converted_items(const NpyArray& array) {
  std::vector<Value> values(array.size());
  const auto stored_at = [&array](std::size_t i) {
    Stored stored;
    std::memcpy(&stored, array.items.data() + i * sizeof(Stored), sizeof(Stored));
    return converted<Stored, Value>(stored);
  };
  if (!array.fortran_order) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = stored_at(i);
    return values;
  }
  FortranPlace place(array.shape);
  for (Value& value : values) {
    value = stored_at(place.offset());
    place.advance();
  }
  return values;
}

template <typename Value>
std::vector<Value> integers_as(const NpyArray& array) {
  const bool is_signed = array.kind == 'i';
  switch (array.item_bytes) {
    case 1:
      return is_signed ? converted_items<std::int8_t, Value>(array) : converted_items<std::uint8_t, Value>(array);
    case 2:
      return is_signed ? converted_items<std::int16_t, Value>(array) : converted_items<std::uint16_t, Value>(array);
    case 4:
      return is_signed ? converted_items<std::int32_t, Value>(array) : converted_items<std::uint32_t, Value>(array);
    default:
      return is_signed ? converted_items<std::int64_t, Value>(array) : converted_items<std::uint64_t, Value>(array);
  }
}

std::string shape_text(std::span<const std::size_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

template <typename Stored, typename Value>
std::string npy_bytes(const char* type, std::span<const Value> values, std::span<const std::size_t> shape) {
  if (product(shape) != values.size()) {
    throw InternalError(
        fmt::format("format_npy: {} values do not fill the shape {}", values.size(), shape_text(shape)));
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape_text(shape));
  // Like NumPy: the items begin at a multiple of 64 bytes, so that they can be mapped into memory.
  constexpr std::size_t kAlignment = 64;
  const std::size_t prefix_bytes = kMagic.size() + 4;
  const std::size_t unpadded = prefix_bytes + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  bytes += header;
  const std::size_t items_offset = bytes.size();
  bytes.resize(items_offset + values.size() * sizeof(Stored));
  char* place = bytes.data() + items_offset;
  for (const Value value : values) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(place, &stored, sizeof(Stored));
    place += sizeof(Stored);
  }
  return bytes;
}

}  // namespace

std::string NpyArray::type_name() const {
  return fmt::format("{}{}{}", item_bytes == 1 ? '|' : '<', kind, item_bytes);
}

std::string NpyArray::shape_name() const {
  return shape_text(shape);
}

NpyArray parse_npy(std::string_view bytes, const std::string& source) {
  const auto fail = [&source](std::size_t offset, const std::string& message) {
    throw InputError(fmt::format("{}:byte {}: {}", source, offset, message));
  };
  if (bytes.empty()) fail(0, "the file is empty; expected a .npy array");
  if (!bytes.starts_with(kMagic)) {
    fail(0, fmt::format("begins with {}, not as a .npy array", quote_input(bytes.substr(0, kMagic.size()))));
  }
  const auto byte_at = [bytes](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::size_t header_begin = kMagic.size() + 2;
  if (bytes.size() < header_begin) fail(bytes.size(), "the file is cut off in its header");
  const std::size_t major = byte_at(kMagic.size());
  const std::size_t minor = byte_at(kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    fail(kMagic.size(), fmt::format("version {}.{} is not supported; save as version 1.0, 2.0 or 3.0", major, minor));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < header_begin + length_bytes) fail(bytes.size(), "the file is cut off in its header");
  std::size_t header_size = 0;
  for (std::size_t i = length_bytes; i-- > 0;) header_size = header_size * 256 + byte_at(header_begin + i);
  header_begin += length_bytes;
  if (header_size > bytes.size() - header_begin) {
    fail(bytes.size(), fmt::format("the file is cut off in its header of {} bytes", header_size));
  }
  NpyArray array = HeaderParser(bytes.substr(header_begin, header_size), header_begin, source).parse();
  array.items_offset = header_begin + header_size;
  array.items = bytes.substr(array.items_offset);

  const std::optional<std::size_t> num_items = product(array.shape);
  std::size_t num_bytes = 0;
  if (!num_items || __builtin_mul_overflow(*num_items, array.item_bytes, &num_bytes)) {
    fail(header_begin, fmt::format("the shape {} is too large", quote_input(array.shape_name())));
  }
  if (array.items.size() < num_bytes) {
    fail(bytes.size(), fmt::format("the file is cut off: shape {} of {} needs {} bytes of items, found {}",
                                   quote_input(array.shape_name()), array.type_name(), num_bytes, array.items.size()));
  }
  if (array.items.size() > num_bytes) {
    fail(array.items_offset + num_bytes, fmt::format("{} unexpected bytes after the items of shape {}",
                                                     array.items.size() - num_bytes, quote_input(array.shape_name())));
  }
  return array;
}

std::vector<double> npy_doubles(const NpyArray& array) {
  if (!array.is_float()) return integers_as<double>(array);
  return array.item_bytes == 4 ? converted_items<float, double>(array) : converted_items<double, double>(array);
}

std::vector<std::int64_t> npy_integers(const NpyArray& array) {
  if (array.is_float()) throw InternalError("npy_integers: the array holds floats");
  return integers_as<std::int64_t>(array);
}

std::string format_npy(std::span<const double> values, std::span<const std::size_t> shape, bool single_precision) {
  return single_precision ? npy_bytes<float>("<f4", values, shape) : npy_bytes<double>("<f8", values, shape);
}

std::string format_npy(std::span<const std::int64_t> values, std::span<const std::size_t> shape) {
  return npy_bytes<std::int64_t>("<i8", values, shape);
}

}  // namespace puretour
