// A client of the admin listener, for commands. It blocks.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/address.hpp"

namespace onceguard::admin {

struct client_request {
  std::string_view method = "GET";
  std::string target;
  std::string token{};  ///< empty: none
  std::string body{};   ///< JSON; empty: none
};

struct client_answer {
  std::uint16_t status = 0;
  std::string body;
};

/// Sends one request and reads its answer, within the timeout. An address where nobody answers is
/// errc::not_found, an answer that can't be read errc::conflict; the effect is unknown once the
/// request may have arrived.
[[nodiscard]] result<client_answer> ask(const base::server_address& address,
                                        const client_request& request, milliseconds timeout);

/// Why the listener refused, of the answer's status and the detail in its body. A token that is
/// missing, unknown or a viewer's is as a right that is missing in the store.
[[nodiscard]] error refusal_error(const base::server_address& address, std::uint16_t status,
                                  std::string detail);

}  // namespace onceguard::admin
