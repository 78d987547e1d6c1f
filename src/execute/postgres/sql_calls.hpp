// The calls that `execute` makes to the SQL functions, as text. Every value is a number or in hex,
// so that nothing needs quoting and any client library can send the text.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/postgres.hpp>

namespace onceguard::postgres {

/// The reply to a claim.
struct claimed {
  onceguard::verdict verdict;
  bool locked = false;   ///< another transaction works on this record (the verdict is busy)
  std::string progress;  ///< for `run`: how far the work has come
};

[[nodiscard]] std::string claim_text(const request& request, const claim& wanted);
/// The claims of several requests in one statement, which has a row for each, in their order.
[[nodiscard]] std::string claims_text(std::span<const request> requests,
                                      std::span<const claim> wanted);
/// Throws statement_failed if the row is not one of `claim_text` or `claims_text`.
[[nodiscard]] claimed read_claimed(const sql_transaction::row& row, const claim& wanted);

/// As PostgreSQL's settings take it, in an int: from 1 ms to 24 days, which nobody waits for.
[[nodiscard]] std::int32_t as_setting(milliseconds duration) noexcept;

[[nodiscard]] std::string wait_text(const request& request, milliseconds at_most);
[[nodiscard]] std::string complete_text(const record_id& id, const lease& held,
                                        const answer& answer, milliseconds retention);
[[nodiscard]] std::string progress_text(const record_id& id, const lease& held,
                                        std::string_view step, std::string_view progress,
                                        milliseconds lease_length);
[[nodiscard]] std::string fail_text(const record_id& id, const lease& held, milliseconds backoff,
                                    milliseconds backoff_max);
[[nodiscard]] std::string abandon_text(const record_id& id, const lease& held);

}  // namespace onceguard::postgres
