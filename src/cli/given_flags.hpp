// The flags of a subcommand, made from the table of options, and the settings that they lead to.
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

/// What the command line said. Lives as long as the command's callback.
struct given_flags {
  std::string config;
  std::map<std::string, std::vector<std::string>> texts;  ///< by flag, without dashes
};
using given_flags_ptr = std::shared_ptr<given_flags>;

/// Gives the command `--config` and every flag of the table.
[[nodiscard]] given_flags_ptr add_all_flags(const command& command);
/// Gives the command `--config`, the flags that lead to a store, and `also`.
[[nodiscard]] given_flags_ptr add_store_flags(const command& command,
                                              const std::vector<std::string_view>& also = {});

/// Flags and environment together, as the configuration takes them.
[[nodiscard]] config::sources sources_of(const given_flags& given, bool need_upstream);

/// Loads the settings; faults go to standard error (then: exit_configuration).
[[nodiscard]] std::optional<config::settings> load_settings(const given_flags& given,
                                                            bool need_upstream);

}  // namespace onceguard::cli
