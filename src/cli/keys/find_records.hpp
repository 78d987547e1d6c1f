// Finds the record for a key, and optionally a scope, that an operator gives.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/command.hpp"

namespace onceguard::cli::keys {

/// A key or a record id in hex, and the scope's digest in hex or its first digits.
struct key_choice {
  std::string key;
  std::string scope;
};
enum class key_needed : std::uint8_t { yes, no };
/// Adds KEY and --scope to the command.
void add_key_choice(const command& command, key_choice& choice, key_needed needed);

/// The record for the operator's choice, readable or not. Otherwise the exit code: exit_not_found
/// for no record, exit_usage for several records (which are listed), exit_failed if only unreadable
/// records remain (whose ids are listed); the messages go to standard error. Released records count
/// only with `released`.
struct found_record {
  int exit_code = 0;
  std::optional<record_view> record;
  std::optional<unreadable_record> unreadable;
  subject_ptr about;  ///< the subject of an unreadable record, if key and scope were given
  [[nodiscard]] bool any() const noexcept { return record || unreadable; }
};
[[nodiscard]] boost::asio::awaitable<found_record> find_one(record_access& records,
                                                            const key_choice& choice, bool released,
                                                            milliseconds timeout);

/// Reports on standard error that an unreadable record requires --force, or which key it lacks, and
/// returns the exit code.
[[nodiscard]] int refuse_unreadable(const unreadable_record& seen);

}  // namespace onceguard::cli::keys
