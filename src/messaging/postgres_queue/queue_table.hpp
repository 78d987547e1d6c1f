// The table of a queue: how it is made, and how others publish to it.
//
//   id            grows with each message
//   message_id    the sender's id of the message; null: none
//   order_key     messages with the same key are delivered by id, one at a time; null or '': none
//   payload       bytes
//   headers       names and values in turn, as bytes: ARRAY['trace', 'abc']::bytea[]
//   published_at  begin of the publisher's transaction
//   visible_at    null: never delivered; or the end of the hold, or of the delay. A publisher may
//                 set it, to have the message delivered later
//   deliveries    so far
//   held_by       the delivery that holds the message; null: none. A hold that is over stays until
//                 the next delivery
//   dead_since    null: live; otherwise a dead letter, which stays until somebody consumes or
//                 deletes it
//   in_front      false: an earlier live message of the same key exists. True says nothing
//
// A program publishes in its own transaction by INSERT (publish_statement): consumers see the
// message once that has committed, and are woken by it; it never arrives if it is rolled back.
// The order of a key is that of the ids, which INSERT gives: where two transactions publish to one
// key at the same time, the one with the later ids may commit first, and is delivered first.
//
// An outbox is a queue in which each message has an id, given by the server to a row that is
// inserted without one, and which has three more columns:
//
//   properties    of the message, but for the id; in the form of the headers
//   failures      how often the destination of `onceguard relay` has refused the message
//   reason        why, the last time
//
// Reads stay fast because of what the partial indexes leave out. A message that was never delivered
// stands in one by id, any other in one by visible_at, and those behind an earlier one of their key
// in neither: consumers take them out (in_front) as they meet them, and a trigger puts the next one
// in when the first of a key goes. So a delivery reads neither the messages that wait behind one of
// their key nor those that are held or delayed, however many there are.
//
// Each delivery writes indexed columns, so no update is a HOT one whatever room a page has: the
// fillfactor stays 100, and vacuum comes early instead (after 1,000 dead rows and one percent), so
// that the places of the dead are used again. Meanwhile the indexes skip entries that are known to
// be dead. A transaction that is left open for hours keeps both from working.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "messaging/postgres_queue/queue_url.hpp"

namespace onceguard::messaging::postgres_queue {

/// Makes the queue's table with its indexes, and its triggers with their function, where they are
/// missing. Any number of processes may do so at once. Needs no right but to connect where the
/// queue is there. errc::invalid_argument: the URL. errc::not_found: there is no such schema.
/// errc::conflict: the database refuses, or a table of that name is no queue.
[[nodiscard]] result<void> create_queue(const std::string& url,
                                        milliseconds timeout = milliseconds{30'000});

/// Makes the outbox's table, or an outbox of a queue all of whose messages have an id. `url` has
/// the parameter `outbox`. Otherwise as create_queue.
[[nodiscard]] result<void> create_outbox(const std::string& url,
                                         milliseconds timeout = milliseconds{30'000});

/// The property of a message from an outbox that has the number of its row.
inline constexpr const char* row_property = "outbox_row";

/// "INSERT INTO "schema"."table" (message_id, order_key, payload) VALUES ($1, $2, $3)": for a
/// publisher's own transaction, of text, text and bytea.
[[nodiscard]] result<std::string> publish_statement(const std::string& url);

/// What a queue's consumers listen on, for SQL: the table's number is in it. `table` as quoted.
[[nodiscard]] std::string channel_expression(const std::string& table);

/// The text with the quoted name of the table in the place of each {t}.
[[nodiscard]] std::string about_table(std::string_view text, const std::string& table);

/// As an SQL literal.
[[nodiscard]] std::string quoted_literal(std::string_view text);

}  // namespace onceguard::messaging::postgres_queue
