// Asks the service whether a caller may get a stored answer.
#pragma once
#include <cstdint>

#include <boost/asio/awaitable.hpp>

#include <onceguard/record.hpp>

#include "gateway/session.hpp"

namespace onceguard::gateway {

enum class replay_right : std::uint8_t {
  granted,  ///< the service said 2xx
  denied,   ///< it said 401 or 403
  unknown,  ///< it said something else, or nothing; logged
};

struct replay_ruling {
  replay_right right = replay_right::unknown;
  answer_ptr denial;  ///< denied: the service's answer
};

/// GET to `replay_check` with the fields of the session's request, but those of its body, its key
/// and its conditions. Onceguard-Method and Onceguard-Target say what the caller asked for: a
/// signature covers them.
boost::asio::awaitable<replay_ruling> check_replay(session& session);

}  // namespace onceguard::gateway
