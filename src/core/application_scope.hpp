// The scopes of keys that applications claim in their own database sessions.
#pragma once
#include <onceguard/record.hpp>

namespace onceguard {

/// Whether onceguard.claim in SQL takes the scope of this kind. Other doors may use it, too.
[[nodiscard]] inline bool is_of_applications(const subject& about) noexcept {
  return about.scope_kind == "application" || about.scope_kind.starts_with("application:");
}

}  // namespace onceguard
