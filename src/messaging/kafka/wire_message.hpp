// Messages as Kafka's records have them. The header `message_id` is the property of that name; the
// record's key is the order_key, and a record without a key has an empty one.
#pragma once
#include <string>

#include <onceguard/broker.hpp>

#include "messaging/kafka/handles.hpp"

namespace onceguard::messaging::kafka {

/// Properties: `message_id` where there is one; `record_id`, the record's place as
/// "TOPIC/PARTITION/OFFSET"; `sent_at`, in milliseconds since 1970; `tombstone` = "yes" where the
/// record has no value at all.
[[nodiscard]] message message_of(const rd_kafka_message_t& record);

/// Null: out of memory.
[[nodiscard]] headers_handle headers_of(const message& sent);

/// Why it can't be sent; empty: it can.
[[nodiscard]] std::string fault_of(const message& sent);

/// "TOPIC/PARTITION/OFFSET".
[[nodiscard]] std::string record_id_of(const rd_kafka_message_t& record);

}  // namespace onceguard::messaging::kafka
