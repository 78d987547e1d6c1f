// What operators are shown of a record, the same by every store.
#pragma once
#include <onceguard/store.hpp>

namespace onceguard {

[[nodiscard]] record_view make_view(const record_id& id, record stored, const instant& now);

[[nodiscard]] bool matches(const list_filter& filter, const record_view& view) noexcept;

/// A claim without its subject, or a settle that would write a record without one, is refused.
[[nodiscard]] error subject_missing();

/// A stored record that has no subject cannot be judged.
[[nodiscard]] error subject_unreadable();

}  // namespace onceguard
