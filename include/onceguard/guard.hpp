// Operations that run once, inside a service: the engine with its store and a thread of its own.
//
//   auto guard = onceguard::guard::open("sqlite:onceguard.db").value();
//   auto charge = guard.execute({tenant, key, body}, [&] { return charge_card(body); });
//   if (!charge) return explain(charge.error());
//   return charge->value;   // of this run, or of the first one
//
// A service whose effect lies in its own PostgreSQL or SQLite database does better with
// onceguard/postgres.hpp or onceguard/sqlite.hpp: there, effect and record commit together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/callable.hpp>
#include <onceguard/change.hpp>
#include <onceguard/codec.hpp>
#include <onceguard/configuration.hpp>
#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>
#include <onceguard/execution.hpp>
#include <onceguard/guard_work.hpp>  // IWYU pragma: export
#include <onceguard/policy.hpp>
#include <onceguard/request.hpp>
#include <onceguard/store.hpp>

namespace onceguard {
inline namespace v1 {

/// Thrown by work that provably did nothing: the key is free again, and execute rethrows.
class not_done : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by work that did nothing and may be tried again after the policy's back-off; execute
/// rethrows.
class try_later : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The lease under which work runs. Thread-safe; valid while the work runs.
class running {
 public:
  /// For the guard, which makes it.
  explicit running(lease_handle& held) noexcept : held_(held) {}

  /// 1, 2, …: counts the attempts of the operation.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return held_.lease().attempt; }
  /// Grows with every attempt: a service that compares it can refuse a superseded attempt.
  [[nodiscard]] onceguard::token token() const noexcept { return held_.lease().token; }
  /// Ask before each effect. False: the lease ran out or was superseded, and another attempt may
  /// run by now: do nothing more.
  [[nodiscard]] bool may_go_on() const noexcept { return held_.may_go_on(); }
  /// How much of the lease is left; 0: it ran out or was superseded.
  [[nodiscard]] milliseconds left() const noexcept { return held_.left(); }
  /// Requests a stop when the lease is lost.
  [[nodiscard]] std::stop_token lost() const { return held_.stop_when_lost(); }
  /// An idempotency key for a call to another service: the same in each attempt, different for each
  /// purpose. 64 hex digits.
  [[nodiscard]] std::string key_for(std::string_view purpose) const;

 private:
  lease_handle& held_;
};

/// Work of guard::start that is not finished yet. Any one thread at a time may use it. A job that
/// is dropped is in doubt: its outcome is unknown.
template <storable T>
class job;

/// The settings of a guard.
struct guard_params {
  /// Of its engine.
  engine_params engine;
  /// Of each call of the store.
  milliseconds store_timeout{2'000};
  /// To the store, where it has connections.
  std::size_t connections = 4;
  /// Bytes of answers that wait for the store.
  std::size_t max_buffered = 64u << 20;
  /// Of calls that name none.
  route_policy policy;
  /// unknown = probe: asks the application what became of an earlier attempt. On the caller's
  /// thread. Null: each such question ends as unknown.
  std::function<effect_report(const subject&, const lease&)> probe;
  /// Called on every change of a record by this guard's own calls; a middleware over the guard has
  /// a hook of its own.
  change_hook on_change;
};

/// Thread-safe: every member may be called from any thread. Movable; a guard that was moved from
/// may only be destroyed or assigned. The destructor ends the leases that are still held, whose
/// outcome is unknown if their work may have begun, and blocks until what has to be settled is
/// settled, for at most `engine.settle_wait`. No call may be under way then.
/// In a child that was forked after the guard was opened, its calls are refused and its destructor
/// does nothing: its threads and connections are the parent's (docs/library-pitfalls.md).
class guard {
 public:
  /// Opens the store that the URL names, and polls it; blocks. The program must be linked with the
  /// store's component. errc::invalid_argument: the URL or the parameters; other errors as the
  /// store's.
  [[nodiscard]] static result<guard> open(const std::string& url, guard_params params);
  /// With the default parameters.
  [[nodiscard]] static result<guard> open(const std::string& url);
  /// Over a store that is open.
  [[nodiscard]] static result<guard> open(std::unique_ptr<store> records, guard_params params);
  /// With the default parameters.
  [[nodiscard]] static result<guard> open(std::unique_ptr<store> records);

  /// Over the engine of another front door of this process, which is started and ends by itself;
  /// all three must outlive the guard. What waits for a twin then hears of it at once, whichever of
  /// the front doors the twin came through.
  [[nodiscard]] static guard over(onceguard::engine& running, store& records, byte_budget& budget,
                                  guard_params params);

  /// The guard that is moved from may only be destroyed or assigned.
  guard(guard&&) noexcept;
  /// Ends the former guard as its destructor does.
  guard& operator=(guard&&) noexcept;
  ~guard();

  // ---- execute: claim, run, settle
  //
  // `work` returns the result, a storable type, and may take a `running&`. It runs at most once at
  // a time and, unless policy.unknown is rerun, never again after it returned, threw, or died with
  // its process. What it throws is rethrown, and the record is settled as policy.exception says,
  // but after `not_done` and `try_later`. `policy` must outlive the call, and the coroutine: a
  // temporary one is refused by the compiler, where the call returns before its work has ended.

  /// Blocks the calling thread, which also runs the work.
  template <work_of_result Work>
  [[nodiscard]] execution<result_of<Work>> execute(const request& request,
                                                   const route_policy& policy, Work&& work);
  /// The same with the guard's policy.
  template <work_of_result Work>
  [[nodiscard]] execution<result_of<Work>> execute(const request& request, Work&& work) {
    return execute(request, policy(), std::forward<Work>(work));
  }

  /// Says what is wrong with other work.
  template <class Work>
    requires(!work_of_result<Work>)
  execution<std::string> execute(const request& /*request*/, const route_policy& /*policy*/,
                                 Work&& /*work*/) {
    detail::refuse_work<Work>();
    return refusal();
  }
  /// The same.
  template <class Work>
    requires(!work_of_result<Work>)
  execution<std::string> execute(const request& /*request*/, Work&& /*work*/) {
    detail::refuse_work<Work>();
    return refusal();
  }

  /// For a coroutine on any executor, which `work` runs on too; `work` returns an awaitable of the
  /// result. Where the executor is that of an io_context(1), the store is called from there, else
  /// from the guard's own thread. A cancellation of the awaiting coroutine ends a wait for a
  /// running twin, and reaches the work; before the work, the key is released, and
  /// boost::system::system_error (operation_aborted) is thrown.
  template <awaitable_work Work>
  [[nodiscard]] boost::asio::awaitable<execution<awaited_result_of<Work>>> async_execute(
      request request, const route_policy& policy, Work work);
  /// A temporary policy is gone before the work is.
  template <awaitable_work Work>
  boost::asio::awaitable<execution<awaited_result_of<Work>>> async_execute(
      request request, const route_policy&& policy, Work work) = delete;
  /// The same with the guard's policy.
  template <awaitable_work Work>
  [[nodiscard]] boost::asio::awaitable<execution<awaited_result_of<Work>>> async_execute(
      request request, Work work) {
    return async_execute(std::move(request), policy(), std::move(work));
  }
  /// Says what is wrong with other work.
  template <class Work>
    requires(!awaitable_work<Work>)
  boost::asio::awaitable<execution<std::string>> async_execute(request /*request*/,
                                                               const route_policy& /*policy*/,
                                                               Work /*work*/) {
    detail::refuse_awaitable_work<Work>();
    return {};
  }
  /// The same.
  template <class Work>
    requires(!awaitable_work<Work>)
  boost::asio::awaitable<execution<std::string>> async_execute(request /*request*/, Work /*work*/) {
    detail::refuse_awaitable_work<Work>();
    return {};
  }

  /// Returns at once. `work` is called on the guard's own thread with a job<T>, which it finishes
  /// from any thread, now or later; then `done` is called with the execution<T>, on the guard's
  /// thread. Neither may block. What `work` throws is logged, and settles the record as
  /// policy.exception says.
  template <storable T>
  void start(request request, route_policy policy, callable<void(job<T>)> work,
             callable<void(execution<T>)> done);
  /// Says why a type can't be stored.
  template <class T, class... Work>
    requires(!storable<T>)
  void start(request /*request*/, route_policy /*policy*/, Work&&... /*work*/) {
    detail::refuse_result<T, T>();
  }

  // ---- the same in pieces

  /// Claims; blocks. Without a lease, the outcome says what to answer. `caller` may end a wait.
  [[nodiscard]] claim_result claim(const request& request, const route_policy& policy,
                                   std::stop_token caller = {});
  /// Ends the lease of claim; blocks.
  [[nodiscard]] outcome settle(lease_handle held, settle_terms terms);
  /// As claim, without blocking, for a coroutine on any executor. A cancellation may leave the
  /// claim in doubt: async_execute takes care of that.
  [[nodiscard]] boost::asio::awaitable<claim_result> async_claim(request request,
                                                                 const route_policy& policy);
  /// A temporary policy is gone before the claim is.
  boost::asio::awaitable<claim_result> async_claim(request request,
                                                   const route_policy&& policy) = delete;
  /// As settle, without blocking.
  [[nodiscard]] boost::asio::awaitable<outcome> async_settle(lease_handle held, settle_terms terms);

  /// The policy of calls that name none.
  [[nodiscard]] const route_policy& policy() const noexcept;
  /// The engine.
  [[nodiscard]] onceguard::engine& engine() noexcept;
  /// The store.
  [[nodiscard]] onceguard::store& records() noexcept;
  /// Of each call of the store.
  [[nodiscard]] milliseconds store_timeout() const noexcept;
  /// The limit of answers that wait for the store.
  [[nodiscard]] byte_budget& budget() noexcept;

 private:
  struct state;
  /// Leaves the state of a parent process alone.
  struct state_end {
    void operator()(state* ended) const noexcept;
  };
  explicit guard(std::unique_ptr<state, state_end> made) noexcept;
  /// A claim whose question to the application, if there is one, is answered.
  claim_result begin(const request& request, const route_policy& policy, std::stop_token caller);
  boost::asio::awaitable<claim_result> async_begin(request request, const route_policy& policy,
                                                   std::stop_token caller);
  /// On the guard's own thread.
  void begin_job(request request, const route_policy& policy,
                 std::function<void(claim_result)> begun);
  void settle_job(lease_handle held, settle_terms terms, std::function<void(outcome)> ended);
  template <storable T>
  friend class job;

  std::unique_ptr<state, state_end> state_;
};

// ---- how the templates are made

/// How the lease of work that returned ends. Throws std::invalid_argument for an answer whose
/// status is not from 100 to 999.
[[nodiscard]] settle_terms terms_of_result(answer made, const route_policy& policy);
/// The same for the exception that is being handled.
[[nodiscard]] settle_terms terms_of_exception(const route_policy& policy) noexcept;

template <work_of_result Work>
execution<result_of<Work>> guard::execute(const request& request, const route_policy& policy,
                                          Work&& work) {
  using value_type = result_of<Work>;
  auto begun = begin(request, policy, {});
  if (!begun.lease) return replayed_value<value_type>(begun.outcome);
  auto held = std::move(*begun.lease);
  running run(held);
  std::optional<value_type> made;
  std::exception_ptr thrown;
  settle_terms terms;
  try {
    made.emplace(call_work(work, run));
    terms = terms_of_result(codec<value_type>::encode(*made), policy);
  } catch (...) {
    thrown = std::current_exception();
    terms = terms_of_exception(policy);
  }
  const auto ended = settle(std::move(held), std::move(terms));
  if (thrown) std::rethrow_exception(thrown);
  return settled_value<value_type>(ended, std::move(made));
}

// gcc 12 at -O1 takes the end of each coroutine for a delete of what Asio did not allocate.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace detail {

/// Awaits without passing on a cancellation of the awaiting coroutine: a call to a store that is
/// cut short would leave a claim in doubt.
template <class T>
boost::asio::awaitable<T> shielded(boost::asio::awaitable<T> call) {
  namespace asio = boost::asio;
  co_return co_await asio::co_spawn(
      co_await asio::this_coro::executor, std::move(call),
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace detail

template <awaitable_work Work>
boost::asio::awaitable<execution<awaited_result_of<Work>>> guard::async_execute(
    request request, const route_policy& policy, Work work) {
  namespace asio = boost::asio;
  using value_type = awaited_result_of<Work>;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  std::stop_source caller(std::nostopstate);
  if (policy.on_busy == on_busy_rule::wait && cancellation.slot().is_connected()) {
    caller = std::stop_source();
    cancellation.slot().assign(
        [caller](asio::cancellation_type) mutable { caller.request_stop(); });
  }
  auto begun =
      co_await detail::shielded(async_begin(std::move(request), policy, caller.get_token()));
  if (cancellation.slot().is_connected()) cancellation.slot().clear();
  if (!begun.lease) {
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return replayed_value<value_type>(begun.outcome);
  }
  auto held = std::move(*begun.lease);
  running run(held);
  std::optional<value_type> made;
  std::exception_ptr thrown;
  settle_terms terms;
  if (throws && cancellation.cancelled() != asio::cancellation_type::none) {
    terms.kind = settle_kind::release;
    thrown = std::make_exception_ptr(
        boost::system::system_error(asio::error::operation_aborted, "onceguard: before the work"));
  } else {
    try {
      co_await asio::this_coro::throw_if_cancelled(throws);
      made.emplace(co_await call_work(work, run));
      terms = terms_of_result(codec<value_type>::encode(*made), policy);
    } catch (...) {
      thrown = std::current_exception();
      terms = terms_of_exception(policy);
    }
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto ended = co_await detail::shielded(async_settle(std::move(held), std::move(terms)));
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (thrown) std::rethrow_exception(thrown);
  co_return settled_value<value_type>(ended, std::move(made));
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace v1
}  // namespace onceguard

#include <onceguard/guard_job.hpp>  // IWYU pragma: export
