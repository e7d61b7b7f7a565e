// A small XML reader: refuses what is not well-formed, and lists the elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace puretour::test {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly inside it, entities replaced

  [[nodiscard]] double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  /// All elements in the order of their start tags. Throws std::runtime_error if the document is not well-formed.
  /// Prologues, comments and CDATA are not known.
  std::vector<XmlElement> read() {
    check_utf8();
    while (position_ < text_.size()) {
      if (text_[position_] != '<') {
        read_text();
      } else if (text_.substr(position_).starts_with("</")) {
        read_end_tag();
      } else {
        read_start_tag();
      }
    }
    if (!open_.empty()) fail("an element is not closed: " + elements_[open_.back()].name);
    if (elements_.empty()) fail("there is no element");
    return elements_;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw std::runtime_error("byte " + std::to_string(position_) + ": " + problem);
  }

  char next() {
    if (position_ == text_.size()) fail("the text ends too early");
    return text_[position_++];
  }
  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void expect(char c) {
    if (next() != c) fail(std::string("expected ") + c);
  }
  void skip_blanks() {
    while (std::isspace(static_cast<unsigned char>(peek())) != 0) ++position_;
  }

  std::string read_name() {
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '-' || peek() == ':') name += next();
    if (name.empty()) fail("expected a name");
    return name;
  }

  std::string read_character() {
    const char c = next();
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') fail("a control character");
    if (c != '&') return {c};
    const std::array<std::pair<std::string_view, const char*>, 5> entities = {
        {{"lt;", "<"}, {"gt;", ">"}, {"amp;", "&"}, {"quot;", "\""}, {"apos;", "'"}}};
    for (const auto& [entity, character] : entities) {
      if (!text_.substr(position_).starts_with(entity)) continue;
      position_ += entity.size();
      return character;
    }
    fail("an unknown entity");
  }

  void read_text() {
    const std::string piece = read_character();
    if (!open_.empty()) {
      elements_[open_.back()].text += piece;
    } else if (std::isspace(static_cast<unsigned char>(piece[0])) == 0) {
      fail("text outside of the document");
    }
  }

  void read_start_tag() {
    expect('<');
    if (open_.empty() && !elements_.empty()) fail("a second document");
    XmlElement element{read_name(), {}, {}};
    for (skip_blanks(); peek() != '>' && peek() != '/'; skip_blanks()) {
      const std::string attribute = read_name();
      expect('=');
      expect('"');
      std::string value;
      while (peek() != '"') {
        if (peek() == '<') fail("< in an attribute");
        value += read_character();
      }
      expect('"');
      if (!element.attributes.emplace(attribute, value).second) fail("an attribute is there twice: " + attribute);
    }
    elements_.push_back(std::move(element));
    if (peek() == '/') {
      expect('/');
    } else {
      open_.push_back(elements_.size() - 1);
    }
    expect('>');
  }

  void read_end_tag() {
    position_ += 2;
    const std::string name = read_name();
    expect('>');
    if (open_.empty() || elements_[open_.back()].name != name) fail("an end without a beginning: " + name);
    open_.pop_back();
  }

  void check_utf8() {
    for (; position_ < text_.size(); ++position_) {
      const auto lead = static_cast<unsigned char>(text_[position_]);
      if (lead < 0x80) continue;
      if (lead < 0xc2 || lead > 0xf4) fail("not UTF-8");
      const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      for (int i = 0; i < more; ++i) {
        ++position_;
        if ((static_cast<unsigned char>(peek()) & 0xc0) != 0x80) fail("not UTF-8");
      }
    }
    position_ = 0;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::vector<XmlElement> elements_;
  std::vector<std::size_t> open_;
};

inline std::vector<XmlElement> read_xml(std::string_view text) {
  return XmlReader(text).read();
}

}  // namespace puretour::test
