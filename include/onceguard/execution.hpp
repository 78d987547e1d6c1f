// What a call of the library comes to: the result of the work, or why there is none.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <boost/system/result.hpp>

#include <onceguard/codec.hpp>
#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>

namespace onceguard {
inline namespace v1 {

/// Why a call has no result of the work to give.
enum class refusal_kind : std::uint8_t {
  busy,             ///< the same operation is running; send it again after `retry_after`
  backoff,          ///< the last attempt failed; send it again after `retry_after`
  mismatch,         ///< the key was used with another fingerprint: a caller's mistake
  unknown,          ///< an earlier attempt may have taken effect: a person or a probe decides
  answer_not_kept,  ///< the operation took effect, and there is no answer to give; never run again
  answer_unreadable,  ///< the operation took effect, and its stored answer is none of this type
  unrecorded,         ///< this call's work ran, and the store does not know yet: send it again
  superseded,         ///< this call's work ran for longer than its lease, and another attempt began
  store_failed,       ///< nothing ran: the store can't be reached, or refuses; see `cause`
  overloaded,         ///< nothing ran: a limit of this process is reached
  invalid_request,    ///< nothing ran: the request is not well formed
};
/// The name of the enumerator, with hyphens: "busy", "store-failed" …
[[nodiscard]] std::string_view name_of(refusal_kind kind) noexcept;

/// Why there is no result, and what to do.
struct refusal {
  refusal_kind kind = refusal_kind::busy;  ///< the reason
  milliseconds retry_after{0};             ///< an earlier repeat is in vain
  std::string detail;                      ///< for people: what happened, and what to do next
  std::optional<error> cause;              ///< store_failed, answer_unreadable

  /// Whether the same request with the same key may be sent again, and may get another outcome.
  [[nodiscard]] bool retryable() const noexcept;
};

/// Called when `.value()` is called on a refusal, which is a programmer's error.
[[noreturn]] inline void throw_exception_from_error(const refusal& refused,
                                                    const boost::source_location& /*where*/) {
  throw std::logic_error("value() of a refused operation: " + refused.detail);
}

/// The result of the work.
template <class T>
struct executed {
  T value;                ///< what the work returned
  bool replayed = false;  ///< the value is that of an earlier run
};

/// What execute returns: the result, or why there is none.
template <class T>
using execution = boost::system::result<executed<T>, refusal>;

/// What execute returns where its work did not run, or where another answer than its own counts.
[[nodiscard]] refusal refusal_of(const outcome& outcome);
/// The refusal for a stored answer that is none of the type.
[[nodiscard]] refusal answer_unreadable(error why);
/// The result of an earlier run, or the refusal.
template <storable T>
[[nodiscard]] execution<T> replayed_value(const outcome& got) {
  const bool has_answer =
      got.kind == outcome_kind::replay && got.answer != nullptr && got.kept == answer_kept::full;
  if (!has_answer) return refusal_of(got);
  auto value = codec<T>::decode(*got.answer);
  if (!value) return answer_unreadable(std::move(value).error());
  return executed<T>{std::move(*value), true};
}

/// The result of this run, if it counts; otherwise as replayed_value.
template <storable T>
[[nodiscard]] execution<T> settled_value(const outcome& got, std::optional<T> made) {
  if (got.kind == outcome_kind::ran && made) return executed<T>{std::move(*made), false};
  return replayed_value<T>(got);
}

}  // namespace v1
}  // namespace onceguard
