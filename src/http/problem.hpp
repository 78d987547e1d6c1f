// The error catalogue: every answer that Onceguard gives in its own name (RFC 9457).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

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
};

struct problem_info {
  problem id;
  std::string_view type;  ///< appended to problem_base
  std::uint16_t status;
  std::string_view title;
  std::string_view detail;  ///< what to do next, for a person
  bool retryable;           ///< may the same request with the same key be sent again
};

[[nodiscard]] std::span<const problem_info> problem_catalogue() noexcept;
[[nodiscard]] const problem_info& info_of(problem which) noexcept;

/// What differs from the catalogue in one answer.
struct problem_detail {
  std::string detail;               ///< empty: the catalogue's
  milliseconds retry_after{-1};     ///< negative: no Retry-After; else whole seconds, at least 1
  std::uint16_t status = 0;         ///< 0: the catalogue's
  bool retryable_by_probe = false;  ///< an unknown outcome that will be asked about

  problem_detail() = default;
  explicit problem_detail(std::string text) : detail(std::move(text)) {}
  explicit problem_detail(milliseconds after) : retry_after(after) {}
};

/// The answer as application/problem+json. `base` is the configured problem_base.
[[nodiscard]] answer problem_answer(problem which, std::string_view base,
                                    const problem_detail& more = {});

}  // namespace onceguard::http
