// Messages as libnats has them. Headers whose name begins with `Nats-` belong to the server's
// protocol, and are properties here: Nats-Msg-Id is `message_id`, the others have their own names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/broker.hpp>

#include "messaging/nats/handles.hpp"

namespace onceguard::messaging::nats {

/// Why the message can't be sent as it is; empty code: it can. libnats cuts values at a NUL, turns
/// line ends into spaces, and drops what is white at either end: all of that is refused.
struct unsendable {
  errc code{};
  std::string why;  ///< empty: it can be sent
};
[[nodiscard]] unsendable fault_of(const message& sent, std::int64_t bytes_max);

/// Null: no memory is left. The message must have no fault.
[[nodiscard]] message_handle to_wire(const message& sent, const std::string& subject,
                                     const std::string& reply);

/// False: libnats can't read the headers, or may have read them wrongly: an empty value makes it
/// take the next line as the value.
[[nodiscard]] bool read_headers(natsMsg* received, message& out);
/// The same from the bytes as the stream has them. Lines that are no headers are left out.
void read_header_lines(std::string_view bytes, message& out);

}  // namespace onceguard::messaging::nats
