// What went wrong on a connection, and what that means for those who wait.
#pragma once
#include <libpq-fe.h>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::postgres {

struct failure {
  std::string sqlstate;  ///< empty: libpq's own, the connection is gone or was never made
  std::string text;      ///< for a person; holds no password
  bool lost = false;     ///< the server ends the session, so a commit may still have happened
};

// Not the server's: what a link says of a schema that it does not get along with.
inline constexpr const char* newer_schema = "newer";
inline constexpr const char* older_schema = "older";
/// The schema's: it is another memory than a claim expected, or an older copy.
inline constexpr const char* another_memory = "OG003";

inline constexpr const char* no_permission = "42501";

/// What is to be done about a statement that failed and changed nothing.
enum class remedy : std::uint8_t {
  none,        ///< the same for all of its items
  one_by_one,  ///< one item is to blame: each on its own tells which
  reconnect,   ///< this server cannot do it; another session, perhaps elsewhere, may
};

[[nodiscard]] failure failure_of(const PGresult* result);
[[nodiscard]] failure failure_of(const PGconn* connection);

[[nodiscard]] remedy remedy_of(const failure& failed) noexcept;

/// `place` says which store; it is named, the URL is not.
[[nodiscard]] error to_error(const failure& failed, const std::string& name, effect on_store);

/// Is it the configuration that is wrong (schema missing or newer, no permission, no such
/// database, wrong password), so that waiting does not help?
[[nodiscard]] bool misconfigured(const failure& failed) noexcept;

/// A warning that the commit stands here but that the wait for a standby was given up.
[[nodiscard]] bool standby_wait_cancelled(const PGresult* notice) noexcept;

/// The caller's time was up; `doubtful`: an attempt was sent, and nothing is known of its effect.
[[nodiscard]] error lapsed(bool doubtful);
[[nodiscard]] error lock_held(const std::string& name, bool doubtful);
[[nodiscard]] error not_what_it_was(const std::string& name, effect on_store);
/// Another attempt may succeed: two transactions were in one another's way.
[[nodiscard]] bool transient(const failure& why);

}  // namespace onceguard::postgres
