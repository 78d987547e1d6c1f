// The flags that choose records: of `keys list`, and of `keys release` and `keys complete` for many
// records at once.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "store/record_filter.hpp"

namespace onceguard::cli::keys {

/// The flags as given. An empty text: not given.
struct filter_flags {
  std::vector<std::string> states;
  std::string key;
  std::string scope;
  std::string route;
  std::string method;
  std::string reason;
  std::string text;
  std::string older;
  std::string younger;
  bool attention = false;

  /// Does any flag besides --key and --scope choose records?
  [[nodiscard]] bool any() const;
  /// The filter that the flags, which are checked, make.
  [[nodiscard]] record_filter filter() const;
};

/// Adds all but --key and --scope. `reason`: the names of the flag for it. `flags` must live as
/// long as the callback.
void add_filter_flags(const command& command, filter_flags& flags, const std::string& reason);

/// For argument_terms::check: the fault of a value that record_filter::add() refuses.
[[nodiscard]] std::function<std::string(const std::string&)> filter_check(std::string_view name);

}  // namespace onceguard::cli::keys
