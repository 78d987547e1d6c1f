// One call of `onceguard exec`.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <onceguard/error.hpp>

#include "cli/exec/signal_relay.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::exec {

/// The command line. Durations are valid texts; empty: not given.
struct exec_request {
  std::string key;
  std::string scope;
  std::string fingerprint;
  std::vector<std::string> words;
  std::string wait;
  std::string fresh_after;
  std::string every;
  std::string unknown = "hold";
  std::string probe;
  std::vector<std::string> success;
  std::string failure = "fail";
  std::size_t retries = 0;
  std::string timeout;
  std::string grace = "10s";
  bool run_on = false;
  std::string output_folder;
  bool verbose = false;
  /// The flag that names the file with the store's URL, ready to be repeated in a shell; empty: the
  /// URL was not read from one.
  std::string store_flag;
};

/// The file of a SQLite store, as it is written in its URL; empty: the store is another one.
[[nodiscard]] std::string sqlite_path_of(const std::string& store_url);

/// Exit codes as "0,2", or "any" of them.
[[nodiscard]] result<std::set<int>> codes_of(const std::vector<std::string>& given);

/// Runs the command, or answers for its first run. Returns the exit code.
[[nodiscard]] int run_once(const exec_request& given, const config::settings& settings,
                           signal_relay& signals);

}  // namespace onceguard::cli::exec
