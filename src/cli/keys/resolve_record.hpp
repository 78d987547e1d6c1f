// The common part of `keys release` and `keys complete`.
#pragma once
#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/change_log.hpp"
#include "cli/keys/find_records.hpp"

namespace onceguard::cli::keys {

struct resolve_end {
  int exit_code = 0;
  bool forgets_answer = false;  ///< caches may still serve an answer: wait_for_caches()
};

inline constexpr milliseconds in_doubt_default{60'000};

/// Writes the change into the audit log, resolves the record `before`, and reports on standard
/// error why the change was not made. If the store does not report whether it carried the change
/// out, the record is read until it shows the change, for `in_doubt_max` at most.
[[nodiscard]] boost::asio::awaitable<resolve_end> resolve_one(
    record_access& records, const found_record& before, resolution request, change_log& changes,
    milliseconds timeout, milliseconds in_doubt_max = in_doubt_default);

/// Returns only after every replay cache must have dropped a forgotten answer.
[[nodiscard]] boost::asio::awaitable<void> wait_for_caches();

/// Resolves one record, prints the result, and returns the exit code.
[[nodiscard]] boost::asio::awaitable<int> resolve_record(
    record_access& records, found_record before, resolution request, change_log& changes,
    milliseconds timeout, milliseconds in_doubt_max = in_doubt_default);

}  // namespace onceguard::cli::keys
