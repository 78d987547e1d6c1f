// The contents of a body that was sent compressed.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::core {

/// The contents of gzip data (RFC 1952), all members of it. Empty: the data is not well-formed, or
/// its contents are longer than `longest`; no more than that is ever held.
[[nodiscard]] std::optional<std::string> gunzip(std::string_view data, std::size_t longest);

}  // namespace onceguard::core
