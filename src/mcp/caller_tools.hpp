// The tools of a server, as each caller was shown them: another one may see others, or other hints.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "mcp/mcp_params.hpp"
#include "mcp/tool_table.hpp"

namespace onceguard::mcp {

/// Not thread-safe.
class caller_tools {
 public:
  explicit caller_tools(const mcp_params& params)
      : locations_(params.locations), rule_(params.required) {}

  /// The table of this caller. It stays what it is for who holds it.
  [[nodiscard]] std::shared_ptr<tool_table> of(const std::string& caller) {
    if (tables_.size() >= most_callers && !tables_.contains(caller)) tables_.clear();
    auto& table = tables_[caller];
    if (!table) table = of_nobody();
    return table;
  }
  /// An empty one, which nobody shares.
  [[nodiscard]] std::shared_ptr<tool_table> of_nobody() const {
    return std::make_shared<tool_table>(locations_, rule_);
  }
  /// Lists are asked for again then.
  void forget() { tables_.clear(); }

 private:
  static constexpr std::size_t most_callers = 256;

  const key_locations locations_;
  const key_rule rule_;
  std::map<std::string, std::shared_ptr<tool_table>> tables_;
};

}  // namespace onceguard::mcp
