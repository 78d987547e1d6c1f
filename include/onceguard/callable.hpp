// What calls of the library take as work, handlers and hooks: any callable, also one that can only
// be moved. What does not fit is refused with a sentence that says what to do.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace onceguard {
inline namespace v1 {

/// @cond
namespace detail {

template <class Made>
inline constexpr bool is_text_view = std::is_same_v<std::remove_cvref_t<Made>, std::string_view>;

/// Whether `Work`, which returns `Made`, may stand where `Wanted` is wanted.
template <class Work, class Wanted, class Made>
constexpr bool check_result() {
  constexpr bool text = std::is_same_v<Wanted, std::string> && is_text_view<Made>;
  constexpr bool fits =
      std::is_void_v<Wanted> || text || std::is_convertible_v<Made, std::type_identity_t<Wanted>>;
  static_assert(fits || !std::is_void_v<Made>,
                "onceguard: this work returns nothing: let it return what the call takes, such as "
                "onceguard::answer{200, {}, {}}, or std::string() from a step");
  static_assert(
      fits || !is_text_view<Made>,
      "onceguard: this work returns a std::string_view: return onceguard::answer{200, {}, "
      "std::string(text)}");
  static_assert(fits || std::is_void_v<Made> || is_text_view<Made>,
                "onceguard: this work returns another type than the call takes: return an "
                "onceguard::answer, or a std::string from a step");
  return fits;
}

}  // namespace detail
/// @endcond

template <class Signature>
class callable;

/// A callable of this signature, or none. Its copies share a callable that can't be copied. As
/// thread-safe as what it holds.
template <class Result, class... Parameters>
class callable<Result(Parameters...)> {
 public:
  /// None.
  callable() noexcept = default;
  /// None.
  callable(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Any callable. One that can't be copied is passed with std::move.
  template <class Work>
    requires(!std::is_same_v<std::remove_cvref_t<Work>, callable>)
  callable(Work&& work) {  // NOLINT(google-explicit-constructor)
    using held = std::decay_t<Work>;
    constexpr bool takes = std::is_invocable_v<held&, Parameters...>;
    static_assert(
        takes,
        "onceguard: this work can't be called with the parameters that the call gives it: "
        "see its documentation");
    constexpr bool kept = std::is_constructible_v<held, Work>;
    static_assert(kept, "onceguard: this work can't be copied: pass it with std::move");
    if constexpr (takes && kept) {
      using made = std::invoke_result_t<held&, Parameters...>;
      if constexpr (detail::check_result<held, Result, made>()) {
        if constexpr (detail::is_text_view<made> && !std::is_void_v<Result>) {
          call_ = share(std::forward<Work>(work));
        } else if constexpr (std::is_copy_constructible_v<held>) {
          call_ = std::forward<Work>(work);
        } else {
          call_ = share(std::forward<Work>(work));
        }
      }
    }
  }

  /// Calls it; std::bad_function_call: there is none.
  Result operator()(Parameters... given) const { return call_(std::forward<Parameters>(given)...); }
  /// Whether there is one.
  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Whether there is none.
  friend bool operator==(const callable& one, std::nullptr_t) noexcept { return !one.call_; }

 private:
  template <class Work>
  static auto share(Work&& work) {
    return [held = std::make_shared<std::decay_t<Work>>(std::forward<Work>(work))](
               Parameters... given) -> Result {
      return static_cast<Result>(std::invoke(*held, std::forward<Parameters>(given)...));
    };
  }

  std::function<Result(Parameters...)> call_;
};

}  // namespace v1
}  // namespace onceguard
