// Messages as entries of a stream: the field `payload`, the field `message_id`, and one field for
// each header.
//
// An entry of somebody else's, without a field `payload`, arrives as a JSON object of all its
// fields, each a string; of fields with the same name the last one. A value that is not UTF-8
// becomes {"hex": "…"}, so that no two different entries have the same payload; of a name, what is
// not UTF-8 the same way, as "hex:…".
#pragma once
#include <string>
#include <string_view>

#include <onceguard/broker.hpp>

#include "messaging/redis_streams/command.hpp"
#include "messaging/redis_streams/reply.hpp"

namespace onceguard::messaging::redis_streams {

/// `fields`: names and values by turns. Properties: `entry_id`, and `message_id` where there is
/// one. Headers: all fields but the first `payload` and the first `message_id`.
[[nodiscard]] message message_of(std::string_view entry_id, const reply& fields);

/// Throws `failed` with errc::invalid_argument where a header has the name of one of the fields.
void append_fields(command& addition, const message& sent);

}  // namespace onceguard::messaging::redis_streams
