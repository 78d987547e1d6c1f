// The store contract: all that the engine, the front doors and the commands know of a store.
//
// Rules for implementations:
// - `decide.hpp` is the specification: each call behaves as if its pure function were applied to
//   the one record, atomically, with the store's own clocks. The contract suite checks this rule.
// - A call answers after its change is durable (as durable as the store ever gets), and within
//   `timeout` plus scheduling. An error says what is known of its effect. A claim or settle in
//   doubt may be repeated: the claim id and the kind make the repeat harmless. A repeated claim
//   sets `repeated`.
// - Tokens of one (scope, key) only grow, also across release, expiry, restart and loss.
// - Parameters and results contain durations, never points in time.
// - A record that cannot be read is errc::record_unreadable, never absent. It is listed and
//   counted, and a resolution with force replaces it.
// - One bad item of a batch does not make the other items fail. If the same id is twice in a batch,
//   the two items behave as if one came after the other.
//
// Thread-safety: every member may be called from any thread at any time. A coroutine is resumed on
// the executor that it runs on.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {

/// A record as an operator sees it: with durations instead of points in time.
struct record_view {
  record_id id{};                                  ///< the record's id
  record stored;                                   ///< its points in time do not count
  observed_state state = observed_state::unknown;  ///< at the moment of the answer
  /// Of an unsettled record: another number after each renewal of its lease, without any other
  /// meaning. None: it is settled, or its source does not tell.
  std::optional<std::int64_t> revision{};
  milliseconds lease_left{0};      ///< negative: the lease has been over for this long
  milliseconds retry_after{0};     ///< failed: until it may run again; unknown: until a probe
  milliseconds retention_left{0};  ///< 0: never expires
  milliseconds age{0};             ///< since the claim of its last run
  std::size_t body_size = 0;       ///< of the stored answer, also where the body was left out
  std::optional<recovery_point> recovery{};  ///< of work in steps
};

/// Each member that is set must fit.
struct list_filter {
  /// One of these; empty: any.
  std::vector<observed_state> states;
  /// The exact key, in any scope.
  std::optional<std::string> key;
  /// A part of the key.
  std::string text;
  /// As subject::scope.
  std::optional<digest> scope;
  /// As subject::route.
  std::optional<std::string> route;
  /// As subject::method.
  std::optional<std::string> method;
  /// Why the outcome is unknown.
  std::optional<unknown_reason> reason;
  /// An age of at least this.
  std::optional<milliseconds> older;
  /// An age below this.
  std::optional<milliseconds> younger;
  /// What nobody ends without a person: the outcome is unknown, or the lease has been over for
  /// longer than the work may run and nobody settled it. Unreadable records are listed anyway.
  bool needs_person = false;
};

/// A record that exists and can't be read: only its id is known.
struct unreadable_record {
  record_id id{};   ///< the record's id
  std::string why;  ///< for people: what is wrong with it
};

/// A part of a list.
struct list_page {
  std::vector<record_view> records;           ///< those that fit the filter
  std::vector<unreadable_record> unreadable;  ///< listed whatever the filter, as they may match it
  std::string cursor;                         ///< empty: that was the last page
};

/// The number of records in the store, or in one piece of it.
struct counts {
  std::array<std::uint64_t, observed_states + 1> by_state{};  ///< indexed by observed_state
  std::uint64_t unreadable = 0;                               ///< in no state
  std::string cursor;                                         ///< empty: that was the last piece
};

/// The values that a process polls to notice that a store lost its memory or that an operator
/// released a completed record.
struct vitals {
  std::string identity;          ///< random, made when the store's data was created
  std::uint64_t generation = 0;  ///< only grows; a smaller value means an older copy of the data
  std::uint64_t forgotten = 0;   ///< number of completed records that operators have released
};

/// Properties of a store, so that its callers need not know its kind.
struct store_traits {
  std::string name;            ///< "sqlite", "postgresql" …
  bool durable = true;         ///< survives a crash of the process and of the machine
  bool shared = true;          ///< several processes may use it at once
  bool transactional = false;  ///< the application can complete an operation in its own transaction
};

