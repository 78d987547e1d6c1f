// The tools of a server: what their hints allow, and what their list tells agents about keys.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mcp/key_locations.hpp"

namespace onceguard::mcp {

/// So long the server may take for all pages of its list, before a call goes on without hints.
constexpr std::chrono::seconds longest_listing{5};

/// The hints of a tool (ToolAnnotations), with the protocol's defaults.
struct tool_hints {
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool has_key_argument = false;  ///< the tool itself has an argument of the key's name
  bool has_key_location = false;  ///< it has that, or takes a key at another place
};

/// Which calls must have a key.
enum class key_rule : std::uint8_t {
  optional,
  destructive,  ///< those of tools that may destroy something
  all,          ///< those of all tools that are not read-only
};

/// Not thread-safe.
class tool_table {
 public:
  tool_table(key_locations locations, key_rule rule)
      : locations_(std::move(locations)), rule_(rule) {}

  /// Takes over a page of the list: the result of `tools/list`. Returns the cursor of the next
  /// page, as a JSON string; empty: there is none.
  std::string learn(std::string_view result);
  /// The result of `tools/list` with the argument described in each tool that is guarded.
  [[nodiscard]] std::string described(std::string_view result) const;
  /// Null: the list does not have it.
  [[nodiscard]] const tool_hints* find(const std::string& name) const;
  [[nodiscard]] bool must_have_key(const tool_hints& hints) const noexcept;
  void forget() { tools_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return tools_.empty(); }

 private:
  [[nodiscard]] std::string described_schema(std::string_view schema, bool required) const;

  const key_locations locations_;
  const key_rule rule_;
  std::map<std::string, tool_hints> tools_;
};

}  // namespace onceguard::mcp
