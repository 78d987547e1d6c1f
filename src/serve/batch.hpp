// Calls that come together are carried out side by side.
#pragma once
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "serve/decisions.hpp"

namespace onceguard::serve {

struct batch_reply {
  reply_message message;
  std::vector<claim_reply> claims;  ///< whose answers stand in it
};

/// `given` is the message: {"calls": […]}. `room` grows with the answers; a call whose answer finds
/// none is refused.
[[nodiscard]] boost::asio::awaitable<batch_reply> carry_out_batch(decisions& service, message given,
                                                                  caller asker,
                                                                  byte_reservation& room);

}  // namespace onceguard::serve
