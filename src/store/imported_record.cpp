#include "store/imported_record.hpp"

#include <algorithm>

#include "core/application_scope.hpp"
#include "core/request_names.hpp"

namespace onceguard {

imported_record make_imported_record(record_view seen, std::int64_t wall_now) {
  const auto since = [wall_now](std::int64_t then) {
    return milliseconds(std::max<std::int64_t>(wall_now - then, 0));
  };
  imported_record out;
  out.id = seen.id;
  out.lease_over = std::max(-seen.lease_left, milliseconds(0));
  out.retry_after = seen.retry_after;
  out.claimed_ago = since(seen.stored.claimed_at_wall);
  out.settled_ago = since(seen.stored.settled_at_wall);
  out.retention_left = seen.retention_left;
  out.stored = std::move(seen.stored);
  out.recovery = std::move(seen.recovery);
  if (out.stored.state == record_state::started && seen.lease_left.count() > 0) {
    out.stored.state = record_state::in_progress;
  }
  return out;
}

bool claimed_by_application(const imported_record& one) {
  const auto& about = *one.stored.about;
  return one.recovery ||
         (one.stored.by_application &&
          (is_of_applications(about) || about.print.method == core::application_print));
}

token token_above(token counter, token brought, const instant& now) noexcept {
  const auto clock = static_cast<token>(std::max<std::int64_t>(now.wall, 0)) * 1'000;
  return std::max({counter, brought, clock});
}

}  // namespace onceguard
