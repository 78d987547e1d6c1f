// A TOML document as a tree in which every name and value has its line and column.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "config/table/remark.hpp"

namespace onceguard::config {

struct member;

struct node {
  enum class type : std::uint8_t { boolean, integer, real, text, date_time, array, table };
  type kind = type::table;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string text;
  std::vector<node> items;      ///< for an array
  std::vector<member> members;  ///< for a table, in the order of the file
};

struct member {
  std::string name;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  node value;
};

inline constexpr std::size_t document_size_max = 1u << 20;

/// Parses TOML 1.0. Adds a fault to `out` if the text is no TOML or larger than document_size_max.
[[nodiscard]] std::optional<node> read_document(std::string_view text, const std::string& file,
                                                remarks& out);

/// The text of a file of up to document_size_max bytes; a pipe is read for two seconds. The error
/// says why there is none.
[[nodiscard]] result<std::string> read_document_file(const std::string& path);

}  // namespace onceguard::config
