// The catalogue of errors: all answers that Onceguard itself gives (RFC 9457).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/log_events.hpp"

namespace onceguard::http {

enum class problem : std::uint8_t {
  in_progress,
  backing_off,
  outcome_unknown,
  answer_not_kept,
  key_reused,
  key_missing,
  key_malformed,
  scope_missing,
  bad_request,
  request_too_large,
  upstream_unreachable,
  upstream_broken,
  upstream_timeout,
  store_unreachable,
  overloaded,
  record_unreadable,
  request_timeout,
  signature_invalid,
  delivery_expired,
  loop_detected,
  replay_unchecked,
  quota_exceeded,
};

/// What a client should do, as the answer says it in Onceguard-Retry.
enum class retry_advice : std::uint8_t {
  same_key,  ///< send the same request again, with the same key
  new_key,   ///< this key belongs to another request: a new request takes a new key
  no,        ///< the same request gets the same answer
};
[[nodiscard]] std::string_view name_of(retry_advice advice) noexcept;

struct problem_info {
  problem id;
  std::string_view type;  ///< appended to problem_base
  std::uint16_t status;
  std::string_view title;
  std::string_view detail;  ///< what a person should do next
  retry_advice advice;
};

[[nodiscard]] const problem_info& info_of(problem which) noexcept;

/// How one answer differs from the catalogue.
struct problem_detail {
  std::string detail;               ///< empty: the catalogue's detail
  milliseconds retry_after{-1};     ///< negative: no Retry-After; otherwise rounded to whole
                                    ///< seconds, at least 1
  std::uint16_t status = 0;         ///< 0: the catalogue's status
  bool retryable_by_probe = false;  ///< an unknown outcome that a probe will resolve
  bool same_work = false;           ///< a mismatch that a new key could do twice

  problem_detail() = default;
  explicit problem_detail(std::string text) : detail(std::move(text)) {}
  explicit problem_detail(milliseconds after) : retry_after(after) {}
};

/// Why a request is not served.
struct refusal {
  problem which = problem::bad_request;
  problem_detail more{};
};

/// The answer in the form of the route's policy; without one, or where the route is not known
/// (null), as application/problem+json. `base` is the configured problem_base.
[[nodiscard]] answer problem_answer(problem which, std::string_view base,
                                    const problem_detail& more = {},
                                    const route_policy* policy = nullptr);

/// Lets a web page of this origin read the answer, if the policy lists it (`cors`).
void permit_origin(answer& out, const route_policy& policy, std::string_view origin);

/// The log event of a problem that a call to an upstream ends with.
[[nodiscard]] base::event event_of(problem which) noexcept;

}  // namespace onceguard::http
