// Makes the flags of a subcommand from the table of options, and loads settings from the flags.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "config/load.hpp"

namespace onceguard::cli {

/// --reason of commands that change something: why, for the audit log.
[[nodiscard]] argument reason_argument(std::string& reason);

// Flags for the parts of an HTTP message: header fields and a body.

struct message_flags {
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string body_file;
};

/// Adds -H/--header, --body and --body-file to the command. Malformed fields are reported as wrong
/// usage.
void add_message_flags(const command& command, message_flags& given);

/// Adds -H/--header alone.
void add_header_flag(const command& command, message_flags& given);

[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of(
    const message_flags& given);
/// Throws std::runtime_error if the file can't be read.
[[nodiscard]] std::string body_of(const message_flags& given);

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
/// The same with what the check had to say.
[[nodiscard]] std::optional<config::loaded> load_config(const given_flags& given,
                                                        bool need_upstream);

}  // namespace onceguard::cli
