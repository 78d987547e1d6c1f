// From file, environment and flags to settings. Everything that is wrong is said at once, each
// with the place where it stands.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "config/remark.hpp"
#include "config/settings.hpp"

namespace onceguard::config {

/// Where values come from. The later wins: defaults, file, environment, flags.
struct sources {
  using texts = std::map<std::string, std::string, std::less<>>;
  std::string file;           ///< path of the TOML file; empty: none
  texts environment;          ///< by the variable's name; empty values count as not set
  texts flags;                ///< by the flag's name without dashes
  bool need_upstream = true;  ///< is it a fault that no upstream is named?
};

struct loaded {
  settings values;          ///< of use only where ok()
  config::remarks remarks;  ///< in order
  [[nodiscard]] bool ok() const noexcept;
};

/// Reads and checks. A file that can't be read is a fault like any other.
[[nodiscard]] loaded load(const sources& sources);
/// The same with the file's text at hand; `from.file` is only its name.
[[nodiscard]] loaded load_text(std::string_view toml, const sources& sources);

/// The names of what differs and can't change while the gateway runs.
[[nodiscard]] std::vector<std::string> fixed_changes(const settings& running,
                                                     const settings& wanted);

}  // namespace onceguard::config
