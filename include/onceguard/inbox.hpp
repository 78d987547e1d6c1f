// The inbox: a message that a broker delivers at least once takes effect once for each subscriber.
// This header has the types that all inboxes share; the inboxes themselves are in
// inbox_postgres.hpp and inbox_sqlite.hpp, where effect and record commit together, and in
// inbox_guard.hpp, for effects elsewhere.
//
// The consumer of a broker (broker.hpp) calls the inbox for each delivery, and tells the broker
// afterwards: acknowledge, give back, or dead-letter. See reply_to.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <onceguard/callable.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {

/// One delivery of a message, as views.
struct inbox_message {
  /// The sender's id of the message, the same in each delivery: 1 to 255 bytes.
  std::string_view id;
  std::string_view payload;  ///< the content
};

/// Thrown by a handler for a message that will never succeed: no further attempt is made.
class message_rejected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How an inbox treats messages.
struct inbox_policy {
  /// So often a message is tried before it is dead.
  std::uint32_t attempts = 8;
  /// After a first failure; doubles with each failure in a row …
  milliseconds backoff{1'000};
  /// … up to this.
  milliseconds backoff_max{60'000};
  /// How long the inbox remembers a message. Must exceed the time for which the broker may
  /// redeliver: an older message is handled again.
  milliseconds retention{7 * 24 * 3'600'000};
  /// Where effect and record commit together: how long a frozen consumer keeps its messages from
  /// others. Elsewhere: the lease, which is renewed while the handler runs.
  milliseconds lease{30'000};
  /// The same id with another payload is a sender's mistake: `reused`. False: the payload may
  /// differ between deliveries, and only the id counts.
  bool compare_payloads = true;
  /// PostgreSQL: so often a message is handled anew if its transaction conflicted with another one
  /// (SQLSTATE class 40) before that counts as a failed attempt.
  std::uint32_t conflict_retries = 8;
};

/// What became of a delivery.
enum class inbox_result : std::uint8_t {
  handled,    ///< the handler ran, and its effect is durable
  duplicate,  ///< an earlier delivery was handled
  failed,     ///< the handler failed; it runs again after `retry_after`. Of a message in a batch
              ///< also: its record can't be read, so that it did not run (attempt 0)
  dead,       ///< the handler failed for good, now or in an earlier delivery: see `reason`
  busy,       ///< another consumer works on the message, or its back-off is not over
  reused,     ///< the id belongs to a message with another payload
  unknown,    ///< it is unknown whether an earlier attempt took effect; never handled again
};
/// The number of results.
inline constexpr std::size_t inbox_results = 7;
/// The name of the enumerator.
[[nodiscard]] std::string_view name_of(inbox_result result) noexcept;

/// What became of a delivery, with what belongs to it.
struct inbox_outcome {
  inbox_result kind = inbox_result::busy;  ///< what happened
  milliseconds retry_after{0};             ///< failed, busy: an earlier delivery is in vain
  std::uint32_t attempt = 0;               ///< handled, failed, dead now: which attempt it was
  std::string reason;                      ///< failed, dead, reused, unknown: for people
  /// failed, unknown: whoever does the work is out of reach, for all messages. A failed attempt of
  /// this kind does not count.
  bool away = false;
  /// Of `away`: it does not count even if other messages are handled meanwhile, as where a rate
  /// limiter refuses.
  bool blameless = false;
};

/// What a consumer tells its broker.
enum class broker_reply : std::uint8_t {
  acknowledge,  ///< the message is done
  give_back,    ///< deliver it again, after `retry_after`
  dead_letter,  ///< the message goes to the dead letters, with the reason
};
/// The reply that the outcome asks for. `unknown` goes to the dead letters, too: the record lists
/// it, a person or a probe decides (`onceguard keys list --attention`), and whoever finds that it
/// did not happen needs the message (`onceguard messages retry`).
[[nodiscard]] broker_reply reply_to(const inbox_outcome& outcome) noexcept;

/// The handler of one message. The lease tells the attempt. What it throws is a failed attempt; its
/// effects in the inbox's transaction are rolled back. See message_rejected.
using message_handler = callable<void(const inbox_message&, const lease&)>;

}  // namespace v1
}  // namespace onceguard
