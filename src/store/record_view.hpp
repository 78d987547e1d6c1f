// The view of a record that operators see, and which records a list has.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <onceguard/store.hpp>

namespace onceguard {

/// `wall_ahead`: how far the wall clock is ahead of the clock by which the store counts retention.
/// The view shows times of the wall clock. `revision`: none: the deadline is.
[[nodiscard]] record_view make_view(const record_id& id, record stored, const instant& now,
                                    std::int64_t wall_ahead = 0,
                                    std::optional<std::int64_t> revision = {});

[[nodiscard]] bool matches(const list_filter& filter, const record_view& view) noexcept;

/// Texts that are part of the encoded subject of each record that matches: a search for them is
/// cheaper than decoding. Views into the filter.
[[nodiscard]] std::vector<std::string_view> texts_of(const list_filter& filter);

/// The only states in which a record may match; empty: any.
[[nodiscard]] std::vector<observed_state> states_of(const list_filter& filter);

/// Why the outcome is unknown. Without a stored reason, the lease ran out.
[[nodiscard]] unknown_reason reason_of(const record_view& view) noexcept;

}  // namespace onceguard
