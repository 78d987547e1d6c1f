// Makes the flags of a subcommand from the table of options, and loads settings from the flags.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "config/load.hpp"

namespace onceguard::cli {

/// The flags on the command line. Lives as long as the command's callback.
struct given_flags {
  std::string config;
  std::map<std::string, std::vector<std::string>> texts;  ///< by flag name, without dashes
};
using given_flags_ptr = std::shared_ptr<given_flags>;

/// Adds `--config` and all flags of the table to the command.
[[nodiscard]] given_flags_ptr add_all_flags(const command& command);
/// Adds `--config`, the flags for stores, and the flags in `also` to the command.
[[nodiscard]] given_flags_ptr add_store_flags(const command& command,
                                              const std::vector<std::string_view>& also = {});

/// Flags and environment as input for config::load().
[[nodiscard]] config::sources sources_of(const given_flags& given, bool need_upstream);

/// Loads the settings. Faults are written to standard error; the caller then ends with
/// exit_configuration.
[[nodiscard]] std::optional<config::settings> load_settings(const given_flags& given,
                                                            bool need_upstream);

}  // namespace onceguard::cli
