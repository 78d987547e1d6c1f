// The flags that choose records: of `keys list`, and of `keys release` and `keys complete` for many
// records at once.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "cli/command.hpp"

namespace onceguard::cli {

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
};

/// Adds all but --key and --scope. `reason`: the names of the flag for it. `flags` must live as
/// long as the callback.
void add_filter_flags(const command& command, filter_flags& flags, const std::string& reason);

class record_filter {
 public:
  explicit record_filter(const filter_flags& flags);
  /// The part of the filter that the store applies.
  [[nodiscard]] const list_filter& of_store() const noexcept { return of_store_; }
  /// Whether a record that the store listed fits the rest of the filter.
  [[nodiscard]] bool fits(const record_view& seen) const;

 private:
  list_filter of_store_;
  std::string scope_;
  bool readable_ = true;
};

}  // namespace onceguard::cli
