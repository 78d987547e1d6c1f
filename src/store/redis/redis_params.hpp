// The parameters of the Redis store: where to connect and how, from a URL:
//   redis://[user:password@]host[:port][/database][?parameter=value&…]
//   redis+sentinel://[user:password@]host[:port][,…]/MASTER_NAME[/database][?…]
//   redis+cluster://[user:password@]host[:port][,…][?…]
//   rediss://…, rediss+sentinel://…, rediss+cluster://…  the same through TLS
//   valkey:// and valkeys:// are names for redis:// and rediss://
// Parameters: prefix (of all names; onceguard:), min_replicas (0); with TLS: ca, cert, key (files),
// verify (yes, no); with sentinels: sentinel_user, sentinel_password. What is special is written as
// %XX.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "base/number_in.hpp"

namespace onceguard::redis {

/// The parameters of the Redis store.
struct redis_params {
  std::string url;              ///< may contain a password, so it is never printed
  milliseconds timeout{2'000};  ///< bounds the opening, each try to connect, each reply
  const base::clock* clock = &base::system_clock();
  /// The store holds copies that may be lost at any time: the server may evict keys, and losses are
  /// not reported.
  bool copies_only = false;
  std::size_t under_way_max = 1024;  ///< commands of one connection that wait for their reply
};

using base::number_in;

// The address of a server: host and port.

struct endpoint {
  std::string host;
  std::string port;

  friend auto operator<=>(const endpoint&, const endpoint&) = default;
  /// "host:port", "[::1]:port"
  [[nodiscard]] std::string text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + port;
  }
};

struct tls_files {
  std::string ca;           ///< empty: the system's own
  std::string certificate;  ///< of this client; empty: none
  std::string key;
  bool verify = true;  ///< is the server's certificate checked, and its name?
};

/// How the servers of a store are deployed.
enum class deployment : std::uint8_t {
  single,    ///< one server
  sentinel,  ///< a master and its replicas; sentinels say which one that is
  cluster,   ///< several masters, each with a part of the records
};

struct credentials {
  std::string user;  ///< empty: the default user
  std::string password;
};

struct address {
  deployment servers = deployment::single;
  std::vector<endpoint> seeds;  ///< the server; some of the sentinels; some of the cluster's
  std::optional<tls_files> tls;
  credentials login;
  credentials sentinel_login;
  std::string master;  ///< its name among the sentinels
  std::uint32_t database = 0;
  std::string prefix = "onceguard:";
  std::uint32_t min_replicas = 0;
  std::string name;  ///< "redis host:port/0", for people: no user, no password
};

/// errc::invalid_argument describes the fault. No error text contains a user or a password.
[[nodiscard]] result<address> parse_address(const std::string& url);

}  // namespace onceguard::redis
