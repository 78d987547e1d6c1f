// What a person has to do after a call of `onceguard exec` that ran nothing.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "cli/exec/exec_run.hpp"
#include "config/load.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::exec {

/// From the root, unless the working directory is gone.
[[nodiscard]] std::string absolute_path(const std::string& path);

/// The flag for `exec_request::store_flag`, whatever the command line, environment and working
/// directory of the next command.
[[nodiscard]] std::string store_flag_of(const config::sources& given);

/// The command that ends an unknown outcome of a call that ran nothing.
[[nodiscard]] std::string releasing_command(const exec_request& given,
                                            const config::settings& settings);
/// The two commands of which one ends an unknown outcome, ready to be copied into a shell.
[[nodiscard]] std::string mending_commands(const exec_request& given,
                                           const config::settings& settings);

/// Whether the store stays out of reach until a person has mended something: it makes no sense to
/// try again later by oneself.
[[nodiscard]] bool needs_person(const error& why, const config::settings& settings);

}  // namespace onceguard::cli::exec
