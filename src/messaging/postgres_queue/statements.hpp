// The statements of a queue's consumer, each complete in itself: READ COMMITTED.
#pragma once
#include <string>

#include "messaging/postgres_queue/queue_url.hpp"

namespace onceguard::messaging::postgres_queue {

struct consumer_statements {
  explicit consumer_statements(const queue_url& url);

  /// Takes up to $1 messages for the holder $2, for $3 milliseconds. Reads at most $4 of those that
  /// were never delivered. Refused by the unique index (23505) where another consumer was faster.
  /// A row: id, message_id, order_key, payload, headers, deliveries; of an outbox also properties.
  std::string take;
  /// The same, for a row with something in it that can't be read: a row has only the id.
  std::string hold;
  std::string read;       ///< the rest of the message $1 of the holder $2, as `take` has it
  std::string set_aside;  ///< the message $1 of the holder $2, which nobody can read
  /// Takes messages behind earlier ones of their key out of the first $1 of what `take` reads.
  /// One row: how many they were; whether there were $1 to read; in how many milliseconds the next
  /// one becomes visible (null: none); and whether there was one to take, if only others had not
  /// locked it.
  std::string clear;

  std::string acknowledge;  ///< the message $1 of the holder $2
  std::string extend;       ///< the same, for $3 milliseconds from now on
  std::string give_back;    ///< the same, visible in $3 milliseconds
  std::string dead_letter;  ///< the message $1 of the holder $2
  /// One row: how many wait, as far as a million; how many of them will never be visible, and the
  /// lowest id of these (null: none).
  std::string backlog;
};

/// Publishes arrays of message ids, order keys, payloads, headers and in_front: $1 to $5.
[[nodiscard]] std::string publish_batch_statement(const queue_url& url);

/// Checks that the table is a queue.
[[nodiscard]] std::string check_statement(const queue_url& url);

}  // namespace onceguard::messaging::postgres_queue
