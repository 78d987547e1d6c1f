// One guarded request: reads it completely, claims, runs, settles and answers.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "gateway/client_writer.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_call.hpp"
#include "http/admission.hpp"
#include "http/reply.hpp"

namespace onceguard::gateway {

class guarded_exchange {
 public:
  guarded_exchange(session& session, http::admission admitted);

  /// True: the client's connection may be used for another request.
  boost::asio::awaitable<bool> serve();

 private:
  enum class body_read : std::uint8_t { whole, too_large, no_room, too_slow, malformed, gone };

  boost::asio::awaitable<body_read> read_body();
  [[nodiscard]] bool make_room_for(std::size_t more);
  void drop_body();
  boost::asio::awaitable<bool> refuse_body(body_read why);
  boost::asio::awaitable<bool> go_unguarded();
  [[nodiscard]] operation make_operation(const fingerprint_input& input);
  /// Tells once for each route and reason that repeats get 409, and what mends it.
  void hint_unkept(const http1::head& head);
  void hint_scope();
  /// Runs the operation under a granted lease, and settles the lease.
  boost::asio::awaitable<outcome> work(lease_handle lease);

  // Deliveries that go to a queue.
  [[nodiscard]] bool is_queued() const noexcept {
    return !session_.rule().rule.webhook_queue.empty();
  }
  boost::asio::awaitable<bool> answer_challenge(std::string challenge);
  /// Publishes the delivery to its queue, in place of a call of the upstream.
  boost::asio::awaitable<settle_terms> hand_over(lease_handle* lease);

  [[nodiscard]] std::string upstream_head(const lease_handle* lease) const;
  [[nodiscard]] bool sends_empty_chunks() const noexcept;
  boost::asio::awaitable<settle_terms> call(lease_handle* lease);
  boost::asio::awaitable<settle_terms> send_once(lease_handle* lease);
  settle_terms terms_after_call(call_result result);
  void log_hints(std::uint16_t status, std::string_view proxy, const settle_terms& terms) const;
  settle_terms terms_after_answer(call_result result);
  void settle_redirect(const answer& kept, bool by_rule, settle_terms& terms) const;
  /// Who does the work, for logs and metrics.
  [[nodiscard]] std::string_view upstream_name() const noexcept;
  settle_terms fail_with(call_failure failed);
  void take_room_of(std::size_t answer_bytes);
  void keep_connection();

  boost::asio::awaitable<bool> answer_with(outcome outcome);
  void echo_key();
  boost::asio::awaitable<std::optional<outcome>> find_answer();
  boost::asio::awaitable<bool> send_answer();
  boost::asio::awaitable<bool> pass_on();  // forwards an answer that is too large to be held
  boost::asio::awaitable<bool> send_failure();
  boost::asio::awaitable<bool> send_stored(answer_ptr answer);
  boost::asio::awaitable<bool> send_if_granted(answer_ptr stored);
  boost::asio::awaitable<bool> send_refusal(http::reply reply);
  /// Logs that the buffers are full, and returns the details of the problem answer.
  [[nodiscard]] http::problem_detail buffers_full(std::string_view for_what) const;

  session& session_;
  http::admission admitted_;
  const route_policy& policy_;
  std::string body_;
  byte_reservation body_room_;

  // The upstream's answer, after the run.
  upstream_ptr up_;
  byte_reservation answer_room_;
  std::shared_ptr<answer> answer_;  // the whole answer as the first client gets it, without extra_
  extra_fields extra_;              // Date and Set-Cookie of the first answer
  // The beginning of an answer that is forwarded while it arrives.
  std::optional<std::string> stream_begun_;
  std::optional<http::problem> failure_;  // instead of an answer
};

}  // namespace onceguard::gateway
