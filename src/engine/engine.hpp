// The engine: claim, run, settle. It knows stores by their contract and work by an interface;
// front doors turn its outcomes into answers.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/error.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/store.hpp>

#include "base/byte_budget.hpp"
#include "base/clock.hpp"
#include "engine/execution.hpp"
#include "engine/params.hpp"
#include "engine/replay_cache.hpp"
#include "engine/waiting_room.hpp"

namespace onceguard {

class held_lease;
class loss_watch;
class tally;

/// What an application said when it was asked about a key.
enum class probe_answer : std::uint8_t { did, did_not, unclear };
struct probe_report {
  probe_answer said = probe_answer::unclear;
  answer_ptr answer;  ///< did: the first answer, as far as the application gave it; null: no answer
  std::string why;    ///< unclear: for people
};

/// The work of one operation. Implemented by a front door; lives as long as execute() runs.
class work {
 public:
  work() = default;
  work(const work&) = delete;
  work& operator=(const work&) = delete;
  virtual ~work() = default;

  /// Does it, and says how the lease ends (id, token, nonce and about are filled in by the
  /// engine). Asks `held.begin_sending()` just before anything leaves this process, and
  /// `held.may_go_on()` before all that follows it.
  virtual boost::asio::awaitable<settlement> run(held_lease& held) = 0;
  /// Asks the application whether an earlier attempt took effect, with the token of `held`.
  virtual boost::asio::awaitable<probe_report> ask(held_lease& held) = 0;
  /// The store can't be reached and the route asked to go on without it.
  virtual boost::asio::awaitable<void> run_unguarded() = 0;
  /// Is anybody still there for the answer? Asked while it waits for a running twin.
  [[nodiscard]] virtual bool is_awaited() { return true; }
  /// The fingerprint of `about`, which is that of the operation or of one of its places, made the
  /// way that a record says.
  [[nodiscard]] virtual result<fingerprint> remake(const subject& about,
                                                   std::string_view method) = 0;
};

/// Where a record of an operation may stand.
struct record_place {
  record_id id{};
  subject_ptr about;
};

/// One arriving operation. `policy` must outlive execute().
struct operation {
  record_id id{};
  subject_ptr about;
  /// Where its route had other scopes before: its own place, and those under the former scopes.
  /// What is alive at one of them counts; only where nothing is, a record is made at `id`. Empty:
  /// there is but one.
  std::vector<record_place> places;
  const route_policy* policy = nullptr;
  /// What the answer of the work holds of the engine's budget. Before each claim it is given
  /// `usual_answer` bytes, and nothing is claimed where `longest_answer` would not fit. A settle
  /// that has to wait takes it over together with the answer. May be null; lives as long as
  /// execute() runs.
  base::reservation* answer_room = nullptr;
  std::size_t usual_answer = 0;
  std::size_t longest_answer = 0;
};

/// Counted since the start. Never a key or a scope among them.
struct engine_counters {
  std::atomic<std::uint64_t> runs{0}, replays{0}, cached_replays{0}, busy{0}, mismatches{0},
      backoffs{0}, unknowns{0}, probes{0}, store_failures{0}, unguarded{0}, stale_settles{0},
      incidents{0}, late_settles{0}, follow_ups{0}, losses{0}, swept{0};
};

/// Thread-safety: every member may be called from any thread. execute() runs on the io_context
/// that is given, which one thread runs.
/// To be destroyed after these io_contexts, as what it does in the background ends with them.
class engine {
 public:
  engine(store& records, engine_params params, base::byte_budget& budget);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// What can be seen to be wrong before the first request: a `state_dir` that can't be written.
  [[nodiscard]] result<void> check() const;
  /// Looks at the store once: at the start, and then each second by itself. Until it was heard,
  /// nothing is served from memory, and nothing is claimed: what comes looks first. Who looks
  /// while another does shares that look.
  boost::asio::awaitable<result<void>> look();
  /// Begins to watch the store and to sweep, on `io`, and to hear what other processes settle.
  void start(boost::asio::io_context& io);
  /// Ends what start() began. To be called before the io_contexts of those who wait end.
  void stop();

