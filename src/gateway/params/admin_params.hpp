// The parameters of the admin listener. The configuration fills them in and has checked them.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "gateway/params/gateway_params.hpp"

namespace onceguard::gateway {

/// A TCP endpoint, or the path of a Unix socket.
struct admin_address {
  endpoint tcp;
  std::string socket_path;  ///< empty: TCP
  [[nodiscard]] bool is_socket() const noexcept { return !socket_path.empty(); }
  /// Whether only this machine reaches it: a Unix socket, or a loopback address.
  [[nodiscard]] bool is_local() const;
  /// Whether a listener at `other` takes this address too, as far as the texts tell: another name
  /// of the same machine is not known.
  [[nodiscard]] bool overlaps(const endpoint& other) const;
  /// As in the configuration: "127.0.0.1:8081", "unix:/run/onceguard/admin.sock".
  [[nodiscard]] std::string text() const;
};

/// The error says what was expected.
[[nodiscard]] result<admin_address> parse_admin_address(std::string_view text);

struct admin_params {
  bool enabled = false;
  admin_address address;
  std::string token_file;                 ///< empty: everybody who reaches it is an operator
  milliseconds records_interval{60'000};  ///< between two counts of the records; 0: none
};

}  // namespace onceguard::gateway
