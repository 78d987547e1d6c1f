// What operators are shown of a record, the same by every store.
#pragma once
#include <onceguard/store.hpp>

namespace onceguard {

/// `wall_ahead`: how far the wall clock is ahead of the time by which the store counts retention;
/// what is shown are times of the wall clock.
[[nodiscard]] record_view make_view(const record_id& id, record stored, const instant& now,
                                    std::int64_t wall_ahead = 0);

[[nodiscard]] bool matches(const list_filter& filter, const record_view& view) noexcept;

/// A claim without its subject, or a settle that would write a record without one, is refused.
[[nodiscard]] error subject_missing();

/// A record as it moves to another store; `wall_now` is the wall clock's time. Where its lease
/// still runs, it may be on its way: it will be unknown.
[[nodiscard]] imported_record make_imported_record(record_view seen, std::int64_t wall_now);

/// The least counter of tokens where one that the other store gave comes in: above it, and as a
/// new store begins, at the clock, as that store may have given later ones to what it forgot.
[[nodiscard]] token token_above(token counter, token brought, const instant& now) noexcept;

/// A stored record that has no subject cannot be judged.
[[nodiscard]] error subject_unreadable();

}  // namespace onceguard
