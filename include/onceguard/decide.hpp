// The state machine: pure functions from a record and an act to what becomes of both. They are
// the specification. Every store agrees with them; the embedded stores call them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard {

/// A store's clocks at one moment, in milliseconds.
struct instant {
  std::int64_t lease = 0;      ///< what leases and back-offs run by; never steps
  std::int64_t wall = 0;       ///< what retention runs by
  bool expiry_paused = false;  ///< the wall clock stepped: nothing expires until confirmed
};

/// A point in the past of every clock. A store puts it in the place of a deadline that it can't
/// compare with its present clock (another boot of the machine): that lease is over.
inline constexpr std::int64_t long_over = -(std::int64_t{1} << 60);

/// What a claim that meets `unknown` does.
enum class unknown_policy : std::uint8_t {
  hold,   ///< never run again by itself
  probe,  ///< take a probe lease with the next token (fence), then ask
  rerun,  ///< take over: at least once
};

/// One attempt to claim. Repeating it with the same nonce is harmless.
struct claim {
  record_id id{};
  onceguard::claim_id claim_id{};
  subject_ptr about;
  milliseconds lease{30'000};
  bool into_started = false;  ///< claim into `started`; `dispatch` must follow before the work
  unknown_policy unknown = unknown_policy::hold;
  milliseconds probe_after{0};        ///< probe: not before this long after the claim
  milliseconds unknown_retention{0};  ///< 0: what is not settled never expires
  bool maybe_repeated = false;
  /// By this claim id it was sent before, and may hold the lease already: what another claim of the
  /// key is told says nothing about it.
  bool repeated = false;
};

enum class verdict_kind : std::uint8_t {
  run,                 ///< `lease` is granted
  replay,              ///< `answer` (null: it took effect, but the answer was not kept; see `kept`)
  busy,                ///< somebody runs it; `retry_after` is what is left of the lease
  mismatch,            ///< the key was used with another fingerprint
  backoff,             ///< failed before; `retry_after` until it may run again
  unknown,             ///< nobody knows whether it took effect; `why`, `since`
  remake_fingerprint,  ///< the record's was made as `fingerprint_method` says: make it so, ask
                       ///< again
  refused,             ///< this very claim id was released before; it may not run
};
inline constexpr std::size_t verdict_kinds = 8;

struct verdict {
  verdict_kind kind = verdict_kind::busy;
  onceguard::lease lease;
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
  milliseconds retry_after{0};
  milliseconds retention_left{0};  ///< replay: how long the answer may be served from memory
  milliseconds since{0};           ///< unknown: how long ago it was claimed
  unknown_reason why = unknown_reason::none;
  std::uint16_t why_status = 0;
  std::string fingerprint_method;
};

/// A verdict, and the record to write (none: nothing changes).
struct decision {
  onceguard::verdict verdict;
  std::optional<record> write;
};

/// What a claim meets. `stored` is null where there is no record; `next` is the token that a new
/// lease gets: larger than any that this store ever gave.
[[nodiscard]] decision decide(const record* stored, const claim& request, const instant& now,
                              token next);

enum class settle_kind : std::uint8_t {
  complete,  ///< it took effect: with its answer or without
  fail,      ///< to be run again after a back-off
  release,   ///< it provably did not happen; the key is free again
  abandon,   ///< the lease ends at once and the outcome is unknown
};

/// How a lease ends.
struct settle_terms {
  settle_kind kind = settle_kind::complete;
  answer_ptr answer;
  answer_kept kept = answer_kept::full;
  milliseconds retention{24 * 3'600'000};
  milliseconds backoff{1'000};       ///< fail: doubling with each failure in a row …
  milliseconds backoff_max{60'000};  ///< … up to this
  unknown_reason why = unknown_reason::none;
  std::uint16_t why_status = 0;
  milliseconds probe_pause{0};  ///< abandon: no probe before this has passed
  /// complete: told by the application, in the transaction of the effect. A lease that is not in
  /// the record is stale then, whatever else stands there: that transaction must not commit.
  bool by_application = false;
};

/// How the holder of a lease ends that lease. A repeated settle is answered as done.
struct settlement : settle_terms {
  record_id id{};
  onceguard::token token = 0;  ///< 0 with `release`: the claim id alone names the lease
  onceguard::claim_id claim_id{};
  subject_ptr about;  ///< to write the record anew should the store have lost it
};

/// The settle of a lease that was granted.
[[nodiscard]] settlement settle_lease(const record_id& id, const lease& held, subject_ptr about,
                                      settle_terms terms);

enum class settle_outcome : std::uint8_t {
  done,      ///< carried out now, or by an earlier copy of the same settle
  incident,  ///< done, but the record was gone or released: the store or an operator forgot it
  stale,     ///< another lease or an operator has the word; nothing was changed
};

struct settled {
  settle_outcome outcome = settle_outcome::done;
  // What stands in the record, where its holder is to answer that and not its own: stale, and
  // done where the application had completed it. Then the state is `completed`, as the retention
  // is the application's, and there is an answer only if it is another than the holder's.
  observed_state state = observed_state::unknown;
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
};

struct settle_decision {
  settled result;
  std::optional<record> write;
};

[[nodiscard]] settle_decision decide_settle(const record* stored, const settlement& request,
                                            const instant& now);

/// Renew a lease, or move it from `started` or `probing` to `in_progress` (dispatch). Both give
/// it its full length again, also when it ran out but was not superseded; not once it was
/// abandoned.
struct extension {
  record_id id{};
  onceguard::token token = 0;
  onceguard::claim_id claim_id{};
  milliseconds lease{30'000};
  bool dispatch = false;
};

/// A renewal of a lease that was granted, to a length that counts from now; or its dispatch.
[[nodiscard]] extension extend_lease(const record_id& id, const lease& held, milliseconds length,
                                     bool dispatch = false);

struct extend_decision {
  bool stale = false;  ///< superseded, abandoned, settled or gone: stop
  std::optional<record> write;
};

[[nodiscard]] extend_decision decide_extension(const record* stored, const extension& request,
                                               const instant& now);

/// How an operator ends what nobody else does.
struct resolution {
  record_id id{};
  /// It did happen (with `answer`, if there is one); else: it did not. A completed record takes
  /// an answer that it lacks, and keeps its retention.
  bool completed = false;
  answer_ptr answer;
  bool force = false;  ///< also while the lease or the work may still be running, or unreadable
  milliseconds retention{24 * 3'600'000};
  subject_ptr about;  ///< whose it is, should the record be unreadable; null: that is not known
};

enum class resolve_outcome : std::uint8_t {
  done,
  not_found,
  running,            ///< refused without force: the lease runs, or, for a release, the
                      ///< upstream's timeout after it
  already_completed,  ///< and its answer is there, or none was given; only a release changes that
};

struct resolve_decision {
  resolve_outcome outcome = resolve_outcome::done;
  milliseconds retry_after{0};  ///< running: when it may be resolved without force
  bool forgets_answer = false;  ///< a completed record has changed: caches must drop it
  std::optional<record> write;
};

[[nodiscard]] resolve_decision decide_resolution(const record* stored, const resolution& request,
                                                 const instant& now);

/// What an operator puts in the place of a record that can't be read; only with `force`. Whoever
/// held a lease on it is superseded. `next` is larger than any token that this store ever gave. Of
/// the first request nothing is known, so what is completed is compared with none.
[[nodiscard]] resolve_decision resolve_unreadable(const resolution& request, const instant& now,
                                                  token next);

/// A record of another store, as it moves into this one. Its holder stays behind: no lease comes
/// along, so what was under way is unknown.
struct imported_record {
  record_id id{};
  record stored;  ///< its points in time are the other store's; what counts here is below
  milliseconds lease_over{0};  ///< how long no lease has run
  milliseconds retry_after{0};
  milliseconds claimed_ago{0};
  milliseconds settled_ago{0};
  milliseconds retention_left{0};  ///< 0: never expires
};

enum class import_outcome : std::uint8_t {
  imported,
  already_there,  ///< this very record stands here already
  conflict,       ///< another one does, also a later state of this one; nothing was changed
};

struct import_decision {
  import_outcome outcome = import_outcome::imported;
  std::optional<record> write;
};

/// Tokens that its record is given from then on are above the one that it brings.
[[nodiscard]] import_decision decide_import(const record* stored, const imported_record& request,
                                            const instant& now);

/// A released record is kept this long, so that tokens and attempts go on from it.
inline constexpr milliseconds released_retention{3'600'000};

/// Has it outlived its retention? An expired record counts as absent, swept or not.
[[nodiscard]] bool expired(const record& stored, const instant& now) noexcept;

/// The state that an operator sees now.
[[nodiscard]] observed_state observe(const record& stored, const instant& now) noexcept;

}  // namespace onceguard
