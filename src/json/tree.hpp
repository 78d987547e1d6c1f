// A JSON text as a flat tree: what the canonical form is written from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/cursor.hpp"

namespace onceguard::core {

inline constexpr std::size_t json_depth_max = 512;  ///< arrays and objects within one another

enum class json_kind : std::uint8_t { null, no, yes, number, string, array, object };

/// A stretch of one of the tree's vectors.
struct json_span {
  std::uint32_t first;
  std::uint32_t size;
};

/// A value. 24 bytes, so that the smallest values of a large text stay bounded.
struct json_node {
  union {
    json_span span;  ///< string: of `bytes`; array and object: of `children`
    double number;
  };
  json_span name;     ///< of a member of an object: of `bytes`
  std::uint32_t end;  ///< one past its last descendant
  json_kind kind;
  bool omitted;
};

struct json_tree {
  std::vector<json_node> nodes;         ///< parents before children; the root is the first
  std::vector<std::uint32_t> children;  ///< members in RFC 8785 order, elements in theirs
  std::string bytes;                    ///< the text of all strings and names, in UTF-8

  [[nodiscard]] std::string_view text(json_span span) const noexcept {
    return std::string_view(bytes).substr(span.first, span.size);
  }
  [[nodiscard]] std::string_view name(std::uint32_t node) const noexcept {
    return text(nodes[node].name);
  }
};

/// Reads the whole text. False where it is not I-JSON (RFC 7493) as far as equality needs it: the
/// cursor then says what is wrong and where. Needs no stack that grows with the nesting.
[[nodiscard]] bool read_json(json_cursor& cursor, json_tree& tree);

}  // namespace onceguard::core
