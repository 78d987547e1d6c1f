// An answer that is passed on while it comes.
#pragma once
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>

#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

struct relayed {
  bool begun = false;          ///< something was sent to the client; if not, a problem still can be
  bool client_kept = false;    ///< the client's connection may go on
  bool upstream_kept = false;  ///< and the upstream's
  std::string why;             ///< the upstream's fault, where it had one
};

/// Passes on the answer whose head `from.reader` has read: head and body, framed anew. `begun` is
/// what has been taken of its body already. A body that breaks off breaks the client's connection,
/// so that it does not look complete.
/// `room`, where there is one, is what `begun` holds of the gateway's buffers: given back once the
/// client has taken that, as the rest may come for hours.
boost::asio::awaitable<relayed> relay_answer(session& session, upstream_connection& upstream,
                                             std::string begun, milliseconds timeout,
                                             byte_reservation* room = nullptr);

/// An interim answer (1xx), without body.
boost::asio::awaitable<bool> relay_interim(session& session, const http1::head& interim);

}  // namespace onceguard::gateway
