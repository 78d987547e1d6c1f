// The events of messages and outboxes.
#pragma once
#include <array>
#include <string_view>

#include "base/log_events.hpp"

namespace onceguard::base {

inline constexpr auto message_events = [] {
  using enum log_level;
  constexpr bool once = false;
  constexpr bool recurring = true;
  constexpr std::string_view about_messages = "Messages";
  constexpr std::string_view about_outboxes = "Outboxes";
  return std::array{
      event_info{event::consuming, "consuming", info, once, "subscriber store",
                 "A subscriber takes messages.", about_messages},
      event_info{event::consumed, "consumed", info, once,
                 "subscriber received handled duplicates failed unknown dead_lettered",
                 "A subscriber has ended, and what it did since its start.", about_messages},
      event_info{event::broker_connected, "broker-connected", info, once, "subscriber",
                 "The queue is there.", about_messages},
      event_info{
          event::broker_away, "broker-away", warning, recurring, "subscriber why",
          "The connection to the broker broke, or none could be made. It is tried again; what "
          "was not acknowledged is delivered again.",
          about_messages},
      event_info{
          event::message, "message", debug, recurring, "subscriber message outcome attempt reason",
          "A delivery is settled: handled, a duplicate, or busy (it comes again).", about_messages},
      event_info{
          event::message_failed, "message-failed", warning, recurring,
          "subscriber message outcome attempt reason",
          "An attempt failed, and provably nothing happened. The message is tried again after "
          "its back-off.",
          about_messages},
      event_info{
          event::message_unknown, "message-unknown", warning, once,
          "subscriber message outcome attempt reason",
          "It is unknown whether the message took effect. It lies among the dead letters. "
          "Find out; then `onceguard messages retry`, or `keys complete` and `messages drop`.",
          about_messages},
      event_info{event::message_dead, "message-dead", error, once,
                 "subscriber message outcome attempt reason",
                 "The message failed for good, has no id, or has the id of another message. It is "
                 "among the dead letters, with the reason.",
                 about_messages},
      event_info{event::message_not_settled, "message-not-settled", warning, recurring,
                 "subscriber message why",
                 "The broker did not take what became of the message, and delivers it again; the "
                 "inbox knows it then.",
                 about_messages},
      event_info{event::messages_given_back, "messages-given-back", warning, recurring,
                 "subscriber why", "The store failed: the messages wait here, and are tried again.",
                 about_messages},
      event_info{
          event::consume_circuit_open, "consume-circuit-open", warning, once, "subscriber why",
          "What the messages need is away: the store, the endpoint or the command. No more are "
          "taken from the queue, and one at a time is tried, after pauses that double up to 30 "
          "seconds. Attempts are not counted meanwhile.",
          about_messages},
      event_info{event::consume_circuit_closed, "consume-circuit-closed", info, once, "subscriber",
                 "It is there again: messages are taken as before.", about_messages},
      event_info{
          event::message_last_delivery, "message-last-delivery", warning, recurring,
          "subscriber message deliveries",
          "The broker's own limit allows no other delivery of this message: if the process "
          "ends before the message is settled, the broker drops it or moves it away. Raise the "
          "limit (`max_deliver`, `delivery-limit`, `maxReceiveCount`).",
          about_messages},
      event_info{event::message_dropped, "message-dropped", error, recurring, "subscriber message",
                 "The broker has given up a message by itself, as its own limit of deliveries was "
                 "passed. It is not handled, and no dead letter of Onceguard's. Fetch it by what "
                 "`message` says, and raise the limit.",
                 about_messages},
      event_info{
          event::queue_row_unreadable, "queue-row-unreadable", error, recurring, "queue row why",
          "A row of a queue in PostgreSQL can't be read, and is set aside, so that the others "
          "go on: it is a dead row (`dead_since`), and a dead one is put off for ever "
          "(`visible_at`). Look at the row with this `id`.",
          about_messages},
      event_info{event::queue_rows_parked, "queue-rows-parked", warning, recurring,
                 "queue rows first",
                 "Rows of a queue in PostgreSQL have the `visible_at` 'infinity': they are never "
                 "delivered. `first` is the lowest `id`. Set `visible_at` to now() or delete them.",
                 about_messages},
      event_info{event::handler_output, "handler-output", info, once,
                 "subscriber message attempt line",
                 "A line that the command of a subscriber wrote.", about_messages},
      event_info{event::handler_output_cut, "handler-output-cut", warning, once,
                 "subscriber message attempt bytes",
                 "A command wrote more, or longer lines, than the log takes of an attempt.",
                 about_messages},
      event_info{event::relaying, "relaying", info, once, "relay", "A relay begins.",
                 about_outboxes},
      event_info{event::relay_ended, "relay-ended", info, once, "relay published failed dead",
                 "A relay has ended, and what it did since its start.", about_outboxes},
      event_info{event::outbox_connected, "outbox-connected", info, once, "relay",
                 "The outbox is there.", about_outboxes},
      event_info{event::outbox_away, "outbox-away", warning, recurring, "relay why",
                 "The outbox's database is out of reach. It is tried again.", about_outboxes},
      event_info{event::relayed, "relayed", debug, recurring, "relay message attempt reason",
                 "The destination confirmed; the row is deleted.", about_outboxes},
      event_info{event::relay_failed, "relay-failed", warning, recurring,
                 "relay message attempt reason", "Refused, and sent again later.", about_outboxes},
      event_info{event::relay_dead, "relay-dead", error, once, "relay message attempt reason",
                 "Refused too often. The row stays, with the reason.", about_outboxes},
      event_info{event::relay_given_back, "relay-given-back", warning, recurring, "relay why",
                 "A batch found its destination out of reach. Nothing is lost: all is sent again.",
                 about_outboxes},
      event_info{
          event::relay_circuit_open, "relay-circuit-open", warning, once, "relay why",
          "The destination is out of reach. No more rows are taken, and one message at a time "
          "is tried, after pauses that double up to 30 seconds.",
          about_outboxes},
      event_info{event::relay_circuit_closed, "relay-circuit-closed", info, once, "relay",
                 "The destination takes messages again.", about_outboxes},
      event_info{event::relay_waits, "relay-waits", warning, recurring, "relay why",
                 "Messages lie at a broker that confirms nothing for now. They are not sent again.",
                 about_outboxes},
  };
}();

}  // namespace onceguard::base
