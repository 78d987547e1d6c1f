// What clients ask, answered by the engine: claims, and how operations end.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/guard.hpp>

#include "http/problem.hpp"
#include "serve/claim_bindings.hpp"
#include "serve/claim_turns.hpp"
#include "serve/long_answers.hpp"
#include "serve/operation_table.hpp"
#include "serve/protocol_calls.hpp"

namespace onceguard::serve {

/// Who asks.
struct caller {
  connection_number connection = 0;
  std::stop_token gone;  ///< its connection has ended
  byte_budget* messages = nullptr;
  std::size_t left_for_others = 0;            ///< of it
  const byte_reservation* message = nullptr;  ///< what its call takes itself

  /// False: the bytes find no room. Those that are more than the whole room go alone.
  [[nodiscard]] bool take_room(byte_reservation& out, std::size_t bytes) const {
    if (bytes == 0) return true;
    out = byte_reservation(*messages);
    if (out.grow_to(bytes, left_for_others)) return true;
    if (messages->used() != message->bytes()) return false;
    out.set(bytes);
    return true;
  }
};

/// An answer to a claim. Until it is written or given back, no other try of the claim is answered.
struct claim_reply {
  reply_message message;
  std::string operation;  ///< that began by it; empty: none
  claim_under_way under_way;
};

/// Thread-safe: each call on a loop that one thread runs.
class decisions {
 public:
  /// `records` must outlive it.
  decisions(guard& records, const serve_params& params);

  [[nodiscard]] result<void> set_rules(serve_rules rules);
  [[nodiscard]] rules_ptr rules() const;

  boost::asio::awaitable<claim_reply> claim(claim_call call, caller asker);
  /// Binds the claim's id to its members; what refuses it, if anything.
  [[nodiscard]] std::optional<reply_message> bind(claim_call& call);
  /// The same for one that is bound, when it has its turn.
  boost::asio::awaitable<claim_reply> claim_in_turn(claim_call call, caller asker,
                                                    claim_turns& turns);
  /// The answer did not reach its client: nothing has run.
  boost::asio::awaitable<void> give_back(std::string operation);
  boost::asio::awaitable<reply_message> settle(std::string id, settle_call call,
                                               connection_number asker);

  /// From now on nothing new is claimed.
  void drain() noexcept { draining_ = true; }
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] operation_table& operations() noexcept { return held_; }
  [[nodiscard]] guard& records() noexcept { return records_; }
  [[nodiscard]] const std::string& problem_base() const noexcept { return problem_base_; }

 private:
  friend class claim_by_request;
  friend class claim_by_parts;
  friend class settle_attempt;

  [[nodiscard]] boost::asio::awaitable<claim_reply> decide(const claim_call& call,
                                                           const caller& asker);
  /// What is claimed by this policy may run for so long after the store has lost it.
  void expect(const route_policy& policy);
  boost::asio::awaitable<result<operation_ptr>> resume(const operation_id& id);

  guard& records_;
  const std::string problem_base_;
  operation_table held_;
  claim_bindings bindings_;
  long_answers long_answers_;
  std::atomic<bool> draining_{false};
  mutable std::mutex mutex_;
  rules_ptr rules_;  // under the mutex
};

// What the parts of it share.

/// A problem document with a status of its own.
[[nodiscard]] reply_message service_problem(const std::string& base, std::uint16_t status,
                                            std::string_view type, std::string_view title,
                                            std::string_view detail, milliseconds retry_after);
/// In place of an answer that finds no memory: the call may be sent again.
[[nodiscard]] reply_message no_room_for_answer(const std::string& base);
[[nodiscard]] reply_message bad_request(const std::string& base, std::string_view detail);
/// `why` the id of a claim is another claim's.
[[nodiscard]] reply_message claim_reused(const std::string& base, std::string_view why);
[[nodiscard]] reply_message not_found(const std::string& base, std::string_view detail);

/// The verdict of an outcome without a lease.
[[nodiscard]] std::string_view verdict_of(const outcome& outcome) noexcept;
[[nodiscard]] std::string_view kept_text(answer_kept kept) noexcept;
/// Adds `retry_after_ms`, where a later repeat makes sense.
void put_retry(reply_message& out, const outcome& outcome);
/// Of an operation by its parts: its stored answer, or the problem.
void put_outcome(reply_message& out, const outcome& outcome, const std::string& base,
                 const route_policy& policy);
/// Fills in what the handler of a granted operation gets.
void put_lease(reply_message& out, held_operation& held);

}  // namespace onceguard::serve