/// A number that a store keeps of itself, for the metrics. The views are of constant texts.
struct store_number {
  std::string_view name;     ///< as the metric is called; of a counter, it ends with "_total"
  std::string_view meaning;  ///< one line, for people
  double value = 0;          ///< at the moment of the call
  bool counter = true;       ///< only grows; false: a gauge
};

/// The listener is called with the records that other processes settled. Each is given as the first
/// 8 bytes of its id, as a big-endian number. The call comes on a thread of the store, which waits
/// for the listener: the listener must not block. The calls are hints: some settles are not
/// announced, others twice, late, or without cause.
using settled_listener = std::function<void(const std::vector<std::uint64_t>&)>;

/// What an operator does with records: of a store, or of a gateway by its admin API.
class record_access {
 public:
  record_access() = default;
  /// Not copied, not moved.
  record_access(const record_access&) = delete;
  /// Not copied, not moved.
  record_access& operator=(const record_access&) = delete;
  virtual ~record_access() = default;

  /// Ends an operation for an operator (see `decide_resolution`).
  virtual boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                                   milliseconds timeout) = 0;
  /// The record of this id; none: there is none, or it has expired.
  virtual boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                          milliseconds timeout) = 0;
  /// Ordered by the first claim, a large store piece by piece. `cursor` is that of the previous
  /// page, empty for the first page. Each call is bounded in time: a page may have fewer records
  /// than `limit`, or none, and yet a cursor. Records that change meanwhile may be listed or not.
  /// Answers may be left out, or come without headers and body.
  virtual boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                         std::size_t limit,
                                                         milliseconds timeout) = 0;
  /// A large store counts one piece in each call. `cursor` is that of the previous piece, empty for
  /// the first piece. Records that are added, removed or moved meanwhile may be counted or not.
  virtual boost::asio::awaitable<result<counts>> count(std::string cursor,
                                                       milliseconds timeout) = 0;
};

/// A store. Its rules stand at the begin of this file.
class store : public record_access {
 public:
  /// Constant for the life of the store.
  [[nodiscard]] virtual store_traits traits() const = 0;

  /// Decides each claim (see `decide`), and makes the records. The answers are in the order of the
  /// batch.
  virtual boost::asio::awaitable<std::vector<result<verdict>>> claim(
      std::vector<onceguard::claim> batch, milliseconds timeout) = 0;
  /// Ends leases (see `decide_settle`). The answers are in the order of the batch.
  virtual boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                                      milliseconds timeout) = 0;
  /// Renewals and dispatches. True: the lease is valid. False: the lease is stale.
  virtual boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                                   milliseconds timeout) = 0;

  /// Imports a record of another store. errc::conflict: this store does not import records;
  /// errc::invalid_argument: it can't keep this one.
  virtual boost::asio::awaitable<result<import_outcome>> import_record(imported_record,
                                                                       milliseconds) {
    co_return error(errc::conflict, traits().name + ": records can't be moved into this store");
  }
  /// Removes up to `limit` records that have outlived their retention. Returns how many were
  /// removed. A call may cover only a part of the store, but sixty calls cover all of it, or run
  /// for a second each.
  virtual boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                            milliseconds timeout) = 0;
  /// What shows a loss of memory. Cheap: each process asks each second.
  virtual boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) = 0;
  /// Whether the store takes writes, without writing: a store may answer `vitals` and refuse every
  /// claim (a lock that another process holds, no memory that is left). Each process asks each
  /// second. It may be as old as the last `vitals`. By default: as far as is known, it does.
  virtual boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) {
    static_cast<void>(timeout);
    co_return result<void>();
  }

  /// From now on, the listener is called for settles of other processes, if the store learns of
  /// them; null: no listener. There is one listener: once this call has returned, the previous
  /// listener is not called any more.
  virtual void on_settled(settled_listener listener) { static_cast<void>(listener); }

  /// At once, without asking the database.
  [[nodiscard]] virtual std::vector<store_number> numbers() const { return {}; }

  /// Finishes the accepted calls, then refuses with errc::stopped. Blocks until done; idempotent.
  virtual void stop() = 0;
};

}  // namespace v1
}  // namespace onceguard
