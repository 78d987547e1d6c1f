#include <cstddef>

#include <onceguard/key.hpp>

#include "base/ascii.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) noexcept { return is_lower(base::ascii_lower(c)); }
bool is_hex(char c) noexcept {
  const char lower = base::ascii_lower(c);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}
bool is_one_of(char c, std::string_view set) noexcept {
  return set.find(c) != std::string_view::npos;
}
bool is_visible(char c) noexcept { return c >= 0x20 && c <= 0x7E; }

constexpr const char* not_visible = "a control or non-ASCII character";

/// The characters of an unquoted key. Excludes comma, semicolon, quotation mark and space, which
/// have a meaning in structured fields and lists.
bool is_bare(char c) noexcept {
  return is_letter(c) || is_digit(c) || is_one_of(c, "-._~:/+=@!$&'()*%#^|");
}

/// One field value and the position in it. Members return false with `fault_` set.
class reader {
 public:
  explicit reader(std::string_view value) noexcept : text_(value) {
    const auto inner = base::trim(value);
    position_ = static_cast<std::size_t>(inner.data() - value.data());
    text_ = value.substr(0, position_ + inner.size());
  }

  [[nodiscard]] bool at_end() const noexcept { return position_ == text_.size(); }
  [[nodiscard]] bool quoted() const noexcept { return peek() == '"'; }

  bool string(std::string& out) {
    content_ = position_ + 1;
    if (!each_of_string([&](char c) { return put(c, out); })) return false;
    return !out.empty() || fail_at(content_, "the key is empty");
  }

  bool bare(std::string& out) {
    content_ = position_;
    while (!at_end()) {
      const char c = text_[position_];
      if (c == ',') return fail("a list, where one key is wanted");
      if (!is_visible(c)) return fail(not_visible);
      if (!is_bare(c)) return fail("a character that needs a quoted key");
      if (!put(c, out)) return false;
    }
    return true;
  }

  /// RFC 8941 section 4.2.3.2: checks that the parameters are well-formed, and discards them.
  bool parameters() {
    while (peek() == ';') {
      ++position_;
      while (peek() == ' ') ++position_;
      if (!is_lower(peek()) && peek() != '*') return fail("a parameter's name is missing");
      skip([](char c) { return is_lower(c) || is_digit(c) || is_one_of(c, "_-.*"); });
      if (peek() != '=') continue;
      ++position_;
      if (!bare_item()) return false;
    }
    return true;
  }

  bool end() {
    if (at_end()) return true;
    const auto after_space = text_.find_first_not_of(" \t", position_);
    if (text_[after_space] == ',') {
      return fail_at(after_space, "a list, where one key is wanted");
    }
    return fail("something follows the key");
  }

  bool fail(const char* description) noexcept { return fail_at(position_, description); }
  bool fail_at(std::size_t position, const char* description) noexcept {
    position_ = position;
    fault_ = description;
    return false;
  }
  /// A fault in the key itself, at its byte `offset`, before any escape.
  bool fail_in_key(std::size_t offset, const char* description) noexcept {
    return fail_at(content_ + offset, description);
  }
  [[nodiscard]] error fault() const {
    return {errc::invalid_argument,
            std::string(fault_) + " (byte " + std::to_string(position_ + 1) + ")"};
  }

 private:
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : text_[position_]; }

  template <class Accept>
  std::size_t skip(Accept accept) noexcept {
    const auto first = position_;
    while (!at_end() && accept(text_[position_])) ++position_;
    return position_ - first;
  }

  /// Appends `c`, which is the character of the key at the current position.
  bool put(char c, std::string& out) {
    if (out.size() == key_size_max) return fail("the key is longer than 255 bytes");
    out += c;
    ++position_;
    return true;
  }

  /// RFC 8941 section 4.2.5: calls `take` with each character. `take` moves past the character.
  template <class Take>
  bool each_of_string(Take take) {
    ++position_;
    while (!at_end()) {
      char c = text_[position_];
      if (c == '"') {
        ++position_;
        return true;
      }
      if (c == '\\') {
        ++position_;
        c = peek();
        if (c != '"' && c != '\\') return fail("a backslash stands before \" and \\ only");
      }
      if (!is_visible(c)) return fail(not_visible);
      if (!take(c)) return false;
    }
    return fail("the closing quotation mark is missing");
  }

  bool bare_item() {
    const char c = peek();
    if (c == '"') {
      return each_of_string([this](char) { return ++position_, true; });
    }
    if (c == '-' || is_digit(c)) return number_item();
    if (c == ':') return bytes_item();
    if (c == '?') {
      ++position_;
      if (peek() != '0' && peek() != '1') return fail("a parameter's value is malformed");
      ++position_;
      return true;
    }
    if (is_letter(c) || c == '*') {
      skip([](char t) { return is_letter(t) || is_digit(t) || is_one_of(t, "!#$%&'*+-.^_`|~:/"); });
      return true;
    }
    return fail("a parameter's value is malformed");
  }

  /// An integer of up to 15 digits, or a decimal with up to 12 digits before the point and up to 3
  /// after.
  bool number_item() {
    if (peek() == '-') ++position_;
    const auto whole = skip(is_digit);
    if (peek() != '.') {
      return (whole >= 1 && whole <= 15) || fail("a parameter's number is malformed");
    }
    if (whole < 1 || whole > 12) return fail("a parameter's number is malformed");
    ++position_;
    const auto fraction = skip(is_digit);
    return (fraction >= 1 && fraction <= 3) || fail("a parameter's number is malformed");
  }

  /// Base64 between colons, with or without padding.
  bool bytes_item() {
    ++position_;
    const auto size =
        skip([](char c) { return is_letter(c) || is_digit(c) || is_one_of(c, "+/"); });
    const auto padding = skip([](char c) { return c == '='; });
    const bool padded = padding <= 2 && (size + padding) % 4 == 0;
    if (peek() != ':' || !(padding > 0 ? padded : size % 4 != 1)) {
      return fail("a parameter's byte sequence is malformed");
    }
    ++position_;
    return true;
  }

  std::string_view text_;  // without trailing white space; positions count from the caller's text
  std::size_t position_ = 0;
  std::size_t content_ = 0;  // where the key itself begins
  const char* fault_ = "";
};

/// The number of leading characters that match the form of a UUID. A complete UUID has exactly 36.
std::size_t uuid_prefix(std::string_view text) noexcept {
  constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  std::size_t i = 0;
  while (i < text.size() && i < form.size() &&
         (form[i] == '-' ? text[i] == '-' : is_hex(text[i]))) {
    ++i;
  }
  return i;
}

bool read_key(reader& reader, std::string& key, key_syntax syntax, key_format format) {
  if (reader.at_end()) return reader.fail("the key is empty");
  if (reader.quoted()) {
    if (!reader.string(key) || !reader.parameters() || !reader.end()) return false;
  } else if (syntax == key_syntax::strict) {
    return reader.fail("the key is not in quotation marks");
  } else if (!reader.bare(key)) {
    return false;
  }
  if (format == key_format::uuid && !is_uuid(key)) {
    return reader.fail_in_key(uuid_prefix(key), "not a UUID, 8-4-4-4-12 hexadecimal digits");
  }
  return true;
}

}  // namespace

result<std::string> parse_key(std::string_view field_value, key_syntax syntax, key_format format) {
  reader reader(field_value);
  std::string key;
  if (!read_key(reader, key, syntax, format)) return reader.fault();
  return key;
}

bool is_uuid(std::string_view text) noexcept {
  return text.size() == 36 && uuid_prefix(text) == 36;
}

}  // namespace v1
}  // namespace onceguard
