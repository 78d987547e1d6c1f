// The store contract: all that the engine, the front doors and the commands know of a store.
//
// Rules for those who write one:
// - `decide.hpp` is the specification: each call behaves as if its pure function were applied to
//   the one record, atomically, with the store's own clocks. The contract suite checks it.
// - A call answers after its change is durable (as durable as the store ever gets), and within
//   `timeout` plus scheduling; an error says what is known of its effect. A claim or settle whose
//   fate is unknown may be repeated: nonce and kind make it harmless. A claim says so (`repeated`).
// - Tokens of one (scope, key) only grow, also across release, expiry, restart and loss.
// - Durations go in and come out; points in time never do.
// - A record that cannot be read is errc::record_unreadable, never absent; it is listed, counted,
//   and replaced by a resolution with force.
// - One bad item of a batch does not fail its neighbours; the same id twice in a batch behaves
//   as if one came after the other.
//
// Thread-safety: every member may be called from any thread at any time. A coroutine is resumed
// on the executor that it runs on.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// A record as an operator sees it: with durations in the place of points in time.
struct record_view {
  record_id id{};
  record stored;
  observed_state state = observed_state::unknown;
  milliseconds lease_left{0};  ///< negative: over since
  milliseconds retry_after{0};
  milliseconds retention_left{0};  ///< 0: never expires
};

struct list_filter {
  std::optional<observed_state> state;
  std::optional<std::string> key;  ///< the exact key, in any scope
  std::optional<digest> scope;
};

/// One that is there and can't be read: nothing is known of it but its id.
struct unreadable_record {
  record_id id{};
  std::string why;
};

struct list_page {
  std::vector<record_view> records;
  std::vector<unreadable_record> unreadable;  ///< they may be what any filter looks for
  std::string cursor;                         ///< empty: that was the last page
};

/// How many records there are, or how many of a piece of them.
struct counts {
  std::array<std::uint64_t, observed_states + 1> by_state{};  ///< indexed by observed_state
  std::uint64_t unreadable = 0;                               ///< in no state
  std::string cursor;                                         ///< empty: that was the last piece
};

/// What a process watches to notice that a store lost its memory or that an operator released
/// a completed record.
struct vitals {
  std::string identity;          ///< random, made with the store's data
  std::uint64_t generation = 0;  ///< only grows; a smaller one means an older copy
  std::uint64_t forgotten = 0;   ///< completed records that operators released so far
};

/// What a store can do, so that others need not know which one it is.
struct store_traits {
  std::string name;
  bool durable = true;         ///< survives a crash of the process and of the machine
  bool shared = true;          ///< several processes may use it at once
  bool transactional = false;  ///< the application can complete in its own transaction
};

/// Told of records that other processes settled: of each the first 8 bytes of its id, as a
/// big-endian number. On a thread of the store's own, which waits for it meanwhile: it must not
/// block. Each is a hint: some never come, some come twice, late, or for nothing.
using settled_listener = std::function<void(const std::vector<std::uint64_t>&)>;

class store {
 public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  [[nodiscard]] virtual store_traits traits() const = 0;

  virtual boost::asio::awaitable<std::vector<result<verdict>>> claim(
      std::vector<onceguard::claim> batch, milliseconds timeout) = 0;
  virtual boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                                      milliseconds timeout) = 0;
  /// Renewals and dispatches; true: still (or now) the holder's, false: stale.
  virtual boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                                   milliseconds timeout) = 0;

  virtual boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                                   milliseconds timeout) = 0;
  virtual boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                          milliseconds timeout) = 0;
  /// In the order of the first claim; `cursor` is that of the page before, empty for the first.
  virtual boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                         std::size_t limit,
                                                         milliseconds timeout) = 0;
  /// A large store counts a piece in each call; `cursor` is that of the piece before, empty for the
  /// first. Records that come, go or move meanwhile may be counted or not.
  virtual boost::asio::awaitable<result<counts>> count(std::string cursor,
                                                       milliseconds timeout) = 0;
  /// Takes in a record of another store. errc::conflict: this one takes none.
  virtual boost::asio::awaitable<result<import_outcome>> import_record(imported_record,
                                                                       milliseconds) {
    co_return error(errc::conflict, traits().name + ": records can't be moved into this store");
  }
  /// Removes up to `limit` records that have outlived their retention; how many went. A call may
  /// look at a part of the store alone, but sixty of them have looked at all of it, or each of them
  /// for a second.
  virtual boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                            milliseconds timeout) = 0;
  virtual boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) = 0;

  /// From now on `told` hears of what other processes settle, where a store can know that; null:
  /// nobody does. One listener: once this returned, the one before hears nothing any more.
  virtual void on_settled(settled_listener listener) { static_cast<void>(listener); }

  /// Finishes what was accepted, then refuses with errc::stopped. Blocks until done; idempotent.
  virtual void stop() = 0;
};

}  // namespace onceguard
