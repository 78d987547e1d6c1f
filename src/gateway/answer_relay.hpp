// Forwards an answer while it arrives.
#pragma once
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>

#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

struct relayed {
  /// Something was sent to the client; if not, a problem answer can still be sent.
  bool begun = false;
  bool client_kept = false;    ///< the client's connection may be kept
  bool upstream_kept = false;  ///< the upstream's connection may be kept
  std::string why;             ///< what was wrong with the upstream's answer, if anything
};

/// Forwards the answer whose head `upstream.reader` has read: head and body, framed anew. `begun`
/// is the part of the body that was read already. If the body breaks off, the client's connection
/// is broken too, so that the answer does not look complete.
/// `room` may be null. It is the reservation of `begun` in the gateway's budget, and is cleared
/// once the client has received that part, because the rest of the answer may take hours.
boost::asio::awaitable<relayed> relay_answer(session& session, upstream_connection& upstream,
                                             std::string begun, milliseconds timeout,
                                             byte_reservation* room = nullptr);

/// Forwards an interim answer (1xx), which has no body.
boost::asio::awaitable<bool> relay_interim(session& session, const http1::head& interim);

/// After the upstream has switched protocols: sends the 101 answer that `upstream.reader` holds to
/// the client, then forwards the data of both sides until one side ends or both are silent for the
/// idle timeout, or until the gateway ends.
boost::asio::awaitable<void> tunnel(session& session, upstream_connection& upstream);

}  // namespace onceguard::gateway
