// The flags of commands that speak to the admin listener of a gateway.
#pragma once
#include <optional>
#include <string>

#include "admin/remote_records.hpp"
#include "cli/command.hpp"

namespace onceguard::cli {

struct admin_flags {
  std::string address;     ///< empty: not given
  std::string token_file;  ///< empty: no token
};

/// Adds --admin and --token-file. `flags` must live as long as the callback.
void add_admin_flags(const command& command, admin_flags& flags, const std::string& text);

/// Reads the flags. None: they are wrong, and a message on standard error says so; the caller then
/// ends with exit_usage.
[[nodiscard]] std::optional<admin::admin_target> read_target(const admin_flags& flags);

}  // namespace onceguard::cli
