// A record that moves to another store.
#pragma once
#include <cstdint>

#include <onceguard/store.hpp>

namespace onceguard {

/// Makes the form in which a record moves to another store. `wall_now` is the wall clock's time. If
/// the lease still runs, the operation may have been dispatched: the imported record will be
/// unknown.
[[nodiscard]] imported_record make_imported_record(record_view seen, std::int64_t wall_now);

/// Whether an application has claimed it in its own database session. What a gateway has claimed,
/// and an application completes, has neither that kind of scope nor a fingerprint of the caller's
/// own.
[[nodiscard]] bool claimed_by_application(const imported_record& one);

/// The least token counter of a store that imports a record: at least the token that the record
/// brings, and, as in a new store, at least the clock, because the other store may have given later
/// tokens to records that it forgot.
[[nodiscard]] token token_above(token counter, token brought, const instant& now) noexcept;

}  // namespace onceguard
