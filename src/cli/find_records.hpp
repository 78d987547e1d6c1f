// Looks up the record that an operator means by a key, and perhaps a scope.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/command.hpp"

namespace onceguard::cli {

/// A key or the id of a record in hex, and the scope's digest in hex or its beginning.
struct key_choice {
  std::string key;
  std::string scope;
};
/// Gives the command KEY and --scope.
void add_key_choice(const command& command, key_choice& choice);

/// Is it the beginning of a digest in hex? Empty counts.
[[nodiscard]] bool is_scope_prefix(std::string_view text) noexcept;

/// The one that is meant, or that it can't be read. None: exit_not_found, several: exit_usage with
/// a list of them, none but some that can't be read: exit_failed with their ids; all of that is
/// said on standard error. Released ones count only with `released`.
struct found_record {
  int exit_code = 0;
  std::optional<record_view> record;
  std::optional<unreadable_record> unreadable;
  subject_ptr about;  ///< of an unreadable one, where key and scope were given
  [[nodiscard]] bool any() const noexcept { return record || unreadable; }
};
[[nodiscard]] boost::asio::awaitable<found_record> find_one(store& records,
                                                            const key_choice& choice, bool released,
                                                            milliseconds timeout);

/// Says that what can't be read gives way only to --force; the exit code fits.
[[nodiscard]] int refuse_unreadable(const unreadable_record& seen);

}  // namespace onceguard::cli
