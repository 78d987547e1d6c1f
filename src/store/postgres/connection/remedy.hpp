// What follows from the failure of a statement or a connection, for the waiting calls.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "libpq/failure.hpp"

namespace onceguard::postgres {

// Not SQLSTATEs of the server: the connection found a schema that this version can't use.
inline constexpr const char* newer_schema = "newer";
inline constexpr const char* older_schema = "older";
/// Raised by the schema's functions: the memory is not the expected one, or is an older copy.
inline constexpr const char* another_memory = "OG003";
/// A claim has read the floor of the tokens before a record was removed: it is made again.
inline constexpr const char* floor_raised = "OG004";

inline constexpr const char* no_permission = "42501";

/// What follows a statement that failed and changed nothing.
enum class remedy : std::uint8_t {
  none,        ///< all items fail
  one_by_one,  ///< one item caused the failure: each item is sent by itself
  reconnect,   ///< another session, perhaps on another server, may succeed
};

/// Whether the prepared statements of this session are gone, or those of another session are there:
/// a pooler that was not found otherwise stands between.
[[nodiscard]] bool is_of_another_session(const failure& failed) noexcept;

[[nodiscard]] remedy remedy_of(const failure& failed) noexcept;

/// `name` is the store's name for the message, which never contains the URL.
[[nodiscard]] error to_error(const failure& failed, const std::string& name, effect on_store);

/// Whether the configuration is wrong (schema missing or newer, no permission, no such database,
/// wrong password), so that waiting does not help.
[[nodiscard]] bool misconfigured(const failure& failed) noexcept;

/// The caller's time has passed. `doubtful`: an attempt was sent, and its effect is not known.
[[nodiscard]] error lapsed(bool doubtful);
[[nodiscard]] error not_what_it_was(const std::string& name, effect on_store);
/// Whether another attempt may succeed, because two transactions collided.
[[nodiscard]] bool transient(const failure& why);

}  // namespace onceguard::postgres
