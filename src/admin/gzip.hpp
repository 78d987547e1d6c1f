// Texts that go compressed to those who take them so.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::admin {

/// Whether a request names gzip in Accept-Encoding (RFC 9110 section 12.5.3). Who says nothing gets
/// the text as it is.
[[nodiscard]] bool takes_gzip(std::span<const base::field> fields);

/// The text in the form of RFC 1952. Throws std::bad_alloc.
[[nodiscard]] std::string gzip_of(std::string_view text);

}  // namespace onceguard::admin
