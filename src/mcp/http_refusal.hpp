// Which responses say that the request was refused before any tool was called.
#pragma once
#include <string>
#include <string_view>

#include "mcp/http_message.hpp"
#include "mcp/server_address.hpp"

namespace onceguard::mcp {

/// A server asks for a credential before it does anything: 401, and 403 with a challenge (RFC 6750,
/// section 3.1).
[[nodiscard]] bool asks_for_credential(const http_head& head);
/// An error about no request (`"id":null`), as the transport of a server writes it when it can't
/// take the message: its session has ended (404, to a request with a session), or the message does
/// not suit it (400, 405, 406, 413, 415). Any other status of an error may be that of a tool, or of
/// somebody who waited for it in vain.
[[nodiscard]] bool refuses_message(const http_head& head, std::string_view body, bool has_session);

/// The target at the same server to which a redirect leads with the same request (307, 308); empty:
/// elsewhere, or to what is no target.
[[nodiscard]] std::string redirected_to(const http_head& head, const server_address& server);
[[nodiscard]] bool is_redirect(const http_head& head) noexcept;

}  // namespace onceguard::mcp
