// Work outside a database transaction: claim, run, settle.
//
//   auto [answer, lease] = co_await engine.claim(io, operation);
//   if (!lease) co_return answer;                   // a replay, or why it may not run now
//   settle_terms terms = co_await do_the_work();
//   answer = co_await lease->settle(terms);
//
// The engine never calls back: a front door calls it, does its work, and settles.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/error.hpp>
#include <onceguard/fingerprint.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/store.hpp>

namespace onceguard {

class held_lease;

/// What follows when a store has lost its memory.
enum class after_loss_rule : std::uint8_t {
  refuse,  ///< no new claims until every lease and upstream timeout from before is over
  flag,    ///< go on; new runs are marked maybe-repeated
};

struct engine_params {
  milliseconds store_timeout{2'000};
  milliseconds settle_wait{10'000};  ///< a settle that fails is repeated so long before the answer
  milliseconds sweep_interval{60'000};
  std::size_t replay_cache = 16u << 20;  ///< bytes; 0: none
  std::size_t max_waiters = 10'000;
  milliseconds twin_poll{50};           ///< a waiter asks for a twin in another process this often
  std::size_t max_follow_ups = 10'000;  ///< claims in doubt that are followed up at the same time
  after_loss_rule after_loss = after_loss_rule::refuse;
  std::string state_dir;            ///< where the witness of the store's identity is kept
  milliseconds loss_quiet{90'000};  ///< the longest lease and upstream timeout, added
  milliseconds longest_retention{24 * 3'600'000};
};

/// What an application says of an operation when it is asked.
enum class effect_status : std::uint8_t { done, not_done, unknown };
struct effect_report {
  effect_status status = effect_status::unknown;
  answer_ptr answer;  ///< done: the first answer, as far as the application gave it; null: none
  std::string why;    ///< unknown: for people
};

/// An operation under one scope.
struct scoped_operation {
  record_id id{};
  subject_ptr about;
  fingerprint_input input;  ///< what the fingerprint of `about` is made from
};

/// One arriving operation. What its views and pointers point to must outlive the claim, and
/// `policy` and `answer_room` the lease, too.
struct operation : scoped_operation {
  /// Where its route had other scopes before: under its own scope, and under each former one. The
  /// record that is alive under one of them counts; only where none is, a record is made at `id`.
  /// Empty: there were no others.
  std::vector<scoped_operation> scopes;
  const route_policy* policy = nullptr;
  /// What the answer of the work holds of the engine's budget. Before each claim this reservation
  /// is given `usual_answer` bytes, and nothing is claimed where `longest_answer` would not fit. A
  /// settle that has to wait takes the reservation over together with the answer. May be null.
  byte_reservation* answer_room = nullptr;
  std::size_t usual_answer = 0;
  std::size_t longest_answer = 0;
  /// Requested to stop: the caller has left, and a claim that waits for a running twin ends.
  std::stop_token caller;
};

enum class outcome_kind : std::uint8_t {
  granted,       ///< by claim(): the lease is there
  ran,           ///< by settle(): the work ran and is settled; its own answer goes out
  replay,        ///< the stored answer goes out (null: it took effect, but it was not kept)
  superseded,    ///< the work ran, but another holder has the word and its outcome is unknown
  unrecorded,    ///< the work ran, but the store did not answer within settle_wait; told later
  busy,          ///< a twin runs
  backoff,       ///< an attempt failed; not before `retry_after`
  mismatch,      ///< the key was used for something else
  unknown,       ///< nobody knows whether an earlier attempt took effect
  no_room,       ///< for the answer: nothing was claimed
  store_failed,  ///< `failure` says how; nothing ran
  unguarded,     ///< by claim(): the route asks to run without a record
};

/// What became of an operation.
struct outcome {
  outcome_kind kind = outcome_kind::busy;
  settle_kind settled_as = settle_kind::complete;  ///< ran, unrecorded
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
  milliseconds retry_after{1'000};
  bool probed = false;  ///< unknown: the application is asked again at a later repeat
  error failure;
};

/// A lease that was granted. It renews itself, at each third of its length, while the handle
/// lives. A handle that is dropped without a settle abandons the lease: its outcome is unknown, and
/// the log says so. Belongs to the thread of the io_context that it was claimed on. Use of a handle
/// that was moved from or settled is a programmer's error.
class lease_handle {
 public:
  struct state;
  explicit lease_handle(std::shared_ptr<state> granted) noexcept;
  lease_handle(lease_handle&&) noexcept = default;
  lease_handle& operator=(lease_handle&&) = delete;
  ~lease_handle();

  [[nodiscard]] const record_id& id() const noexcept;
  /// As the record was found: under a former scope, perhaps.
  [[nodiscard]] const subject& about() const noexcept;
  [[nodiscard]] const onceguard::lease& lease() const noexcept;
  /// "OG1-" and record id, token and claim id in hex: what an application completes with.
  [[nodiscard]] std::string text() const;

  /// An earlier attempt's outcome is unknown. Nothing may run before the application was asked,
  /// with this lease's token, and conclude() said that it may.
  [[nodiscard]] bool must_probe() const noexcept;
  /// What the application's report leads to. None: the operation was not done, and this lease may
  /// run it now. Else the lease is settled and the outcome goes out.
  boost::asio::awaitable<std::optional<outcome>> conclude(effect_report report);

  /// To be called just before anything leaves this process. False: less than a third of the lease
  /// is left by the boot clock, or the lease was given up. Then nothing may be sent.
  [[nodiscard]] bool begin_sending() noexcept;
  /// To be called before each further piece, the last above all. False: the lease ran out by the
  /// boot clock, was superseded or given up, and another attempt may run by now.
  [[nodiscard]] bool may_go_on() const noexcept;
  /// The store said that another lease stands in the record.
  [[nodiscard]] bool lost() const noexcept;
  /// For what sends on behalf of this lease.
  [[nodiscard]] held_lease& held() noexcept;

  /// Ends the lease. A settle that fails is repeated for settle_wait, and then behind the request.
  boost::asio::awaitable<outcome> settle(settle_terms terms);

 private:
  std::shared_ptr<state> state_;
};

struct claim_result {
  onceguard::outcome outcome;
  std::optional<lease_handle> lease;  ///< granted
};

/// The stored answer of a completed record, from memory.
struct cached_replay {
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
};

/// Counted since the start. Never a key or a scope among them.
struct engine_counters {
  std::atomic<std::uint64_t> runs{0}, replays{0}, cached_replays{0}, busy{0}, mismatches{0},
      backoffs{0}, unknowns{0}, probes{0}, store_failures{0}, unguarded{0}, stale_settles{0},
      incidents{0}, late_settles{0}, follow_ups{0}, losses{0}, swept{0};
};

/// Thread-safety: every member may be called from any thread. claim() runs on the io_context that
/// is given, which one thread runs.
/// To be destroyed after these io_contexts, as what it does in the background ends with them.
class engine {
 public:
  struct state;

  engine(store& records, engine_params params, byte_budget& budget);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// What can be seen to be wrong before the first request: a `state_dir` that can't be written.
  [[nodiscard]] result<void> check() const;
  /// Polls the store once: at the start, and then each second by itself. Before the store answered
  /// a first poll, nothing is served from memory and nothing is claimed: a claim polls first.
  /// Concurrent calls share one poll.
  boost::asio::awaitable<result<void>> poll_store();
  /// Begins to poll the store and to sweep, on `io`, and to listen for what other processes settle.
  void start(boost::asio::io_context& io);
  /// Ends what start() began. To be called before the io_contexts of those who wait end.
  void stop();

  /// The stored answer, where memory has it. Does not suspend and does not touch the store.
  [[nodiscard]] std::optional<cached_replay> find_replay(const record_id& id,
                                                         const fingerprint& print);
  boost::asio::awaitable<claim_result> claim(boost::asio::io_context& io, operation operation);

  /// Settles and claims in doubt that are repeated behind their requests: a shutdown does well to
  /// wait for them.
  [[nodiscard]] std::size_t pending() const noexcept;
  /// A new configuration: after a loss, requests may be under way for so long, and answers may have
  /// been kept for so long. What was longer before still counts.
  void expect(milliseconds loss_quiet, milliseconds longest_retention);
  /// At shutdown: every lease that is still held ends now, with an unknown outcome where anything
  /// was sent.
  boost::asio::awaitable<void> end_held_leases();

  [[nodiscard]] const engine_counters& counters() const noexcept;
  [[nodiscard]] store& records() noexcept;

 private:
  const std::unique_ptr<state> state_;
};

}  // namespace onceguard
