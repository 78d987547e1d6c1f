// What the hooks of a service get of claims and settles.
#pragma once
#include <string_view>

#include <onceguard/change.hpp>
#include <onceguard/engine.hpp>

namespace onceguard {

struct seen_change {
  change_kind kind;
  std::string_view reason{};
};

/// What a claim has come to.
[[nodiscard]] seen_change change_of_claim(const outcome& got);
/// What the end of a lease has come to; `why` is of its terms.
[[nodiscard]] seen_change change_of_settle(const outcome& got, unknown_reason why);
/// What an event of a lease means.
[[nodiscard]] seen_change change_of_event(lease_event seen) noexcept;

/// Calls the hook, if there is one; `id` may be null. Logs what the hook throws.
void report_change(const change_hook& hook, seen_change seen, std::string_view route,
                   const record_id* id, std::uint32_t attempt = 0) noexcept;

}  // namespace onceguard
