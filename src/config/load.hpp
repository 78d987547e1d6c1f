// Makes settings from file, environment and flags. Reports all faults at once, each with its
// location.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

/// The sources of values. Later sources win: defaults, file, environment, flags.
struct sources {
  using texts = std::map<std::string, std::string, std::less<>>;
  std::string file;             ///< path of the TOML file; empty: none
  texts environment;            ///< by variable name; empty values count as not set
  texts flags;                  ///< by flag name, without dashes
  bool need_upstream = true;    ///< whether a missing upstream is a fault
  bool need_content = false;    ///< whether a file that says nothing is a fault
  bool messages_alone = false;  ///< not where the file has a [[consume]] or [[relay]]
};

struct loaded {
  settings values;          ///< valid only if ok()
  config::remarks remarks;  ///< in order
  [[nodiscard]] bool ok() const noexcept;
};

/// Reads and checks the configuration. An unreadable file is a fault like any other.
[[nodiscard]] loaded load(const sources& sources);
/// The same with the text of the file. `sources.file` is only used as its name.
[[nodiscard]] loaded load_text(std::string_view toml, const sources& sources);

/// The rules of `onceguard serve`.
[[nodiscard]] serve::serve_rules serve_rules_of(const settings& settings);

/// For how long a record of this route, as its subject names it, keeps its answer; that of
/// [defaults] for a route that is not configured any more.
[[nodiscard]] milliseconds retention_of(const settings& settings, std::string_view route);

/// The names of changed settings that can't change while the gateway runs.
[[nodiscard]] std::vector<std::string> fixed_changes(const settings& running,
                                                     const settings& wanted);

}  // namespace onceguard::config
