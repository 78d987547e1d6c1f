// The state machine: pure functions from a record and a request to a decision and the record to
// write. These functions are the specification. Every store agrees with them; the embedded stores
// call them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {

/// A store's clocks at one moment, in milliseconds.
struct instant {
  /// For leases and back-offs; this clock never steps.
  std::int64_t lease = 0;
  /// For retention.
  std::int64_t wall = 0;
  /// The wall clock stepped: nothing expires until the step is confirmed.
  bool expiry_paused = false;
};

/// What a claim does if the record's outcome is unknown.
enum class unknown_policy : std::uint8_t {
  hold,   ///< never run again automatically
  probe,  ///< take a probe lease with the next token (which fences earlier attempts), then ask the
          ///< application
  rerun,  ///< take over and run again: at least once
};

/// One attempt to claim. Repeating the claim with the same claim id is harmless.
struct claim {
  /// The record's id.
  record_id id{};
  /// Of this attempt.
  onceguard::claim_id claim_id{};
  /// The operation.
  subject_ptr about;
  /// The length of the lease.
  milliseconds lease{30'000};
  /// Claim into `started`; a `dispatch` must follow before the work begins.
  bool into_started = false;
  /// If an earlier outcome is unknown.
  unknown_policy unknown = unknown_policy::hold;
  /// Probe: not earlier than this time after the claim.
  milliseconds probe_after{0};
  /// 0: a record that is not settled never expires.
  milliseconds unknown_retention{0};
  /// The store had lost its memory before.
  bool maybe_repeated = false;
  /// The claim was sent before with this claim id and may hold the lease already. The verdict on
  /// another claim of the key does not apply to this claim.
  bool repeated = false;
  /// Of the answer, if the application settles in its own transaction and names no other.
  milliseconds retention{24 * 3'600'000};
};

/// What a claim may do.
enum class verdict_kind : std::uint8_t {
  run,       ///< `lease` is granted
  replay,    ///< `answer` is the stored answer; null: the operation took effect, but no answer was
             ///< kept (see `kept`)
  busy,      ///< another attempt runs the operation; `retry_after` is the rest of its lease
  mismatch,  ///< the key was used with another fingerprint
  backoff,   ///< the last attempt failed; it may run again after `retry_after`
  unknown,   ///< it is unknown whether the operation took effect; see `why` and `since`
  remake_fingerprint,  ///< the record's fingerprint was made by `fingerprint_method`: make this
                       ///< claim's fingerprint the same way and claim again
  refused,             ///< this claim id was released before and may not run
};
/// The number of kinds.
inline constexpr std::size_t verdict_kinds = 8;

/// The answer to a claim.
struct verdict {
  verdict_kind kind = verdict_kind::busy;  ///< says which members count
  onceguard::lease lease;                  ///< run: the lease that is granted
  answer_ptr answer;                       ///< run of execute: its answer; replay: the stored one
  answer_kept kept = answer_kept::none;    ///< replay: what is left of the answer
  milliseconds retry_after{0};             ///< busy, backoff: an earlier claim is in vain
  milliseconds retention_left{0};  ///< replay: how long the answer may be served from memory
  milliseconds since{0};           ///< unknown: how long ago the operation was claimed
  unknown_reason why = unknown_reason::none;  ///< unknown, and run after an unknown outcome
  std::uint16_t why_status = 0;    ///< unknown: the upstream's status, if it is the reason
  std::string fingerprint_method;  ///< remake_fingerprint: how it is made
};

/// A verdict, and the record to write. Without a record, nothing changes.
struct decision {
  onceguard::verdict verdict;   ///< the answer to the claim
  std::optional<record> write;  ///< replaces the stored record
};

/// Decides a claim. `stored` is null if there is no record. `next` is the token for a new lease:
/// larger than any token that this store ever gave.
[[nodiscard]] decision decide(const record* stored, const claim& request, const instant& now,
                              token next);

/// The ways in which the holder of a lease ends it.
enum class settle_kind : std::uint8_t {
  complete,  ///< the operation took effect, with or without an answer
  fail,      ///< the operation may run again after a back-off
  release,   ///< the operation provably did not happen; the key is free again
  abandon,   ///< the lease ends at once and the outcome is unknown
};

/// How a lease ends.
struct settle_terms {
  /// Says which members count.
  settle_kind kind = settle_kind::complete;
  /// Complete: the answer to keep.
  answer_ptr answer;
  /// Complete: what of the answer that is.
  answer_kept kept = answer_kept::full;
  /// Complete: how long the answer is kept.
  milliseconds retention{24 * 3'600'000};
  /// Fail: doubles with each failure in a row …
  milliseconds backoff{1'000};
  /// … up to this.
  milliseconds backoff_max{60'000};
  /// Abandon: why the outcome is unknown.
  unknown_reason why = unknown_reason::none;
  /// Abandon: the status, if that is the reason.
  std::uint16_t why_status = 0;
  /// Abandon: no probe before this time has passed.
  milliseconds probe_pause{0};
  /// complete: reported by the application, in the transaction of the effect. If the record does
  /// not have this lease, the settle is stale whatever the record's state: the application's
  /// transaction must not commit.
  bool by_application = false;
};

/// How the holder of a lease ends the lease. A repeated settle is answered as done.
struct settlement : settle_terms {
  record_id id{};                  ///< the record's id
  onceguard::token token = 0;      ///< 0 with `release`: the claim id alone names the lease
  onceguard::claim_id claim_id{};  ///< of the lease
  subject_ptr about;               ///< used to recreate the record if the store has lost it
};

/// Makes the settlement of a lease that was granted.
[[nodiscard]] settlement settle_lease(const record_id& id, const lease& held, subject_ptr about,
                                      settle_terms terms);

/// What became of a settle.
enum class settle_outcome : std::uint8_t {
  done,      ///< carried out now, or by an earlier copy of the same settle
  incident,  ///< done, but the record was gone or released: the store or an operator forgot it
  stale,  ///< the record belongs to another lease, also to a later one whose retention is over, or
          ///< an operator resolved it; nothing was changed
};

/// The answer to a settle.
struct settled {
  settle_outcome outcome = settle_outcome::done;  ///< whether the settle counts
  /// @{
  /// The record's state and answer, if the holder must send the record's answer instead of the
  /// holder's own. Set if the settle is stale, and if the settle is done but the application had
  /// completed the record. In the latter case `state` is `completed`, as the retention is the
  /// application's, and `answer` is set only if it differs from the holder's answer.
  observed_state state = observed_state::unknown;
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
  /// @}
};

/// The answer to a settle, and the record to write. Without a record, nothing changes.
struct settle_decision {
  settled result;               ///< the answer
  std::optional<record> write;  ///< replaces the stored record
};

/// Decides a settle. `stored` is null if there is no record.
[[nodiscard]] settle_decision decide_settle(const record* stored, const settlement& request,
                                            const instant& now);

/// Renews a lease, or moves it from `started` or `probing` to `in_progress` (dispatch). Both give
/// the lease its full length again, even if the lease ran out but was not superseded. An abandoned
/// lease can't be extended.
struct extension {
  record_id id{};                  ///< the record's id
  onceguard::token token = 0;      ///< of the lease
  onceguard::claim_id claim_id{};  ///< of the lease
  milliseconds lease{30'000};      ///< the new length, from the moment when it is carried out
  bool dispatch = false;           ///< also move the lease to `in_progress`
};

/// Makes the renewal, or the dispatch, of a lease that was granted. `length` counts from the moment
/// when the store carries out the extension.
[[nodiscard]] extension extend_lease(const record_id& id, const lease& held, milliseconds length,
                                     bool dispatch = false);

/// The answer to an extension, and the record to write. Without a record, nothing changes.
struct extend_decision {
  bool stale = false;  ///< the lease was superseded, abandoned or settled, or the record is gone:
                       ///< the holder must stop
  std::optional<record> write;  ///< replaces the stored record
};

/// Decides an extension. `stored` is null if there is no record.
[[nodiscard]] extend_decision decide_extension(const record* stored, const extension& request,
                                               const instant& now);

/// How an operator ends an operation that no attempt ends.
struct resolution {
  /// The record's id.
  record_id id{};
  /// Of the lease that the operator looked at: a record that has had another lease since stays as
  /// it is. 0: any.
  onceguard::token token = 0;
  /// Of the record that the operator looked at (record_view::revision): a lease that was renewed
  /// since, whose holder came back to its work, stays as it is. None: any.
  std::optional<std::int64_t> revision{};
  /// True: the operation took effect (with `answer`, if there is one). False: it did not. A
  /// completed record without an answer takes this answer and keeps its retention.
  bool completed = false;
  answer_ptr answer;   ///< completed: the answer; null: not known
  bool force = false;  ///< also while the lease or the work may still be running, or if the record
                       ///< is unreadable
  bool keep_completed = false;  ///< a release: not of a record that was completed meanwhile
  milliseconds retention{24 * 3'600'000};  ///< completed: how long the answer is kept
  subject_ptr about;  ///< the subject to write if the record is unreadable; null: not known
};

/// What became of a resolution.
enum class resolve_outcome : std::uint8_t {
  done,       ///< carried out
  not_found,  ///< there is no record
  running,    ///< refused without force: the lease is running; or, for a release, the upstream's
              ///< timeout after the lease has not passed yet
  already_completed,  ///< the record has its answer, or the resolution gave none; only a release
                      ///< without `keep_completed` changes such a record
  changed,  ///< the record has another lease than the one that was seen, or that lease was renewed
            ///< since, or the record can't be read any more; nothing was changed
};

/// The answer to a resolution, and the record to write. Without a record, nothing changes.
struct resolve_decision {
  /// The answer.
  resolve_outcome outcome = resolve_outcome::done;
  /// Running: after this time, the record may be resolved without force.
  milliseconds retry_after{0};
  bool forgets_answer = false;  ///< a completed record has changed: caches must drop its answer
  std::optional<record> write;  ///< replaces the stored record
};

/// Decides a resolution. `stored` is null if there is no record. `revision` is that of the record,
/// if its store counts its writes; none: the record's deadline.
[[nodiscard]] resolve_decision decide_resolution(const record* stored, const resolution& request,
                                                 const instant& now,
                                                 std::optional<std::int64_t> revision = {});

/// Makes the record that replaces an unreadable record; only with `force`. With a `token` or a
/// `revision`, which can't be compared any more, nothing is written. A lease on the unreadable
/// record is superseded. `next` is larger than any token that this store ever gave. The fingerprint
/// of the first request is lost, so later requests are not compared with it if the record is
/// completed.
[[nodiscard]] resolve_decision resolve_unreadable(const resolution& request, const instant& now,
                                                  token next);

/// A record of another store that moves into this store. No lease is imported: an operation that
/// was under way becomes unknown.
struct imported_record {
  record_id id{};  ///< the record's id, the same in each store
  record stored;   ///< its points in time are the other store's and do not count; the durations
                   ///< below do
  milliseconds lease_over{0};      ///< how long ago the last lease ended
  milliseconds retry_after{0};     ///< failed: the rest of the back-off
  milliseconds claimed_ago{0};     ///< how long ago the last lease was claimed
  milliseconds settled_ago{0};     ///< how long ago the record was settled, if it was
  milliseconds retention_left{0};  ///< 0: never expires
  /// Of work in steps. A store that can't keep it refuses the record.
  std::optional<recovery_point> recovery{};
};

/// What became of an import.
enum class import_outcome : std::uint8_t {
  imported,       ///< carried out
  already_there,  ///< this store has the same record already
  conflict,  ///< this store has another record, or a later state of the same record; nothing was
             ///< changed
};

/// The answer to an import, and the record to write. Without a record, nothing changes.
struct import_decision {
  import_outcome outcome = import_outcome::imported;  ///< the answer
  std::optional<record> write;                        ///< becomes the stored record
};

/// Decides an import. `stored` is null if there is no record.
/// Tokens that the store gives the record from then on are larger than the imported record's token.
[[nodiscard]] import_decision decide_import(const record* stored, const imported_record& request,
                                            const instant& now);

/// A released record is kept for this long, so that its tokens and attempts continue.
inline constexpr milliseconds released_retention{3'600'000};

/// Whether the record has outlived its retention. An expired record counts as absent, whether or
/// not it was swept.
[[nodiscard]] bool expired(const record& stored, const instant& now) noexcept;

/// The state of the record at `now`, as an operator sees it.
[[nodiscard]] observed_state observe(const record& stored, const instant& now) noexcept;

}  // namespace v1
}  // namespace onceguard
