#include "guard/changes.hpp"

#include <array>
#include <exception>

#include <onceguard/execution.hpp>

#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard {

inline namespace v1 {

std::string_view name_of(change_kind kind) noexcept {
  constexpr std::array<std::string_view, 16> names{
      "claimed",    "completed", "failed",    "released", "abandoned", "lost",
      "superseded", "in_doubt",  "replayed",  "busy",     "backoff",   "mismatch",
      "unknown",    "refused",   "unguarded", "observed"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace v1

namespace {

change_kind change_of_end(settle_kind kind) noexcept {
  switch (kind) {
    case settle_kind::complete:
      return change_kind::completed;
    case settle_kind::fail:
      return change_kind::failed;
    case settle_kind::release:
      return change_kind::released;
    case settle_kind::abandon:
      break;
  }
  return change_kind::abandoned;
}

void log_thrown(change_kind kind, std::string_view why) noexcept {
  base::log(base::event::hook_threw, {{"change", name_of(kind)}, {"why", why}});
}

}  // namespace

seen_change change_of_claim(const outcome& got) {
  switch (got.kind) {
    case outcome_kind::granted:
    case outcome_kind::ran:
      return {change_kind::claimed};
    case outcome_kind::unguarded:
      return {change_kind::unguarded};
    case outcome_kind::busy:
      return {change_kind::busy};
    case outcome_kind::backoff:
      return {change_kind::backoff};
    case outcome_kind::mismatch:
      return {change_kind::mismatch};
    case outcome_kind::unknown:
    case outcome_kind::superseded:
      return {change_kind::unknown};
    case outcome_kind::replay:
      if (got.answer != nullptr && got.kept == answer_kept::full) return {change_kind::replayed};
      break;
    case outcome_kind::unrecorded:
    case outcome_kind::no_room:
    case outcome_kind::over_quota:
    case outcome_kind::store_failed:
      break;
  }
  return {change_kind::refused, name_of(refusal_of(got).kind)};
}

seen_change change_of_settle(const outcome& got, unknown_reason why) {
  if (got.superseded) return {change_kind::superseded};
  if (got.kind == outcome_kind::unrecorded) {
    return {change_kind::in_doubt, name_of(change_of_end(got.settled_as))};
  }
  // With an answer of the store, the application has completed the record itself.
  if (got.kind == outcome_kind::replay) return {change_kind::completed};
  const auto kind = change_of_end(got.settled_as);
  if (kind != change_kind::abandoned) return {kind};
  return {kind, name_of(why)};
}

seen_change change_of_event(lease_event seen) noexcept {
  if (seen == lease_event::lost) return {change_kind::lost};
  return {change_kind::abandoned, name_of(unknown_reason::abandoned)};
}

void report_change(const change_hook& hook, seen_change seen, std::string_view route,
                   const record_id* id, std::uint32_t attempt) noexcept {
  if (!hook) return;
  try {
    const auto record = id == nullptr ? std::string() : base::digest_text(*id);
    hook({seen.kind, route, record, attempt, seen.reason});
  } catch (const std::exception& e) {
    log_thrown(seen.kind, e.what());
  } catch (...) {
    log_thrown(seen.kind, "something that is no std::exception");
  }
}

}  // namespace onceguard
