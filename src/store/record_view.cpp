#include "store/record_view.hpp"

#include <algorithm>

namespace onceguard {

record_view make_view(const record_id& id, record stored, const instant& now,
                      std::int64_t wall_ahead, std::optional<std::int64_t> revision) {
  record_view out;
  out.id = id;
  out.state = observe(stored, now);
  if (stored.state < record_state::completed) {
    out.revision = revision.value_or(stored.deadline_lease);
  }
  out.lease_left = milliseconds(stored.deadline_lease - now.lease);
  out.retry_after = milliseconds(std::max<std::int64_t>(stored.retry_at_lease - now.lease, 0));
  out.age = milliseconds(std::max<std::int64_t>(now.wall - stored.claimed_at_wall, 0));
  if (stored.expires_at_wall != 0) {
    // 0 would mean "never".
    out.retention_left = milliseconds(std::max<std::int64_t>(stored.expires_at_wall - now.wall, 1));
  }
  out.stored = std::move(stored);
  if (out.stored.answer) out.body_size = out.stored.answer->body.size();
  for (auto* time :
       {&out.stored.claimed_at_wall, &out.stored.settled_at_wall, &out.stored.expires_at_wall}) {
    if (*time != 0) *time += wall_ahead;
  }
  return out;
}

namespace {

bool needs_person(const record_view& view) noexcept {
  if (view.state != observed_state::started) return view.state == observed_state::unknown;
  return view.stored.about && -view.lease_left > view.stored.about->run_timeout;
}

bool matches_subject(const list_filter& filter, const subject& about) noexcept {
  return (!filter.key || about.key == *filter.key) &&
         about.key.find(filter.text) != std::string::npos &&
         (!filter.scope || about.scope == *filter.scope) &&
         (!filter.route || about.route == *filter.route) &&
         (!filter.method || about.method == *filter.method);
}

}  // namespace

bool matches(const list_filter& filter, const record_view& view) noexcept {
  const auto& states = filter.states;
  if (!states.empty() && std::find(states.begin(), states.end(), view.state) == states.end()) {
    return false;
  }
  if (!matches_subject(filter, view.stored.about ? *view.stored.about : subject())) return false;
  if (filter.reason && reason_of(view) != *filter.reason) return false;
  if (filter.older && view.age < *filter.older) return false;
  if (filter.younger && view.age >= *filter.younger) return false;
  return !filter.needs_person || needs_person(view);
}

std::vector<std::string_view> texts_of(const list_filter& filter) {
  std::vector<std::string_view> out;
  for (const auto* each : {&filter.key, &filter.route, &filter.method}) {
    if (*each && !(*each)->empty()) out.emplace_back(**each);
  }
  if (!filter.text.empty()) out.emplace_back(filter.text);
  return out;
}

std::vector<observed_state> states_of(const list_filter& filter) {
  if (!filter.states.empty() || !filter.needs_person) return filter.states;
  return {observed_state::unknown, observed_state::started};
}

unknown_reason reason_of(const record_view& view) noexcept {
  const bool silent = view.stored.why == unknown_reason::none;
  return silent && view.state == observed_state::unknown ? unknown_reason::holder_gone
                                                         : view.stored.why;
}

}  // namespace onceguard
