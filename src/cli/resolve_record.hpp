// The common part of `keys release` and `keys complete`.
#pragma once
#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

namespace onceguard::cli {

/// Resolves a record, prints the result or the reason for a refusal, and returns the exit code.
/// Returns only after every replay cache must have dropped a forgotten answer.
[[nodiscard]] boost::asio::awaitable<int> resolve_record(store& records, resolution request,
                                                         milliseconds timeout);

}  // namespace onceguard::cli
