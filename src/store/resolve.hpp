// An operator's change of a record, whoever makes it: a command or the admin API.
#pragma once
#include <functional>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

/// Of a record that was looked at: an act on this lease alone, and only as long as nobody renews
/// it.
[[nodiscard]] resolution resolution_of_seen(const record_view& seen);

/// How long a change waits at each step.
struct resolve_times {
  milliseconds timeout{2'000};        ///< of each call of the store
  milliseconds in_doubt_max{60'000};  ///< for a change whose reply did not come
};

/// Resolves a record. `before` is what was read of it; none: it can't be read. If the store does
/// not say whether it carried the change out, calls `report_wait`, and reads the record until it
/// shows the change. An error then says that this is still unknown.
[[nodiscard]] boost::asio::awaitable<result<resolve_decision>> resolve_surely(
    record_access& records, std::optional<record_view> before, resolution request,
    resolve_times times, std::function<void()> report_wait = {});

/// For a change that made an answer forgotten: waits until no process can serve it from memory any
/// more.
[[nodiscard]] boost::asio::awaitable<void> outlast_caches();

/// What resolve() would decide now about a record that was read; nothing is changed.
[[nodiscard]] resolve_decision preview_resolution(const record_view& seen,
                                                  const resolution& request);

}  // namespace onceguard
