// The view of a record that operators see, and further helpers that all stores share.
#pragma once
#include <string_view>
#include <vector>

#include <onceguard/store.hpp>

namespace onceguard {

/// `wall_ahead`: how far the wall clock is ahead of the clock by which the store counts retention.
/// The view shows times of the wall clock.
[[nodiscard]] record_view make_view(const record_id& id, record stored, const instant& now,
                                    std::int64_t wall_ahead = 0);

[[nodiscard]] bool matches(const list_filter& filter, const record_view& view) noexcept;

/// Texts that are part of the encoded subject of each record that matches: a search for them is
/// cheaper than decoding. Views into the filter.
[[nodiscard]] std::vector<std::string_view> texts_of(const list_filter& filter);

/// The only states in which a record may match; empty: any.
[[nodiscard]] std::vector<observed_state> states_of(const list_filter& filter);

/// Why the outcome is unknown. Without a stored reason, the lease ran out.
[[nodiscard]] unknown_reason reason_of(const record_view& view) noexcept;

/// The error for a claim without its subject, and for a settle that would write a record without
/// one.
[[nodiscard]] error subject_missing();

/// Makes the form in which a record moves to another store. `wall_now` is the wall clock's time. If
/// the lease still runs, the operation may have been dispatched: the imported record will be
/// unknown.
[[nodiscard]] imported_record make_imported_record(record_view seen, std::int64_t wall_now);

/// The least token counter of a store that imports a record: at least the token that the record
/// brings, and, as in a new store, at least the clock, because the other store may have given later
/// tokens to records that it forgot.
[[nodiscard]] token token_above(token counter, token brought, const instant& now) noexcept;

/// The error for a record of work in steps, in a store of this name that keeps no recovery points.
[[nodiscard]] error recovery_refused(const std::string& name);

/// The error for a stored record without a subject, for which no claim can be decided.
[[nodiscard]] error subject_unreadable();

}  // namespace onceguard
