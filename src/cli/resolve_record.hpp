// The common part of `keys release` and `keys complete`.
#pragma once
#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/find_records.hpp"

namespace onceguard::cli {

/// Resolves the record `before`, prints the result or the reason for a refusal, and returns the
/// exit code. Returns only after every replay cache must have dropped a forgotten answer. If the
/// store does not report whether it carried the change out, the record is read until it shows the
/// change, for `in_doubt_max` at most.
[[nodiscard]] boost::asio::awaitable<int> resolve_record(
    store& records, found_record before, resolution request, milliseconds timeout,
    milliseconds in_doubt_max = milliseconds(60'000));

}  // namespace onceguard::cli
