// The engine guards work that runs outside a database transaction: claim, run, settle.
//
//   auto [answer, lease] = co_await engine.claim(io, operation);
//   if (!lease) co_return answer;                   // a replay, or why it may not run now
//   settle_terms terms = co_await do_the_work();
//   answer = co_await lease->settle(terms);
//
// The engine never calls back: a front door calls the engine, does its work, and settles. A lease
// may be watched.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/error.hpp>
#include <onceguard/fingerprint.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/store.hpp>

namespace onceguard {
inline namespace v1 {

class held_lease;

/// What the engine does when the store has lost its memory.
enum class after_loss_rule : std::uint8_t {
  refuse,  ///< no new claims until every earlier lease and upstream timeout is over
  flag,    ///< continue; new runs are marked maybe-repeated
};

/// The settings of an engine.
struct engine_params {
  /// Of each call of the store.
  milliseconds store_timeout{2'000};
  /// A failed settle is repeated for this long before the caller gets its outcome.
  milliseconds settle_wait{10'000};
  /// How often expired records are removed.
  milliseconds sweep_interval{60'000};
  /// In bytes; 0: no cache.
  std::size_t replay_cache = 16u << 20;
  /// Requests that wait for their running twin; others are `busy`.
  std::size_t max_waiters = 10'000;
  /// How often a waiter polls the store for a twin in another process.
  milliseconds twin_poll{50};
  /// How many claims in doubt are followed up at the same time.
  std::size_t max_follow_ups = 10'000;
  /// After a loss of the store's memory.
  after_loss_rule after_loss = after_loss_rule::refuse;
  /// Directory of the witness file, which keeps the store's vitals.
  std::string state_dir;
  /// The sum of the longest lease and the longest upstream timeout.
  milliseconds loss_quiet{90'000};
  milliseconds longest_retention{24 * 3'600'000};  ///< of all routes
};

/// An application's report whether an operation took effect.
enum class effect_status : std::uint8_t {
  done,      ///< it took effect
  not_done,  ///< it did not
  unknown,   ///< the application does not know
};
/// The report, with what belongs to it.
struct effect_report {
  effect_status status = effect_status::unknown;  ///< says which members count
  answer_ptr answer;  ///< done: the first answer, if the application gave one; null: none
  std::string why;    ///< unknown: for people
};

/// An operation under one scope.
struct scoped_operation {
  record_id id{};           ///< made of scope and key: make_record_id
  subject_ptr about;        ///< the operation
  fingerprint_input input;  ///< what the fingerprint of `about` is made from
  /// What `input.more` was for records of versions that took less for it; empty: the same.
  std::optional<std::span<const std::string>> more_before = {};
};

/// One arriving operation. The targets of its views and pointers must outlive the claim. The
/// targets of `policy`, `upstream` and `answer_room` must outlive the lease, too.
struct operation : scoped_operation {
  /// The operation under the route's present scope and under each former one, if the route's scope
  /// rule was changed. A live record under one of these scopes is used; if there is none, a record
  /// is made at `id`. Empty: the route had no other scopes.
  std::vector<scoped_operation> scopes;
  /// Redirects have led it to a place where it was before. Set by the engine.
  bool came_back = false;
  /// The rules that apply.
  const route_policy* policy = nullptr;
  /// The service that does the work, for the log; may be empty.
  std::string_view upstream;
  /// The part of the engine's budget that is reserved for the answer of the work. Before each
  /// claim, this reservation gets `usual_answer` bytes. The engine claims nothing if
  /// `longest_answer` bytes would not fit. A settle that has to wait takes over the reservation
  /// together with the answer. May be null.
  byte_reservation* answer_room = nullptr;
  /// Bytes.
  std::size_t usual_answer = 0;
  /// Bytes.
  std::size_t longest_answer = 0;
  /// Of a caller who repeats a claim whose answer it did not get: the id that is common to all of
  /// its tries. A later try ends the lease that an earlier one got, at any process, and gets the
  /// next one. Empty: the claim is not repeated.
  std::optional<onceguard::claim_id> claim{};
  /// For how long it waits for a running twin; 0: not at all. Empty: as the policy says.
  std::optional<milliseconds> wait{};
  /// Claim into `started`: lease_handle::dispatch must follow before the work begins.
  bool into_started = false;
  /// A stop request means that the caller has disconnected: a claim that waits for a running twin
  /// ends, and no lease of an earlier try of the claim is ended any more.
  std::stop_token caller;
};

/// What became of an operation in this process.
enum class outcome_kind : std::uint8_t {
  granted,     ///< by claim(): `claim_result::lease` is set
  ran,         ///< by settle(): the work ran and is settled; send its own answer
  replay,      ///< send the stored answer (null: the operation took effect, but no answer was kept)
  superseded,  ///< the work ran, but another lease superseded its lease and the outcome is unknown
  unrecorded,  ///< the work ran, but the store did not answer within settle_wait; the settle is
               ///< repeated in the background
  busy,        ///< a twin runs
  backoff,     ///< an attempt failed; it may run again after `retry_after`
  mismatch,    ///< the key was used with another fingerprint
  unknown,     ///< it is unknown whether an earlier attempt took effect
  no_room,     ///< the budget has no room for the answer; nothing was claimed
  over_quota,  ///< the scope has used up what its policy grants; nothing was claimed
  store_failed,  ///< see `failure`; nothing ran
  unguarded,     ///< by claim(): the policy lets the operation run without a record
};

/// The result of a claim or a settle, for the front door.
struct outcome {
  outcome_kind kind = outcome_kind::busy;          ///< says which members count
  settle_kind settled_as = settle_kind::complete;  ///< ran, unrecorded
  answer_ptr answer;                               ///< replay: the stored answer
  answer_kept kept = answer_kept::none;            ///< replay: what is left of it
  milliseconds retry_after{1'000};  ///< busy, backoff, unknown, over_quota: a repeat before is in
                                    ///< vain
  bool waited = false;              ///< replay: the operation waited for its running twin
  bool other_work = false;          ///< mismatch: it surely asked for other work
  bool probed = false;              ///< unknown: a later repeat asks the application again
  bool superseded = false;          ///< by settle(): another lease had superseded this one
  error failure;                    ///< store_failed: what went wrong
};

/// What may happen to a lease beside its work.
enum class lease_event : std::uint8_t {
  lost,     ///< it was superseded, or ran out by the boot clock; on the engine's thread
  dropped,  ///< its handle was destroyed without a settle; on the thread that did so
};

/// A lease that was granted. The lease renews itself after each third of its length while the
/// handle lives. A handle that is destroyed without a settle abandons the lease: the outcome is
/// then unknown, and the engine logs the event. A handle that outlives its engine does nothing any
/// more, and can't be settled. A handle belongs to the thread of the io_context on which the
/// operation was claimed. Using a handle that was moved from or settled is a programmer's error.
class lease_handle {
 public:
  struct state;
  /// For the engine, which makes the handles.
  explicit lease_handle(std::shared_ptr<state> granted) noexcept;
  /// A handle moves within its thread.
  lease_handle(lease_handle&&) noexcept = default;
  lease_handle& operator=(lease_handle&&) = delete;
  ~lease_handle();

  /// The id of the record that has the lease.
  [[nodiscard]] const record_id& id() const noexcept;
  /// The subject under which the record was found, possibly with a former scope.
  [[nodiscard]] const subject& about() const noexcept;
  /// Token, claim id and attempt.
  [[nodiscard]] const onceguard::lease& lease() const noexcept;
  /// "OG1-" and record id, token and claim id in hex: the text with which an application completes
  /// the operation itself.
  [[nodiscard]] std::string text() const;

  /// True: an earlier attempt's outcome is unknown. Nothing may run until the application was asked
  /// with this lease's token, and conclude() permitted the run.
  [[nodiscard]] bool must_probe() const noexcept;
  /// Applies the application's report. None: the operation was not done, and this lease may run it
  /// now. Otherwise the lease is settled; the front door sends the outcome.
  boost::asio::awaitable<std::optional<outcome>> conclude(effect_report report);

  /// Call this just before anything leaves this process. False: less than a third of the lease is
  /// left by the boot clock, or the lease was given up. Then nothing may be sent.
  [[nodiscard]] bool begin_sending() noexcept;
  /// Call this before each further piece, in particular the last one. False: the lease ran out by
  /// the boot clock, was superseded or was given up, and another attempt may run by now.
  [[nodiscard]] bool may_go_on() const noexcept;
  /// How much of the lease is left by the boot clock, counted from before it was claimed or last
  /// renewed; 0: it ran out or was superseded.
  [[nodiscard]] milliseconds left() const noexcept;
  /// The store reported that the lease was superseded.
  [[nodiscard]] bool lost() const noexcept;
  /// Requests a stop when the lease is lost: it was superseded, or ran out by the boot clock. Only
  /// for leases of engine::claim(operation).
  [[nodiscard]] std::stop_token stop_when_lost();
  /// Calls `watcher` for each such event, once, and not after the settle. It must neither block nor
  /// throw. Only for leases of engine::claim(operation), and before the work begins.
  void watch(std::function<void(lease_event)> watcher);
  /// For code that sends data under this lease.
  [[nodiscard]] held_lease& held() noexcept;

  /// Renews the lease now; false: it is superseded.
  boost::asio::awaitable<result<bool>> renew();
  /// The work of a lease that was claimed into `started` begins; false: it is superseded.
  boost::asio::awaitable<result<bool>> dispatch();
  /// From now on only renew() renews it.
  void stop_renewing() noexcept;
  /// Ends the handle, not the lease, which runs out by itself unless engine::resume is called in
  /// time. Nothing but the destructor may be called after it.
  void let_go() noexcept;

  /// Ends the lease. A failed settle is repeated for settle_wait, and after that in the background.
  /// Throws std::logic_error if the lease was settled before.
  boost::asio::awaitable<outcome> settle(settle_terms terms);

 private:
  boost::asio::awaitable<std::optional<outcome>> conclude_here(effect_report report);

  std::shared_ptr<state> state_;
};

/// What resume() tells two operations with one key apart by: 16 hex digits of the fingerprint.
[[nodiscard]] std::string print_mark(const fingerprint& print);

/// A lease, or why there is none.
struct claim_result {
  onceguard::outcome outcome;         ///< `granted`, or what to answer
  std::optional<lease_handle> lease;  ///< granted
};

/// The stored answer of a completed record, served from memory.
struct cached_replay {
  answer_ptr answer;                     ///< null: none was kept
  answer_kept kept = answer_kept::none;  ///< what is left of it
};

/// A counter of an engine, which is a metric, too.
class engine_counter : public std::atomic<std::uint64_t> {
 public:
  /// Adds the counter to a list.
  engine_counter(std::vector<const engine_counter*>& list, std::string_view metric,
                 std::string_view counts)
      : name(metric), meaning(counts) {
    list.push_back(this);
  }
  const std::string_view name;     ///< of the metric
  const std::string_view meaning;  ///< one line, for people
};

/// Counters since the start of the process. They never contain a key or a scope.
struct engine_counters {
  std::vector<const engine_counter*> all;  ///< those that follow
  /// @{
  /// Counts what its meaning says.
  engine_counter runs{all, "onceguard_runs_total", "Leases that were granted to run an operation."};
  engine_counter replays{all, "onceguard_replays_total",
                         "Answers that were replayed out of the store."};
  engine_counter cached_replays{all, "onceguard_cached_replays_total",
                                "Answers that were replayed out of memory."};
  engine_counter busy{all, "onceguard_busy_total", "Claims that met a running twin."};
  engine_counter mismatches{all, "onceguard_mismatches_total",
                            "Claims with another fingerprint than the first."};
  engine_counter backoffs{all, "onceguard_backoffs_total",
                          "Claims that came before a failed one may run again."};
  engine_counter unknowns{all, "onceguard_unknown_outcomes_total",
                          "Claims whose outcome is unknown."};
  engine_counter probes{all, "onceguard_probes_total",
                        "Leases that were granted to ask the application."};
  engine_counter store_failures{all, "onceguard_store_failures_total",
                                "Claims and settles that the store failed."};
  engine_counter unguarded{all, "onceguard_unguarded_runs_total",
                           "Operations that ran while the store was away."};
  engine_counter stale_settles{all, "onceguard_leases_lost_total",
                               "Settles of a lease that another had superseded."};
  engine_counter incidents{all, "onceguard_incidents_total",
                           "Completed records that were gone meanwhile."};
  engine_counter late_settles{all, "onceguard_late_settles_total",
                              "Settles that were recorded after settle_wait."};
  engine_counter follow_ups{all, "onceguard_follow_ups_total",
                            "Claims in doubt that were followed up."};
  engine_counter losses{all, "onceguard_store_losses_total",
                        "How often the store had lost its memory."};
  engine_counter swept{all, "onceguard_swept_records_total", "Records that a sweep removed."};
  engine_counter other_scopes{all, "onceguard_other_scopes_total",
                              "Requests with the key and fingerprint of another scope's."};
  engine_counter over_quota{all, "onceguard_over_quota_total",
                            "New claims that were refused as their scope is over its quota."};
  engine_counter maybe_repeated{all, "onceguard_maybe_repeated_total",
                                "Runs that were marked maybe-repeated."};
  /// @}
  /// Runs that became unknown, by unknown_reason.
  std::array<std::atomic<std::uint64_t>, unknown_reasons> became_unknown{};
};

/// What the last poll of the store showed.
struct store_health {
  bool opened = false;          ///< the store has answered a poll of this process
  bool up = false;              ///< the store answered the last poll, and takes writes
  std::int64_t since_wall = 0;  ///< since when that fails, in milliseconds since 1970; 0: none did
  std::string why;              ///< what it failed with; empty: it did not
  milliseconds refuses_for{0};  ///< after a loss: for how long nothing new is claimed
  bool flagged = false;         ///< after a loss: new runs may repeat what the store forgot
  std::int64_t swept_wall =
      0;  ///< when this process swept last, in milliseconds since 1970; 0: not
};

/// Numbers of this moment. Reading them takes a few locks, each for a moment.
struct engine_gauges {
  std::size_t leases = 0;          ///< held by this process
  std::size_t waiters = 0;         ///< requests that wait for their running twin
  std::size_t cached_answers = 0;  ///< in the replay cache
  std::size_t cached_bytes = 0;    ///< of them
};

/// Claims operations of a store, and keeps their leases.
/// Thread-safety: every member may be called from any thread. claim() runs on the given io_context,
/// which must be run by one thread.
/// Destroy the engine after these io_contexts, because its background work ends with them.
class engine {
 public:
  struct state;

  /// `records` and `budget` must outlive the engine.
  engine(store& records, engine_params params, byte_budget& budget);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Reports configuration errors before the first request: a `state_dir` that can't be written.
  [[nodiscard]] result<void> check() const;
  /// Polls the store once. The caller polls at the start; after start(), the engine polls each
  /// second. Until the store has answered a first poll, the engine serves nothing from memory and
  /// claims nothing: a claim polls first. Concurrent calls share one poll.
  boost::asio::awaitable<result<void>> poll_store();
  /// Begins to poll the store and to sweep on `io`, and registers for settles of other processes.
  void start(boost::asio::io_context& io);
  /// Ends the work of start(). Call this before the io_contexts of waiting claims end.
  void stop();

  /// The stored answer, if it is in memory. Does not suspend and does not use the store.
  [[nodiscard]] std::optional<cached_replay> find_replay(const record_id& id,
                                                         const fingerprint& print);
  /// Claims an operation. Waits for a running twin if the policy says so.
  boost::asio::awaitable<claim_result> claim(boost::asio::io_context& io, operation operation);
  /// The same on whatever executor awaits it. The lease is renewed on the io_context of start(),
  /// and its handle may be used by any one thread at a time. A lease shorter than a second may run
  /// out before its renewal. Throws std::logic_error before start().
  boost::asio::awaitable<claim_result> claim(operation operation);

  /// A handle of a lease whose own is gone, after a restart or lease_handle::let_go. Of `op` count
  /// `id`, `policy`, `upstream` and `answer_room`, and as in claim() the last three must outlive
  /// it; `mark` is print_mark of the subject that was claimed. The lease is renewed like any other.
  /// None: the store has no record of it.
  boost::asio::awaitable<result<std::optional<lease_handle>>> resume(operation op, lease held,
                                                                     std::string mark);

  /// The number of settles and claims in doubt that are repeated in the background. A shutdown
  /// should wait for them.
  [[nodiscard]] std::size_t pending() const noexcept;
  /// Applies a new configuration. `loss_quiet` is how long earlier requests may still be under way
  /// after a loss; `longest_retention` is how long answers may have been kept. Larger earlier
  /// values remain in force.
  void expect(milliseconds loss_quiet, milliseconds longest_retention);
  /// For shutdown: ends every lease that is still held. The outcome is unknown if anything was
  /// sent.
  boost::asio::awaitable<void> end_held_leases();

  /// Counters of this engine.
  [[nodiscard]] const engine_counters& counters() const noexcept;
  /// What the last poll showed.
  [[nodiscard]] store_health health() const;
  /// Numbers of this moment.
  [[nodiscard]] engine_gauges gauges() const;
  /// The store.
  [[nodiscard]] store& records() noexcept;

 private:
  const std::unique_ptr<state> state_;
};

}  // namespace v1
}  // namespace onceguard
