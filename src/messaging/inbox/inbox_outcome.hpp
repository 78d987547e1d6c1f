// What all inboxes share: how a message is a request, and what verdicts and failures come to.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/inbox.hpp>
#include <onceguard/request.hpp>

namespace onceguard::messaging {

/// Why a message with an id that can't be a key is dead.
[[nodiscard]] inline std::string fault_of_id(std::string_view id) {
  return "the id of a message has 1 to 255 bytes, and this one has " + std::to_string(id.size());
}

/// Throws std::invalid_argument if a member is not positive, or the subscriber is empty.
void check(std::string_view subscriber, const inbox_policy& policy);

/// The message as an operation of its subscriber.
[[nodiscard]] request request_of(std::string_view subscriber, const inbox_message& message,
                                 const inbox_policy& policy);

/// The outcome of a claim that did not grant a lease.
[[nodiscard]] inbox_outcome outcome_of(const verdict& refused);
/// The outcome that a completed record remembers: a message that was handled, or is dead.
[[nodiscard]] inbox_outcome remembered(const answer_ptr& stored);

/// The answers that complete a record: of a message that was handled, and of one that is dead.
[[nodiscard]] answer handled_answer();
[[nodiscard]] answer dead_answer(std::string_view reason);

[[nodiscard]] inbox_outcome handled(std::uint32_t attempt);
[[nodiscard]] inbox_outcome dead(std::string reason, std::uint32_t attempt = 0);
/// The id belongs to an earlier message with another payload.
[[nodiscard]] inbox_outcome reused();
/// The outcome of the exception that is being handled: failed, or dead if no attempt is left.
[[nodiscard]] inbox_outcome failure_of(std::uint32_t attempt, const inbox_policy& policy);
/// An attempt that failed since who does the work was away.
struct attempt_away {
  std::string reason;
  std::uint32_t attempt = 0;
  std::uint32_t excused = 0;  ///< earlier ones that don't count
  std::uint32_t blamed = 0;   ///< earlier ones of this kind that count
};
/// Waits for the back-off, and is dead with the last of the attempts that count, never with the
/// first: others were handled between them. `blameless`: as in inbox_outcome.
[[nodiscard]] inbox_outcome away_of(attempt_away failed, bool blameless,
                                    const inbox_policy& policy);
/// The same of a failure without an exception.
[[nodiscard]] inbox_outcome failure_of(std::string reason, std::uint32_t attempt,
                                       const inbox_policy& policy);

}  // namespace onceguard::messaging
