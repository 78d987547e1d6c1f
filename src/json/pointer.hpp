// JSON Pointers (RFC 6901) into a json_tree.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "json/tree.hpp"

namespace onceguard::core {

/// The value that a well-formed pointer points to; nothing where there is none. Elements are
/// found by their index in the text, also those that are marked as omitted.
[[nodiscard]] std::optional<std::uint32_t> find_value(const json_tree& tree,
                                                      std::string_view pointer);

}  // namespace onceguard::core
