// What becomes of operations, for a service's own metrics, alerts and traces.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace onceguard {
inline namespace v1 {

/// What a hook is called for.
enum class change_kind : std::uint8_t {
  claimed,     ///< the work begins, as this attempt
  completed,   ///< it took effect, and its answer is what every repeat gets
  failed,      ///< it may run again after a back-off
  released,    ///< nothing happened, and the key is free
  abandoned,   ///< the work has ended, and it is unknown whether it took effect: see `reason`
  lost,        ///< the lease ran out or was superseded while the work runs
  superseded,  ///< the work has ended, and another attempt had taken its record before
  in_doubt,    ///< the work has ended as `reason` says, which the store has not recorded yet: this
               ///< goes on in the background
  replayed,    ///< a repeat got the stored answer
  busy,        ///< a repeat met its running twin
  backoff,     ///< a repeat came before a failed operation may run again
  mismatch,    ///< the key was used with another fingerprint
  unknown,     ///< a repeat met an operation of which nobody knows whether it took effect
  refused,     ///< a request was refused otherwise: see `reason`
  unguarded,   ///< the work begins without a record: the store is away
  observed,    ///< a request passed a route that only observes; `reason` is what it would have got
};
/// The name of the enumerator.
[[nodiscard]] std::string_view name_of(change_kind kind) noexcept;

/// One change of a record that this process made, or one request that changed nothing. The views
/// end with the call of the hook.
struct change {
  change_kind kind = change_kind::claimed;  ///< what has happened
  std::string_view route{};                 ///< of a middleware: its host and path
  std::string_view record{};  ///< 12 hex digits, as in the log; empty: there was no key
  std::uint32_t attempt = 0;  ///< 1, 2 …; 0: this call had no lease
  /// abandoned: `abandoned`, `upstream_status` …; completed: `probe`, if a probe found that out;
  /// refusals: the type of the problem, or the name of the refusal_kind.
  std::string_view reason{};
};

/// Called on the thread of the request, which waits for its return; `lost` on the thread that
/// renews all leases, so whatever takes longer than a millisecond belongs on another one. Several
/// threads may be in the hook at a time. It must not call the guard or the middleware. An exception
/// is logged as `hook-threw`, and changes nothing.
using change_hook = std::function<void(const change&)>;

}  // namespace v1
}  // namespace onceguard
