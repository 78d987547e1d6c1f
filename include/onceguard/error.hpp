// Errors as values. An error carries properties instead of a taxonomy: the caller can see what is
// known of the effect and whether the same call may be made again.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace onceguard {
inline namespace v1 {

/// What kind of failure it was.
enum class errc : std::uint8_t {
  store_unreachable,  ///< the store did not answer within its timeout, or refused the connection
  store_full,         ///< no room to write; nothing was changed
  store_lost,         ///< the store lost its memory and refuses new claims for now
  record_unreadable,  ///< corrupt, or written by a newer version; never treated as absent
  not_found,          ///< no live record of that scope and key
  conflict,           ///< the record's state does not allow this operation now
  invalid_argument,   ///< the caller's input is wrong; the detail names what and where
  overloaded,         ///< a limit of this process is reached
  stopped,            ///< the store or the process is shutting down
  write_conflict,     ///< another transaction conflicted: run this transaction again from its begin
  broker_unreachable,  ///< the broker did not answer within its timeout, or refused the connection
};

/// What is known of a failed operation's effect on the store.
enum class effect : std::uint8_t {
  none,     ///< provably nothing changed
  unknown,  ///< the operation may have been carried out; repeat it with the same claim id
  done,     ///< the operation was carried out, only the answer is missing
};

/// A failure. Cheap to move. This library never throws it across an I/O boundary.
struct error {
  errc code{};                                         ///< the kind
  onceguard::effect effect = onceguard::effect::none;  ///< what is known of the effect
  std::string detail;                                  ///< for people: what was wrong, and where
  /// Stays until a person mends it: credentials, a right, a certificate, a table that is missing.
  /// The same call may succeed then, so retryable() says so, too.
  bool lasting = false;

  error() = default;  // for boost::system::result::error() of a success
  /// A failure of kind `c` with the text `d` for people.
  error(errc c, std::string d, onceguard::effect e = onceguard::effect::none)
      : code(c), effect(e), detail(std::move(d)) {}

  /// Whether the same call may succeed if it is made again later.
  [[nodiscard]] bool retryable() const noexcept {
    return code == errc::store_unreachable || code == errc::store_full ||
           code == errc::store_lost || code == errc::overloaded || code == errc::stopped ||
           code == errc::write_conflict || code == errc::broker_unreachable;
  }
};

/// The name of the enumerator: "store_unreachable" …
[[nodiscard]] std::string_view name_of(errc code) noexcept;

/// A value, or the error because of which there is none.
template <class T>
using result = boost::system::result<T, error>;

/// Boost.System calls this function when `.value()` is called on a failure, which is a programmer's
/// error.
[[noreturn]] inline void throw_exception_from_error(const error& e,
                                                    const boost::source_location& /*where*/) {
  throw std::logic_error("value() of a failed result: " + e.detail);
}

}  // namespace v1
}  // namespace onceguard
