// Where a value of a delivery stands, and texts with placeholders, which are filled in from a
// delivery: what is signed, and ids.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::webhook {

struct source {
  enum class location : std::uint8_t {
    header,       ///< a header field
    json,         ///< in a JSON body; `name` is an RFC 6901 pointer
    form,         ///< a parameter of a body that is a form
    form_json,    ///< in JSON that such a parameter holds; `name` is NAME:/POINTER
    query,        ///< a parameter of the request's query
    signature,    ///< an element NAME=VALUE of the text with the signature
    signed_hash,  ///< SHA-256 in hex of what is signed; without a name
  };
  location where = location::header;
  std::string name{};
  friend bool operator==(const source&, const source&) = default;
};

/// "header:NAME", "json:/POINTER", "form:NAME", "form:NAME:/POINTER", "query:NAME",
/// "signature:NAME", "signed-hash".
[[nodiscard]] result<source> parse_source(std::string_view text);

struct pattern_part {
  enum class kind : std::uint8_t {
    literal,
    id,
    timestamp,
    body,
    crc32,  ///< CRC-32 of the body (ISO 3309, as in zlib) in decimal digits
    form,  ///< names and values of a body that is a form, sorted, each pair once, joined by nothing
    url,   ///< the public URL, with the request's query
    webhook_id,
    value,  ///< that of `position`
  };
  kind type = kind::literal;
  std::string text{};      ///< of a literal
  source position{};       ///< of a value
  bool takes_any = false;  ///< whether the value may contain what stands beside it
};

using pattern = std::vector<pattern_part>;

/// Text with {id}, {timestamp}, {body}, {crc32}, {form}, {url}, {webhook_id}, {header:NAME},
/// {json:/POINTER}, {form:NAME} and {query:NAME}; a star in front, as in {*json:/a}, sets
/// `takes_any`. The error says what was expected.
[[nodiscard]] result<pattern> parse_pattern(std::string_view text);

/// A source alone, such as "json:/id", or a text with values only, such as "{json:/a}:{json:/b}".
[[nodiscard]] result<pattern> parse_id(std::string_view text);

[[nodiscard]] bool contains(const pattern& text, pattern_part::kind type) noexcept;
/// Whether {header:NAME} and its like are in the text with this source.
[[nodiscard]] bool contains(const pattern& text, const source& position) noexcept;

/// Whether the value at this part of the text leaves no doubt where it begins and ends between what
/// stands beside it.
[[nodiscard]] bool stands_apart(const pattern& text, std::size_t index, std::string_view value);

}  // namespace onceguard::webhook
