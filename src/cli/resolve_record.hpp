// What `keys release` and `keys complete` have in common.
#pragma once
#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

namespace onceguard::cli {

/// Resolves; returns only after every replay cache must have dropped a forgotten answer. What was
/// done or refused is said; the exit code fits.
[[nodiscard]] boost::asio::awaitable<int> resolve_record(store& records, resolution request,
                                                         milliseconds timeout);

}  // namespace onceguard::cli
