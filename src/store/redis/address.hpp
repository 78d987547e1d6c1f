// Where to connect and how, from a URL:
//   redis://[user:password@]host[:port][/database][?parameter=value&…]
//   rediss://…  the same through TLS
// Parameters: prefix (of all names; onceguard:), min_replicas (0), connections, functions (yes,
// no), and with rediss: ca, cert, key (files), verify (yes, no). What is special is written as %XX.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::redis {

struct tls_files {
  std::string ca;           ///< empty: the system's own
  std::string certificate;  ///< of this client; empty: none
  std::string key;
  bool verify = true;  ///< is the server's certificate checked, and its name?
};

struct address {
  std::string host;
  std::string port = "6379";
  std::optional<tls_files> tls;
  std::string user;  ///< empty: the default user
  std::string password;
  std::uint32_t database = 0;
  std::string prefix = "onceguard:";
  std::uint32_t min_replicas = 0;
  std::optional<std::size_t> connections;
  bool functions = true;  ///< false: scripts by EVALSHA even where the server has functions
  std::string place;      ///< "redis host:port/0", for people: no user, no password
};

/// errc::invalid_argument says what is wrong; no error text repeats a user or a password.
[[nodiscard]] result<address> parse_address(const std::string& url);

}  // namespace onceguard::redis
