// What went wrong on a connection, and what that means for those who wait.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard::redis {

struct failure {
  std::string code;  ///< the first word of the server's error; empty: the connection's own
  std::string text;  ///< for a person; holds no password
  bool misconfigured = false;  ///< waiting does not help
};

/// What is to be done about a command that the server refused.
enum class remedy : std::uint8_t {
  none,       ///< it is told to whoever waits
  reconnect,  ///< it was not carried out; a new connection may: scripts loaded anew, a master
  redirect,   ///< it was not carried out: another node of the cluster may, or this one later
};

/// Of an error's text as the server sent it.
[[nodiscard]] failure failure_of(std::string_view text);
[[nodiscard]] failure connection_failure(std::string text);

[[nodiscard]] remedy remedy_of(const failure& refused) noexcept;

/// `place` says which store; it is named, the URL is not.
[[nodiscard]] error to_error(const failure& failed, const std::string& name, effect on_store);

}  // namespace onceguard::redis
