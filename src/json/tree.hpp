// A JSON text as a flat tree, from which the canonical form is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "json/scalars.hpp"

namespace onceguard {

inline constexpr std::size_t json_depth_max = 512;  ///< limit of nested arrays and objects

enum class json_kind : std::uint8_t { null, no, yes, number, string, array, object };

/// A range of one of the tree's vectors.
struct json_span {
  std::uint32_t first;
  std::uint32_t size;
};

/// A value. Only 24 bytes: a large text may hold very many small values.
struct json_node {
  union {
    /// String, and a number as it is written: a range of `bytes`; array and object: of `children`.
    json_span span;
    double number;
  };
  json_span name;     ///< the name of an object's member: a range of `bytes`
  std::uint32_t end;  ///< the index after the last descendant
  json_kind kind;
  bool omitted;
};

struct json_tree {
  std::vector<json_node> nodes;         ///< parents before children; the root is first
  std::vector<std::uint32_t> children;  ///< members in RFC 8785 order, elements in text order
  std::string bytes;                    ///< the contents of all strings and names, in UTF-8

  [[nodiscard]] std::string_view text(json_span span) const noexcept {
    return std::string_view(bytes).substr(span.first, span.size);
  }
  [[nodiscard]] std::string_view name(std::uint32_t node) const noexcept {
    return text(nodes[node].name);
  }
};

struct json_rules {
  /// Numbers as they are written: the node's span is that text, and no number is refused.
  bool numbers_as_written = false;
  /// A text with more values is refused.
  std::size_t values_max = std::numeric_limits<std::uint32_t>::max();
};

/// Reads the whole text. Returns false if the text violates I-JSON (RFC 7493) in a way that matters
/// for equality; the cursor then has the fault and its position. Uses no stack that grows with the
/// nesting, and time and memory in proportion to the text (for an object, also to the logarithm of
/// how many members it has).
[[nodiscard]] bool read_json(json_cursor& cursor, json_tree& tree, json_rules rules = {});

}  // namespace onceguard
