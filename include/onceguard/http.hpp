// The HTTP contract inside a service: its handlers run once for each idempotency key.
//
//   auto guard = onceguard::guard::open("sqlite:onceguard.db").value();
//   auto middleware = onceguard::http::middleware::make(guard, {}).value();
//   auto response = middleware.serve(request, [&] { return charge(request.body); });
//
// For Boost.Beast, onceguard/beast.hpp does this over Beast's own messages. Whatever has another
// server takes the pieces: begin, and finish or fail.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include <onceguard/change.hpp>
#include <onceguard/guard.hpp>
#include <onceguard/http_message.hpp>

namespace onceguard::http {
inline namespace v1 {

/// Whom a key belongs to, as a service finds it out.
struct named_scope {
  std::string kind;   ///< a word of the service's own: "tenant"
  std::string value;  ///< only its SHA-256 is kept
};

/// What a middleware is made from.
struct middleware_params {
  /// Requests that no route fits pass unguarded.
  std::vector<route> routes{route{}};
  /// The name that fingerprints know this service by. A gateway in front has the upstream's name.
  std::string service = "service";
  /// The same for single routes, by host and path, as "/payments".
  std::map<std::string, std::string, std::less<>> services;
  std::string problem_base = "urn:onceguard:problem:";  ///< goes before the type of a problem
  std::vector<std::string> trusted_proxies;  ///< addresses or CIDR blocks; they may name the client
  /// Finds whom a key belongs to, instead of the routes' `scope`; none: the request is refused.
  std::function<std::optional<named_scope>(const request&)> scope;
  /// unknown = probe: finds out what became of an earlier attempt. Null: each such question ends as
  /// unknown.
  std::function<effect_report(const subject&, const lease&)> probe;
  /// Called on every change of a record, and on every request that met one, or was refused or
  /// observed.
  change_hook on_change;
};

using header_list = std::vector<std::pair<std::string, std::string>>;

/// The answer as views; `fields` is the room for the fields.
[[nodiscard]] answer_view view_of(const response& made, std::vector<field>& fields);
/// Removes Idempotent-Replayed, which a handler can't set, and Onceguard-Outcome, which is not for
/// clients.
void drop_replay_mark(header_list& headers);

/// Whether only Onceguard may set this header field: an adapter removes it from every request.
[[nodiscard]] bool is_onceguard_field(std::string_view name) noexcept;

struct middleware_state;

/// A request whose handler is to run. Any one thread at a time may use it; the middleware must
/// outlive it. Ends with one finish or fail; one that is dropped is in doubt: its outcome is
/// unknown.
class exchange {
 public:
  struct state;
  /// Made by middleware::begin.
  exchange(const middleware_state& owner, std::unique_ptr<state> guarded) noexcept;
  /// What was moved from may only be destroyed.
  exchange(exchange&&) noexcept;
  exchange& operator=(exchange&&) = delete;
  ~exchange();

  /// Whether a lease guards the handler. False: the route does not guard the request, only observes
  /// it, or lets requests pass while the store is away.
  [[nodiscard]] bool guarded() const noexcept;
  /// The lease; only of a guarded exchange.
  [[nodiscard]] running lease();
  /// The longest body of an answer that a repeat gets; 0: not guarded.
  [[nodiscard]] std::size_t answer_limit() const noexcept;
  /// The fields that the handler gets in addition: Onceguard-Scope, Onceguard-Attempt,
  /// Onceguard-Token and Onceguard-Lease; Onceguard-Unguarded: the store is away.
  [[nodiscard]] header_list headers() const;

  /// Ends the exchange with the handler's answer. Returns what the client gets: this answer, or
  /// what it gets instead.
  [[nodiscard]] response finish(response made);
  /// The same, awaitable.
  [[nodiscard]] boost::asio::awaitable<response> async_finish(response made);
  /// As finish, for an answer in the server's own types, or one that is not at hand as a whole.
  /// Empty: send the answer, without Idempotent-Replayed; otherwise send this instead. The views
  /// must outlive the call.
  [[nodiscard]] std::optional<response> finish(const answer_view& made);
  /// The same, awaitable.
  [[nodiscard]] boost::asio::awaitable<std::optional<response>> async_finish(answer_view made);

  /// Ends the exchange of a handler that threw: the record is settled as for guard::execute.
  /// Returns what the client gets, if the service has no answer of its own for the exception.
  [[nodiscard]] response fail(std::exception_ptr thrown);
  /// The same, awaitable.
  [[nodiscard]] boost::asio::awaitable<response> async_fail(std::exception_ptr thrown);

  /// For the library's other parts; null: the route does not guard the request.
  [[nodiscard]] state* parts() noexcept { return state_.get(); }

 private:
  const middleware_state* owner_;
  std::unique_ptr<state> state_;  // null: the route does not guard the request
};

/// What a request comes to: an answer at once, or an exchange whose handler is to run.
using beginning = std::variant<response, exchange>;

template <class Handler>
decltype(auto) call_handler(Handler& handler, exchange& running) {
  if constexpr (std::invocable<Handler&, exchange&>) {
    return handler(running);
  } else {
    return handler();
  }
}

/// Whether the handler may be called so.
template <class Handler>
concept handler_of_any_answer = std::invocable<Handler&, exchange&> || std::invocable<Handler&>;

/// `response handler(exchange&)` or `response handler()`.
template <class Handler>
concept blocking_handler =
    handler_of_any_answer<Handler> && requires(Handler& handler, exchange& running) {
      { call_handler(handler, running) } -> std::convertible_to<response>;
    };

/// `awaitable<response> handler(exchange&)` or `awaitable<response> handler()`.
template <class Handler>
concept awaitable_handler =
    handler_of_any_answer<Handler> && requires(Handler& handler, exchange& running) {
      { call_handler(handler, running) } -> std::same_as<boost::asio::awaitable<response>>;
    };

/// @cond
namespace detail {

template <class Handler>
using made_by = decltype(call_handler(std::declval<Handler&>(), std::declval<exchange&>()));

/// Says why the answer of a handler can't be sent.
template <class Handler, class Made>
constexpr void refuse_made() {
  static_assert(!std::is_void_v<Made>,
                "onceguard: this handler returns nothing: return an onceguard::http::response");
  static_assert(
      std::is_void_v<Made> || std::convertible_to<Made, response>,
      "onceguard: this handler returns another type: return an onceguard::http::response, "
      "such as {200, {}, std::string(text)}");
}

/// Passes on the answer of a function of plain messages, such as sqlite::serve.
template <class Serve, class Send>
void answer_by(Serve& serve, const request& arrived, Send send) {
  constexpr bool takes = std::invocable<Serve&, const request&>;
  static_assert(takes,
                "onceguard: this function takes other parameters: it takes a const "
                "onceguard::http::request&");
  if constexpr (takes) {
    using made = std::invoke_result_t<Serve&, const request&>;
    refuse_made<Serve, made>();
    if constexpr (std::convertible_to<made, response>) send(serve(arrived));
  }
}

/// Says why this is no handler.
template <class Handler>
constexpr void refuse_handler() {
  static_assert(handler_of_any_answer<Handler>,
                "onceguard: this handler takes other parameters: it takes none, or an "
                "onceguard::http::exchange&");
  if constexpr (handler_of_any_answer<Handler>) {
    using made = made_by<Handler>;
    static_assert(!onceguard::detail::is_awaitable<made>,
                  "onceguard: this handler is a coroutine: call async_serve");
    if constexpr (!onceguard::detail::is_awaitable<made>) refuse_made<Handler, made>();
  }
}

/// Says why this is no handler in a coroutine.
template <class Handler>
constexpr void refuse_awaitable_handler() {
  static_assert(handler_of_any_answer<Handler>,
                "onceguard: this handler takes other parameters: it takes none, or an "
                "onceguard::http::exchange&");
  if constexpr (handler_of_any_answer<Handler>) {
    static_assert(awaitable_handler<Handler>,
                  "onceguard: this handler is no coroutine of a response: return "
                  "boost::asio::awaitable<onceguard::http::response>, or call serve");
  }
}

}  // namespace detail
/// @endcond

/// Thread-safe. The guard must outlive it.
class middleware {
 public:
  /// errc::invalid_argument names the route and what is wrong with it.
  [[nodiscard]] static result<middleware> make(guard& guard, middleware_params params);
  /// One that serves in transactions only (http_transaction.hpp), where the database is the store.
  /// serve and begin throw std::logic_error.
  [[nodiscard]] static result<middleware> make(middleware_params params);

  /// What was moved from may only be destroyed or assigned.
  middleware(middleware&&) noexcept;
  /// Takes the parameters of the other one.
  middleware& operator=(middleware&&) noexcept;
  ~middleware();

  /// Serves a request; blocks. What the handler throws is rethrown after the record was settled.
  template <blocking_handler Handler>
  [[nodiscard]] response serve(const request& request, Handler&& handler) const;
  /// Says what is wrong with other handlers.
  template <class Handler>
    requires(!blocking_handler<Handler>)
  response serve(const request& /*request*/, Handler&& /*handler*/) const {
    detail::refuse_handler<Handler>();
    return {};
  }

  /// The same on the executor that awaits it. The targets of the request's views must outlive the
  /// call. A cancellation ends a wait for a running twin, and reaches the handler; before the
  /// handler, the key is released, and boost::system::system_error (operation_aborted) is thrown.
  template <awaitable_handler Handler>
  [[nodiscard]] boost::asio::awaitable<response> async_serve(request request,
                                                             Handler handler) const;
  /// Says what is wrong with other handlers.
  template <class Handler>
    requires(!awaitable_handler<Handler>)
  boost::asio::awaitable<response> async_serve(request /*request*/, Handler /*handler*/) const {
    detail::refuse_awaitable_handler<Handler>();
    return {};
  }

  /// For adapters: the same with answers in the server's own type, which are not copied.
  /// `awaitable<Made> handler(exchange&)`; `answer_view view(const Made&, std::vector<field>&)`
  /// shows an answer, with the vector as room for its fields. Gives the handler's answer to send,
  /// without Idempotent-Replayed, or what the client gets instead.
  template <class Made, class Handler, class View>
  [[nodiscard]] boost::asio::awaitable<std::variant<response, Made>> async_serve_as(
      request request, Handler handler, View view) const;

  // ---- the same in pieces

  /// Blocks. The views of the request must outlive the call only.
  [[nodiscard]] beginning begin(const request& request) const;
  /// `caller` ends a wait for a running twin: its client is gone.
  [[nodiscard]] boost::asio::awaitable<beginning> async_begin(request request,
                                                              std::stop_token caller = {}) const;

  /// What guarding would have done since the start on routes that only observe, as the JSON of
  /// docs/observing.md; empty: no route observes. The destructor logs the counts.
  [[nodiscard]] std::string observed() const;

  /// For the library's other parts.
  [[nodiscard]] const middleware_state& state() const noexcept { return *state_; }

 private:
  explicit middleware(std::unique_ptr<const middleware_state> made) noexcept;
  static result<middleware> make_over(guard* guard, middleware_params params);

  std::unique_ptr<const middleware_state> state_;
};

// ---- how the templates are made

namespace detail {

/// Awaits `call` without passing a cancellation on to it. `caller` gets the cancellation instead.
template <class T>
boost::asio::awaitable<T> uninterrupted(boost::asio::awaitable<T> call,
                                        std::stop_source* caller = nullptr) {
  const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
  auto slot = cancellation.slot();
  if (!slot.is_connected()) co_return co_await std::move(call);
  if (caller != nullptr) {
    slot.assign(
        [source = *caller](boost::asio::cancellation_type) mutable { source.request_stop(); });
  }
  auto out = co_await onceguard::detail::shielded(std::move(call));
  slot.clear();
  co_return out;
}

}  // namespace detail

template <blocking_handler Handler>
response middleware::serve(const request& request, Handler&& handler) const {
  auto begun = begin(request);
  if (auto* known = std::get_if<response>(&begun)) return std::move(*known);
  auto& running = std::get<exchange>(begun);
  std::optional<response> made;
  try {
    made.emplace(call_handler(handler, running));
  } catch (...) {
    static_cast<void>(running.fail(std::current_exception()));
    throw;
  }
  return running.finish(std::move(*made));
}

template <awaitable_handler Handler>
boost::asio::awaitable<response> middleware::async_serve(request request, Handler handler) const {
  auto got = co_await async_serve_as<response>(
      request, [&handler](exchange& running) { return call_handler(handler, running); },
      [](const response& made, std::vector<field>& fields) { return view_of(made, fields); });
  auto* made = std::get_if<1>(&got);
  if (made == nullptr) co_return std::get<0>(std::move(got));
  drop_replay_mark(made->headers);
  co_return std::move(*made);
}

template <class Made, class Handler, class View>
boost::asio::awaitable<std::variant<response, Made>> middleware::async_serve_as(request request,
                                                                                Handler handler,
                                                                                View view) const {
  namespace asio = boost::asio;
  using served = std::variant<response, Made>;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  std::stop_source caller(std::nostopstate);
  if (cancellation.slot().is_connected()) caller = std::stop_source();
  auto begun = co_await detail::uninterrupted(async_begin(request, caller.get_token()), &caller);
  if (auto* known = std::get_if<response>(&begun)) {
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return served(std::in_place_index<0>, std::move(*known));
  }
  auto& running = std::get<exchange>(begun);
  std::optional<Made> made;
  std::exception_ptr thrown;
  if (throws && cancellation.cancelled() != asio::cancellation_type::none) {
    thrown = std::make_exception_ptr(not_done("cancelled before the handler"));
    static_cast<void>(co_await detail::uninterrupted(running.async_fail(thrown)));
    throw boost::system::system_error(asio::error::operation_aborted,
                                      "onceguard: before the handler");
  }
  try {
    co_await asio::this_coro::throw_if_cancelled(throws);
    made.emplace(co_await handler(running));
  } catch (...) {
    thrown = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  std::optional<response> instead;
  if (made) {
    std::vector<field> fields;
    const auto shown = view(std::as_const(*made), fields);
    instead = co_await detail::uninterrupted(running.async_finish(shown));
  } else {
    static_cast<void>(co_await detail::uninterrupted(running.async_fail(thrown)));
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (thrown) std::rethrow_exception(thrown);
  if (instead) co_return served(std::in_place_index<0>, std::move(*instead));
  co_return served(std::in_place_index<1>, std::move(*made));
}

}  // namespace v1
}  // namespace onceguard::http
