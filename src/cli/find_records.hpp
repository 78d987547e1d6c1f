// Looks up the record that an operator means by a key, and perhaps a scope.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/command.hpp"

namespace onceguard::cli {

/// A key, and the scope's digest in hex or its beginning.
struct key_choice {
  std::string key;
  std::string scope;
};
/// Gives the command KEY and --scope.
void add_key_choice(const command& to, key_choice& choice);

/// Is it the beginning of a digest in hex? Empty counts.
[[nodiscard]] bool is_scope_prefix(std::string_view text) noexcept;

/// All records of that key whose scope begins so; released ones only with `released`.
[[nodiscard]] boost::asio::awaitable<result<std::vector<record_view>>> find_records(
    store& in, const key_choice& choice, bool released, milliseconds timeout);

/// The one that is meant. None: exit_not_found, several: exit_usage with a list of them, both
/// said on standard error.
struct found_record {
  int exit_code = 0;
  std::optional<record_view> record;
};
[[nodiscard]] boost::asio::awaitable<found_record> find_one(store& in, const key_choice& choice,
                                                            bool released, milliseconds timeout);

}  // namespace onceguard::cli