  /// The stored answer, where memory has it. Does not suspend and does not touch the store.
  [[nodiscard]] std::optional<cached_replay> find_replay(const record_id& id,
                                                         const fingerprint& print);
  boost::asio::awaitable<execution> execute(boost::asio::io_context& io, operation op, work& doing);

  /// Settles and claims of unknown fate that are still repeated though nobody waits for them any
  /// more: a shutdown does well to wait.
  [[nodiscard]] std::size_t pending() const noexcept { return following_up_ + settling_late_; }
  /// A new configuration: after a loss, requests may be under way for so long, and answers may have
  /// been kept for so long. What was longer before still counts.
  void expect(milliseconds loss_quiet, milliseconds longest_retention);

  /// At shutdown: every lease that is still held ends now, with an unknown outcome where anything
  /// was sent.
  boost::asio::awaitable<void> give_up_held();

  [[nodiscard]] const engine_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] store& records() noexcept { return store_; }

 private:
  friend class held_lease;
  boost::asio::awaitable<execution> attempt(boost::asio::io_context& io, operation& op,
                                            work& doing);
  boost::asio::awaitable<execution> wait_for_twin(boost::asio::io_context& io, operation& op,
                                                  work& doing);
  [[nodiscard]] std::optional<execution> take_news(const operation& op, const news& news);
  void tell(const operation& op, execution execution);
  static result<void> remake(operation& op, work& doing, std::string_view method);
  /// Turns to another place of `op` where a record is alive; false: there is none.
  boost::asio::awaitable<result<bool>> go_where_it_is(operation& op);
  /// The same for one that was granted a lease, which it gives back first.
  boost::asio::awaitable<result<bool>> yield_to_another_place(boost::asio::io_context& io,
                                                              operation& op, lease got);
  boost::asio::awaitable<execution> granted(boost::asio::io_context& io, operation& op, work& doing,
                                            lease got, base::boot_clock::time_point claimed);
  boost::asio::awaitable<std::optional<execution>> asked(boost::asio::io_context& io, operation& op,
                                                         work& doing, held_lease& held);
  boost::asio::awaitable<execution> finish(boost::asio::io_context& io, operation& op,
                                           held_lease& held, settlement request,
                                           std::uint64_t epoch);
  boost::asio::awaitable<execution> claim_failed(boost::asio::io_context& io, operation& op,
                                                 work& doing, claim request, error why);
  boost::asio::awaitable<execution> out_of_reach(operation& op, work& doing, error why);
  /// Where the store lost its memory it says when to come back.
  [[nodiscard]] execution failed_for_now(error why) const;
  execution after_settle(const operation& op, const settlement& request, const settled& result,
                         std::uint64_t epoch);
  /// The lease was another's when the settle came.
  boost::asio::awaitable<execution> superseded(const operation& op);
  boost::asio::awaitable<void> follow_up(claim request, tally one);
  /// The store could not be told, and will be told again.
  void settle_failed(const settlement& request, const error& why);
  /// Goes on behind the request; `room` is what its answer holds already.
  void settle_behind(boost::asio::io_context& io, settlement request, base::reservation room);
  boost::asio::awaitable<void> settle_later(settlement request, base::reservation room, tally one);
  boost::asio::awaitable<result<void>> look_now();
  boost::asio::awaitable<void> watch();
  boost::asio::awaitable<void> sweep();
  /// What the store says of itself decides whether it is looked at before the next claim.
  void note(const error& why) noexcept;
  claim make_claim(const operation& op);
  void remember(const operation& op, answer_ptr answer, answer_kept kept, milliseconds duration,
                std::uint64_t epoch);

  store& store_;
  const engine_params params_;
  base::byte_budget& budget_;
  replay_cache cache_;
  waiting_room waiting_;
  engine_counters counters_;
  std::unique_ptr<loss_watch> loss_;
  struct shared_look;
  std::mutex look_mutex_;
  std::shared_ptr<shared_look> looking_;  // under the mutex; null: nobody looks
  std::atomic<bool> heard_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> listening_{false};
  std::atomic<std::size_t> following_up_{0};
  std::atomic<std::size_t> settling_late_{0};

  struct held_list;
  std::unique_ptr<held_list> held_;
};

}  // namespace onceguard
