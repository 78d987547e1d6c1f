// The record of one (scope, key), and the small types that it is made of.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceguard {
inline namespace v1 {

/// The unit of all durations.
using milliseconds = std::chrono::milliseconds;

/// A SHA-256 value.
using digest = std::array<unsigned char, 32>;

/// 128 random bits, made by the claimant for one attempt to claim. The claim id is also part of the
/// lease that the claim gets: the token orders leases, the claim id identifies one.
using claim_id = std::array<unsigned char, 16>;

/// SHA-256 over (scope, key), each length-prefixed. Stores find a record by this id.
using record_id = digest;

/// SHA-256 over the parts that make two requests the same, and the method by which it was made
/// ("exact", "none", "json", "json pick /a /b", "json omit /a"). A repeat is compared by the method
/// in the record.
struct fingerprint {
  /// The text form of the rule by which it was made.
  std::string method;
  /// The SHA-256.
  digest value{};
  /// Equal in method and value.
  friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// Persistent values: never renumber.
enum class record_state : std::uint8_t {
  started = 1,      ///< claimed; the work has provably not begun
  in_progress = 2,  ///< the work may have begun; once the lease is over, the outcome is unknown
  /// The application is being asked; once the lease is over, the outcome is unknown again.
  probing = 3,
  completed = 4,
  failed = 5,    ///< may run again, not before `retry_at`
  released = 6,  ///< counts as absent, but its token, attempt and claim id are kept for an hour
};

/// The state that an operator sees: as record_state, with `unknown` derived from the lease.
enum class observed_state : std::uint8_t {
  started = 1,
  in_progress = 2,
  probing = 3,
  completed = 4,
  failed = 5,
  released = 6,
  unknown = 7,
};
/// The number of states that an operator sees.
inline constexpr std::size_t observed_states = 7;

/// Why an outcome is unknown. Persistent values: never renumber.
enum class unknown_reason : std::uint8_t {
  none = 0,
  holder_gone = 1,      ///< the lease ran out without a settle
  upstream_status = 2,  ///< the answer's status says nothing about the effect (5xx by default)
  upstream_timeout = 3,
  upstream_broken = 4,  ///< the connection broke, or the answer was malformed
  upgraded = 5,         ///< the upstream switched protocols (101)
  abandoned = 6,        ///< the holder gave up the lease: at shutdown, or without a settle
  probe_inconclusive = 7,
};
/// The number of reasons, `none` included.
inline constexpr std::size_t unknown_reasons = 8;

/// Why a completed record has no answer. Persistent values: never renumber.
enum class answer_kept : std::uint8_t {
  full = 0,
  status_only = 1,  ///< status and headers without the body, as configured
  too_large = 2,
  streamed = 3,
  none = 4,  ///< the operation took effect, and no answer is known
};

/// A stored answer. Headers keep their order and their repeats; the body is bytes.
struct answer {
  /// From 100 to 999.
  std::uint16_t status = 0;
  /// Name and value.
  std::vector<std::pair<std::string, std::string>> headers;
  /// Bytes, as they were sent.
  std::string body;
  /// Equal in all members.
  friend bool operator==(const answer&, const answer&) = default;
};
/// An answer that does not change any more; null: there is none.
using answer_ptr = std::shared_ptr<const answer>;

/// The subject of a claim: constant for one operation, shared by its claim and its settle, and kept
/// in the record for operators.
struct subject {
  digest scope{};          ///< SHA-256 of the scope's kind and value: never the credential itself
  std::string scope_kind;  ///< "credential", "header:x-tenant", "anonymous" …
  std::string key;         ///< the idempotency key, 1 to 255 bytes
  std::string method;      ///< the HTTP method; may be empty
  std::string path;        ///< without the query
  std::string route;       ///< the prefix of the rule that applied
  onceguard::fingerprint print;  ///< of the first request
  milliseconds run_timeout{0};   ///< how long the work may still run after its lease
};
/// A subject that does not change any more.
using subject_ptr = std::shared_ptr<const subject>;

/// The fencing token: a number that grows with every lease of one (scope, key) and is never reused.
using token = std::uint64_t;

/// The right to run. A settle must match both token and claim id.
struct lease {
  /// Larger than that of each earlier lease of the record.
  onceguard::token token = 0;
  /// Of the claim that got the lease.
  onceguard::claim_id claim_id{};
  /// 1, 2, …: counts the leases of the record.
  std::uint32_t attempt = 0;
  /// A lease to ask the application, not to run.
  bool probe = false;
  /// The claim went into `started`: dispatch before the work begins.
  bool started = false;
  /// Equal in all members.
  friend bool operator==(const lease&, const lease&) = default;
};

/// All data that is kept for one (scope, key). Points in time are those of the store's own clocks,
/// in milliseconds: `*_lease` on the clock of leases, `*_wall` on the wall clock.
struct record {
  /// The operation.
  subject_ptr about;
  /// Whether a lease is over shows the deadline.
  record_state state = record_state::started;
  /// Of the last lease.
  onceguard::token token = 0;
  /// Of the last lease.
  onceguard::claim_id claim_id{};
  /// Number of leases so far.
  std::uint32_t attempt = 0;
  /// End of the lease; if in the past, the lease is over.
  std::int64_t deadline_lease = 0;
  /// Failed: no run before this time; unknown: no probe before this time.
  std::int64_t retry_at_lease = 0;
  /// The claim of the last lease.
  std::int64_t claimed_at_wall = 0;
  /// 0: not settled.
  std::int64_t settled_at_wall = 0;
  /// End of the retention; 0: never.
  std::int64_t expires_at_wall = 0;
  /// 0: an unsettled record never expires.
  std::int64_t unknown_retention_ms = 0;
  /// Why the outcome is unknown.
  unknown_reason why = unknown_reason::none;
  /// The upstream's status, if that is the reason.
  std::uint16_t why_status = 0;
  /// What is left of the answer.
  answer_kept kept = answer_kept::none;
  /// Null unless the record was completed with an answer.
  answer_ptr answer;
  /// `fail` settles in a row, for the back-off.
  std::uint32_t failures = 0;
  /// Settled by resolve, not by the holder of the lease.
  bool by_operator = false;
  /// Completed although the record was missing.
  bool incident = false;
  /// An earlier lease ended with an unknown outcome that is still not known. A release of the
  /// present lease then makes the record unknown again, not free.
  bool earlier_unknown = false;
  /// The operation ran after the store had lost its memory.
  bool maybe_repeated = false;
  /// Completed by the application itself, in the transaction of the effect. The application's
  /// answer counts; if it gave none, the holder's settle may add an answer, once.
  bool by_application = false;
};

/// How far work in several steps has come: what the next attempt continues from. Kept beside the
/// record by databases in which applications run such work (execute_steps, or
/// onceguard.save_progress in SQL).
struct recovery_point {
  /// The last commit of the work, for people: a step's name. UTF-8.
  std::string step;
  /// Bytes that only the work reads.
  std::string progress;
  /// Equal in both.
  friend bool operator==(const recovery_point&, const recovery_point&) = default;
};

/// @{
/// The name of the enumerator: "in_progress", "holder_gone", "full" …
[[nodiscard]] std::string_view name_of(record_state) noexcept;
[[nodiscard]] std::string_view name_of(observed_state) noexcept;
[[nodiscard]] std::string_view name_of(unknown_reason) noexcept;
[[nodiscard]] std::string_view name_of(answer_kept) noexcept;
/// @}

}  // namespace v1
}  // namespace onceguard
