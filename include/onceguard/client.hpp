// A client that sends a request until its outcome is known: with the same key each time, and only
// where another attempt can't take effect twice.
//
//   onceguard::client::beast_transport transport;   // or curl_transport
//   onceguard::client::request order{"POST", "https://shop.example/orders"};
//   order.body = body;
//   order.key = onceguard::client::make_key();
//   const auto sent = onceguard::client::send(transport, order);
//   if (sent && sent->end == onceguard::client::ending::success) use(*sent->last.answer);
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/configuration.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::client {
inline namespace v1 {

/// One HTTP request. `Host`, `Content-Length` and `Idempotency-Key` are added to its headers.
struct request {
  std::string method;  ///< in capitals
  std::string url;     ///< http://… or https://…, without user and fragment
  /// In the order in which they are sent.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};  ///< bytes
  /// The idempotency key: 1 to 255 visible ASCII characters or spaces. Empty: none; the request is
  /// then sent again only if its method is idempotent, or if nothing of it was sent.
  std::string key{};
  /// The request may have been sent with this key before, by an earlier run of the program: a
  /// refusal then does not mean that nothing happened.
  bool maybe_sent_before = false;
};

/// errc::invalid_argument with a detail of what is wrong; else a success.
[[nodiscard]] result<void> check(const request& sent);

/// A new key: a UUID of version 7 (RFC 9562). Thread-safe.
[[nodiscard]] std::string make_key();

// ---- the retry policy

/// How often, how long and how fast a request is sent again.
struct retry_params {
  std::size_t attempts = 8;              ///< with the first one; at least 1
  milliseconds budget{60'000};           ///< for all attempts and the waits between them
  milliseconds first_wait{200};          ///< the longest wait after the first attempt; doubles then
  milliseconds longest_wait{20'000};     ///< up to this
  milliseconds attempt_timeout{30'000};  ///< of one attempt; never longer than the budget's rest
};

/// errc::invalid_argument: there is no attempt, a time for them is not positive, or a wait is
/// negative. The largest durations mean "for ever".
[[nodiscard]] result<void> check(const retry_params& params);

/// What one attempt ended with.
struct attempt {
  std::optional<onceguard::answer> answer;  ///< if it came whole
  std::string fault;                        ///< without an answer: why, for people
  bool sent = false;       ///< without an answer: a part of the request may have arrived
  bool permanent = false;  ///< without an answer: another attempt ends the same
};

/// How the sending of a request ends.
enum class ending : std::uint8_t {
  none,      ///< not yet: another attempt follows
  success,   ///< an answer of 2xx or 3xx, but 307 and 308, which are not followed
  refused,   ///< another final answer, or a fault that lasts; no attempt may have taken effect
  unknown,   ///< it may have taken effect, and sending it again may take effect twice or is no use
  gave_up,   ///< attempts or budget are used up: the same request with the same key is safe later
  canceled,  ///< by the caller; as gave_up
  done,      ///< it took effect, and its answer is not to be had (`answer-not-kept`)
};
/// The name of the enumerator.
[[nodiscard]] std::string_view name_of(ending end) noexcept;

/// What follows an attempt.
struct retry_decision {
  ending end = ending::none;  ///< none: another attempt
  milliseconds wait{0};       ///< before the next attempt
  std::string_view why{};     ///< for people: by which rule
};

/// What the decision depends on beside the attempt.
struct retry_state {
  bool repeatable = false;   ///< by a key or by its method, see is_repeatable
  bool safe = false;         ///< by its method, see is_safe: it has no effect to be in doubt of
  bool in_doubt = false;     ///< an earlier attempt may have taken effect, see may_have_effect
  std::size_t attempts = 1;  ///< made so far
  milliseconds elapsed{0};   ///< since the begin of the first attempt
  std::int64_t wall_ms = 0;  ///< now, since 1970: for a Retry-After that is a date
  double random = 0;         ///< from 0 to 1, without 1: the jitter
};

/// Whether a second arrival of the request does no harm: it has a key or an idempotent method.
[[nodiscard]] bool is_repeatable(const request& sent) noexcept;
/// Whether the method of the request asks for nothing to be changed: GET, HEAD, OPTIONS, TRACE.
[[nodiscard]] bool is_safe(const request& sent) noexcept;
/// Whether the operation may have taken effect by this attempt, or by an earlier one that it tells
/// of: a part of the request was sent and no answer came, or the answer leaves it open. An answer
/// of 5xx does, but 501 and 505.
[[nodiscard]] bool may_have_effect(const attempt& made);

/// The policy: whether to send the same request again, and when. Pure.
///
/// In this order: a success is final. A request that is not repeatable is sent again only if
/// nothing of it was sent. `Onceguard-Retry` is obeyed; without it the member `retryable` of a
/// problem document; without it, 408, 425, 429, 409 with `Retry-After`, and 5xx but 501 and 505 are
/// sent again. The wait is a random part of a bound that doubles (full jitter), on top of
/// `Retry-After`. What does not fit into attempts and budget is given up. After an attempt that may
/// have taken effect nothing is `refused`: a refusal is of the later attempt alone.
[[nodiscard]] retry_decision decide_retry(const retry_params& params, const attempt& made,
                                          const retry_state& state);

// ---- sending

/// Sends one request once. One thread at a time may use it.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  /// Blocks until the answer is whole, the time is up or a stop is requested. The request is a
  /// checked one. Redirects are not followed.
  [[nodiscard]] virtual attempt send(const request& sent, milliseconds timeout,
                                     const std::stop_token& stop) = 0;
};

/// The settings of a transport.
struct transport_params {
  std::string ca_file;                 ///< PEM; empty: the system's authorities
  std::size_t max_answer = 16u << 20;  ///< bytes of an answer's body
};

/// After each attempt, with its number from 1 on. May not throw.
using attempt_observer =
    std::function<void(std::size_t number, const attempt& made, const retry_decision& next)>;

/// What came of a request.
struct delivery {
  ending end = ending::none;  ///< how it ended
  std::string_view why{};     ///< by which rule it ended
  std::size_t attempts = 0;   ///< made in all
  bool in_doubt = false;      ///< success and done apart: one of them may have taken effect
  attempt last{};             ///< with the answer
};

/// Sends the request until its end is known, and blocks so long. errc::invalid_argument: nothing
/// was sent, because the request is not well formed. Thread-safe with a transport for each thread.
[[nodiscard]] result<delivery> send(transport& transport, const request& sent,
                                    const retry_params& params = {},
                                    const attempt_observer& observer = {},
                                    std::stop_token stop = {});

}  // namespace v1
}  // namespace onceguard::client
