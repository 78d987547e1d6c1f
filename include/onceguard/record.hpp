// What is kept for one (scope, key), and the small types that it is made of.
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

using milliseconds = std::chrono::milliseconds;

/// A SHA-256.
using digest = std::array<unsigned char, 32>;

/// 128 random bits, made by the claimant for one attempt to claim. It becomes the nonce of the
/// lease that the claim gets: the token orders leases, the nonce identifies one.
using claim_id = std::array<unsigned char, 16>;

/// SHA-256 over (scope, key), each length-prefixed. What a store finds a record by.
using record_id = digest;

/// SHA-256 over what makes two requests the same, and how it was made ("exact", "none",
/// "json", "json pick /a /b", "json omit /a"). A repeat is compared the way the record says.
struct fingerprint {
  std::string method;
  digest value{};
  friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// Persistent values: never renumber.
enum class record_state : std::uint8_t {
  started = 1,      ///< claimed, and the work has provably not begun
  in_progress = 2,  ///< the work may have begun; once its lease is over the outcome is unknown
  probing = 3,      ///< the application is being asked; once its lease is over: unknown again
  completed = 4,
  failed = 5,    ///< to be run again, not before retry_at
  released = 6,  ///< counts as absent, but keeps token, attempt and claim id for an hour
};

/// What an operator sees: as record_state, with `unknown` derived from the lease.
enum class observed_state : std::uint8_t {
  started = 1,
  in_progress = 2,
  probing = 3,
  completed = 4,
  failed = 5,
  released = 6,
  unknown = 7,
};
inline constexpr std::size_t observed_states = 7;

/// Why an outcome is unknown. Persistent values: never renumber.
enum class unknown_reason : std::uint8_t {
  none = 0,
  holder_gone = 1,      ///< the lease ran out and nobody settled it
  upstream_status = 2,  ///< an answer that says nothing about the effect (5xx by default)
  upstream_timeout = 3,
  upstream_broken = 4,  ///< the connection broke, or the answer was nonsense
  upgraded = 5,         ///< the upstream switched protocols (101)
  abandoned = 6,        ///< given up at shutdown
  probe_inconclusive = 7,
};

/// Why a completed record has no answer. Persistent values: never renumber.
enum class answer_kept : std::uint8_t {
  full = 0,
  status_only = 1,  ///< status and headers without the body, as asked for
  too_large = 2,
  streamed = 3,
  none = 4,  ///< it took effect, and no answer is known
};

/// A stored answer. Headers keep their order and their repeats; the body is bytes.
struct answer {
  std::uint16_t status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  friend bool operator==(const answer&, const answer&) = default;
};
using answer_ptr = std::shared_ptr<const answer>;

/// What a claim is about: constant for one operation, shared by its claim and its settle, and
/// kept in the record for the operator who looks for it.
struct subject {
  digest scope{};          ///< SHA-256 of the scope's kind and value: never the credential itself
  std::string scope_kind;  ///< "credential", "header:x-tenant", "anonymous" …
  std::string key;         ///< the idempotency key, 1 to 255 bytes
  std::string method;
  std::string path;   ///< without the query
  std::string route;  ///< the prefix of the rule that applied
  onceguard::fingerprint print;
  milliseconds run_timeout{0};  ///< how long the work may still be under way after its lease
};
using subject_ptr = std::shared_ptr<const subject>;

/// The number that grows with every lease of one (scope, key) and is never reused.
using token = std::uint64_t;

/// The right to run. A settle must match both token and nonce.
struct lease {
  onceguard::token token = 0;
  onceguard::claim_id claim_id{};
  std::uint32_t attempt = 0;  ///< 1, 2, … with every lease of the record
  bool probe = false;         ///< a lease to ask, not to run
  bool started = false;       ///< the claim went into `started`: dispatch before the work
  friend bool operator==(const lease&, const lease&) = default;
};

/// All that is kept for one (scope, key). Points in time are those of the store's own clocks,
/// in milliseconds: `*_lease` on the clock that leases run by, `*_wall` on the wall clock.
struct record {
  subject_ptr about;
  record_state state = record_state::started;
  onceguard::token token = 0;
  onceguard::claim_id claim_id{};
  std::uint32_t attempt = 0;
  std::int64_t deadline_lease = 0;  ///< end of the lease; in the past: the lease is over
  std::int64_t retry_at_lease = 0;  ///< failed: not before; unknown: not probed before
  std::int64_t claimed_at_wall = 0;
  std::int64_t settled_at_wall = 0;       ///< 0: not settled
  std::int64_t expires_at_wall = 0;       ///< 0: never
  std::int64_t unknown_retention_ms = 0;  ///< 0: an unsettled record never expires
  unknown_reason why = unknown_reason::none;
  std::uint16_t why_status = 0;  ///< the upstream's status, where that is the reason
  answer_kept kept = answer_kept::none;
  answer_ptr answer;           ///< null unless completed with one
  std::uint32_t failures = 0;  ///< `fail` settles in a row, for the back-off
  bool by_operator = false;    ///< settled by resolve, not by its holder
  bool incident = false;       ///< completed though no such record stood there
  /// A lease before this one ended with an unknown outcome, and nobody has found out since: when
  /// this one is released, the record is unknown again and not free.
  bool earlier_unknown = false;
  bool maybe_repeated = false;  ///< ran after the store had lost its memory
  /// Completed by the application itself, in the transaction of the effect: its answer is the
  /// answer; where it gave none, the holder's settle adds one, once.
  bool by_application = false;
};

[[nodiscard]] std::string_view name_of(record_state) noexcept;
[[nodiscard]] std::string_view name_of(observed_state) noexcept;
[[nodiscard]] std::string_view name_of(unknown_reason) noexcept;
[[nodiscard]] std::string_view name_of(answer_kept) noexcept;

}  // namespace onceguard
