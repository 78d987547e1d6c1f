// The id of a CloudEvent (specification 1.0): its source and its id, which is unique within the
// source only. In structured mode the payload is the event, in binary mode its attributes are
// headers, under the names that the binding of each protocol gives them.
#pragma once
#include <string>

#include <onceguard/broker.hpp>
#include <onceguard/error.hpp>

namespace onceguard::consume {

/// "SOURCE|ID"; one that would be too long for a key, or whose source has a `|` (which no URI has),
/// is "cloudevent-sha256:" and a hash of both. errc::invalid_argument: the message is no event,
/// has an attribute twice, or is a batch of several events; the detail says which.
[[nodiscard]] result<std::string> cloud_event_id(const messaging::message& received);

}  // namespace onceguard::consume
