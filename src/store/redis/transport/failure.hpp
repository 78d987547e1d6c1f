// Failures of a connection, and what follows from them for the waiting calls.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <onceguard/error.hpp>

namespace onceguard::redis {

struct failure {
  std::string code;  ///< the first word of the server's error; empty: the connection failed
  std::string text;  ///< for a person; holds no password
  bool misconfigured = false;  ///< waiting does not help
};

/// What follows a command that the server refused.
enum class remedy : std::uint8_t {
  none,       ///< the caller gets the error
  reconnect,  ///< not carried out; a new connection loads the scripts and finds the master
  redirect,   ///< not carried out; another node of the cluster may, or this one later
};

/// Of an error's text as the server sent it.
[[nodiscard]] failure failure_of(std::string_view text);
[[nodiscard]] failure connection_failure(std::string text);
/// Whether TLS failed by the certificate of one of the two, or by a server without TLS.
[[nodiscard]] bool is_of_certificates(const boost::system::error_code& why) noexcept;

/// Thrown where a connection can't go on; caught by the user of the connection.
struct broken {
  failure why;
};

[[noreturn]] inline void throw_connection_failure(std::string why) {
  throw broken{connection_failure(std::move(why))};
}

[[nodiscard]] remedy remedy_of(const failure& refused) noexcept;

/// `name` is the store's name for the message, which never contains the URL.
[[nodiscard]] error to_error(const failure& failed, const std::string& name, effect on_store);

}  // namespace onceguard::redis
