// What a guard takes as work, and what it says of the rest. Included by guard.hpp.
#pragma once
#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include <onceguard/codec.hpp>

namespace onceguard {
inline namespace v1 {

class running;

/// Calls work with the lease, if it takes one.
template <class Work>
decltype(auto) call_work(Work& work, running& run) {
  if constexpr (std::invocable<Work&, running&>) {
    return work(run);
  } else {
    return work();
  }
}

/// What the work returns.
template <class Work>
using result_of =
    std::decay_t<decltype(call_work(std::declval<Work&>(), std::declval<running&>()))>;

/// Work that blocks: `T work(running&)` or `T work()`.
template <class Work>
concept work_of_result =
    (std::invocable<Work&, running&> || std::invocable<Work&>)&&storable<result_of<Work>>;

/// What the awaitable of the work returns.
template <class Work>
using awaited_result_of = typename result_of<Work>::value_type;

/// Work in a coroutine: `awaitable<T> work(running&)` or `awaitable<T> work()`.
template <class Work>
concept awaitable_work =
    (std::invocable<Work&, running&> || std::invocable<Work&>)&&storable<awaited_result_of<Work>> &&
    std::same_as<result_of<Work>, boost::asio::awaitable<awaited_result_of<Work>>>;

/// @cond
namespace detail {

template <class Work>
concept work_of_any_result = std::invocable<Work&, running&> || std::invocable<Work&>;

/// Says why the result of work can't be kept.
template <class Work, class Result>
constexpr void refuse_result() {
  constexpr bool text = std::convertible_to<Result, std::string_view>;
  static_assert(!std::is_void_v<Result>,
                "onceguard: this work returns nothing: return a result that a repeat gets, such as "
                "std::string()");
  static_assert(!text,
                "onceguard: this work returns text whose bytes nobody keeps: return "
                "std::string(text)");
  static_assert(std::is_void_v<Result> || text || storable<Result>,
                "onceguard: what this work returns can't be stored: return std::string or "
                "onceguard::answer, include <onceguard/json.hpp>, or specialise onceguard::codec");
}

/// Says why this is no work.
template <class Work>
constexpr void refuse_work() {
  static_assert(work_of_any_result<Work>,
                "onceguard: this work takes other parameters: it takes none, or an "
                "onceguard::running&");
  if constexpr (work_of_any_result<Work>) refuse_result<Work, result_of<Work>>();
}

template <class Result>
inline constexpr bool is_awaitable = false;
template <class Result>
inline constexpr bool is_awaitable<boost::asio::awaitable<Result>> = true;

/// Says why this is no work in a coroutine.
template <class Work>
constexpr void refuse_awaitable_work() {
  static_assert(work_of_any_result<Work>,
                "onceguard: this work takes other parameters: it takes none, or an "
                "onceguard::running&");
  if constexpr (work_of_any_result<Work>) {
    static_assert(is_awaitable<result_of<Work>>,
                  "onceguard: this work returns no awaitable: return "
                  "boost::asio::awaitable<std::string>, or call execute");
    if constexpr (is_awaitable<result_of<Work>>) refuse_result<Work, awaited_result_of<Work>>();
  }
}

}  // namespace detail
/// @endcond

}  // namespace v1
}  // namespace onceguard
