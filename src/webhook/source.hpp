// Where a value of a delivery stands.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace onceguard::webhook
