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

}  // namespace onceguard::admin
