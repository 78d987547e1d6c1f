// A value that may hold a password may stand in a file of its own, so that the password is in no
// configuration file, environment or list of processes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/table/option.hpp"

namespace onceguard::config {

/// `url_file`, the name of the option in TOML that names the file.
[[nodiscard]] std::string file_name_of(const option& spec);
/// `store-file`, without the dashes; empty: the option has no flag.
[[nodiscard]] std::string file_flag_of(const option& spec);
/// `ONCEGUARD_STORE_FILE`.
[[nodiscard]] std::string file_variable_of(const option& spec);

/// The option whose file is named by an option `name` in TOML; null: none.
[[nodiscard]] const option* option_of_file(const std::vector<const option*>& known,
                                           std::string_view name);

/// Reads the value from the first line of the file `path`. Messages never repeat what it holds.
[[nodiscard]] std::optional<option_value> read_secret_file(const option& spec,
                                                           const std::string& path,
                                                           const origin& origin,
                                                           std::string_view title, remarks& out);

}  // namespace onceguard::config
