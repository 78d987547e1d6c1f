// JSON Pointers (RFC 6901) into a tree.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "json/tree.hpp"

namespace onceguard {

/// The child that one segment of a well-formed pointer names; empty: there is none.
[[nodiscard]] std::optional<std::uint32_t> find_child(const json_tree& tree, std::uint32_t position,
                                                      std::string_view segment);

/// The node at a well-formed pointer; empty if there is no such value. An array index counts all
/// elements of the text, including elements marked as omitted.
[[nodiscard]] std::optional<std::uint32_t> find_value(const json_tree& tree,
                                                      std::string_view pointer);

}  // namespace onceguard
