#include <algorithm>
#include <cstddef>
#include <utility>

#include <onceguard/etag.hpp>

#include "base/ascii.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

constexpr std::string_view spaces = " \t";

/// RFC 9110: etagc is any visible octet but the quote, and what is not ASCII.
bool allowed_in_tag(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
}

class tag_reader {
 public:
  explicit tag_reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool ended() const noexcept { return position_ == text_.size(); }
  void skip_spaces() noexcept {
    position_ = std::min(text_.find_first_not_of(spaces, position_), text_.size());
  }
  /// Skips this character, if it is the next one.
  bool skip(char c) noexcept {
    const bool there = !ended() && text_[position_] == c;
    if (there) ++position_;
    return there;
  }
  [[nodiscard]] result<etag> tag() {
    etag out;
    if (text_.substr(position_).starts_with("W/")) {
      out.weak = true;
      position_ += 2;
    }
    if (!skip('"')) return wrong("an entity tag begins with a quote, or with W/ and a quote");
    const auto begin = position_;
    while (!ended() && allowed_in_tag(text_[position_])) ++position_;
    out.opaque = text_.substr(begin, position_ - begin);
    if (ended()) return wrong("the closing quote is missing");
    if (!skip('"')) return wrong("this character is not allowed in an entity tag");
    return out;
  }
  [[nodiscard]] error wrong(const char* description) const {
    return {errc::invalid_argument,
            std::string(description) + " (byte " + std::to_string(position_ + 1) + ")"};
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::string etag::text() const { return (weak ? "W/\"" : "\"") + opaque + '"'; }

etag make_etag(std::int64_t version) { return {std::to_string(version), false}; }

result<etag> parse_etag(std::string_view text) {
  tag_reader reader(base::trim(text));
  auto out = reader.tag();
  if (out && !reader.ended()) return reader.wrong("something follows the entity tag");
  return out;
}

bool strongly_equal(const etag& one, const etag& other) noexcept {
  return !one.weak && !other.weak && one.opaque == other.opaque;
}

bool weakly_equal(const etag& one, const etag& other) noexcept {
  return one.opaque == other.opaque;
}

result<etag_condition> parse_etag_condition(std::string_view value) {
  etag_condition out;
  if (base::trim(value) == "*") {
    out.any = true;
    return out;
  }
  tag_reader reader(value);
  // RFC 9110, 5.6.1: empty elements of a list are ignored.
  for (bool separated = true;;) {
    reader.skip_spaces();
    if (reader.ended()) break;
    if (reader.skip(',')) {
      separated = true;
      continue;
    }
    if (!separated) return reader.wrong("a comma is missing between two entity tags");
    auto tag = reader.tag();
    if (!tag) return tag.error();
    out.tags.push_back(std::move(*tag));
    separated = false;
  }
  if (out.tags.empty()) return reader.wrong("there is no entity tag");
  return out;
}

}  // namespace v1
}  // namespace onceguard::http
