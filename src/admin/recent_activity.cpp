#include "admin/recent_activity.hpp"

#include <algorithm>

namespace onceguard::admin {

namespace {

std::variant<std::string, std::int64_t, bool> owned(const base::log_value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* time = std::get_if<std::chrono::microseconds>(&value))
    return time->count() / 1'000;
  return std::get<bool>(value);
}

bool has_field(const base::event_info& event, std::string_view name) {
  const auto words = " " + std::string(event.fields) + " ";
  return words.find(" " + std::string(name) + " ") != words.npos;
}

/// Whether it says something of the process: not of one record or message, and no routine.
bool is_change(const base::event_info& event) {
  using enum base::event;
  constexpr base::event routine[]{admin_listening, checkpoint_written, segment_removed,
                                  store_poll_failed, sweep_failed};
  return !event.recurring && !has_field(event, "record") && !has_field(event, "message") &&
         std::ranges::find(routine, event.id) == std::end(routine);
}

}  // namespace

void recent_activity::begin() {
  slots_ = std::make_unique<slot[]>(requests_max);
  outcomes_.begin();
  keeps_.store(true, std::memory_order_release);
}

void recent_activity::finished(const http::request_report& report) noexcept {
  const auto number = next();
  const auto now = base::system_clock().wall_ms();
  outcomes_.add(number, now, report);
  auto& cell = slots_[number % requests_max];
  const std::unique_lock lock(cell.mutex, std::try_to_lock);
  if (!lock) return;
  auto& out = cell.kept;
  // A thread that was held up for a whole round replaces nothing newer.
  if (out.number > number) return;
  out.number = number;
  out.at_wall = now;
  out.outcome = report.outcome;
  out.why_unguarded = report.why_unguarded;
  out.unknown_why = report.unknown_why;
  out.problem = report.problem;
  out.settled = http::settled_name(report);
  out.status = report.status;
  out.upstream_status = report.upstream_status;
  out.attempt = report.attempt;
  out.renewals = report.renewals;
  out.total = report.total;
  out.claim = report.claim;
  out.upstream_time = report.upstream_time;
  out.settle = report.settle;
  out.upstream_begin = report.upstream_begin;
  out.record.reset();
  if (report.record != nullptr) out.record = *report.record;
  out.key.set(report.key);
  out.method.set(report.method);
  out.route.set(report.route);
  out.path.set(report.path);
  out.client.set(report.client);
  out.trace.set(report.trace_id);
}

std::optional<recent_request> recent_activity::find(std::uint64_t number) const {
  const auto& cell = slots_[number % requests_max];
  const std::lock_guard lock(cell.mutex);
  if (number == 0 || cell.kept.number != number) return std::nullopt;
  return cell.kept;
}

std::vector<recent_event> recent_activity::events_after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, number, {}, &recent_event::number);
  return {first, events_.end()};
}

std::vector<recent_event> recent_activity::changes_since(std::int64_t wall) const {
  const std::lock_guard lock(mutex_);
  std::vector<recent_event> out;
  for (const auto& one : changes_) {
    if (one.at_wall >= wall) out.push_back(one);
  }
  std::ranges::reverse(out);
  return out;
}

void recent_activity::write(const base::event_info& event, base::log_level level,
                            std::span<const base::log_field> fields) {
  lines_.write(event, level, fields);
  keep(event, level, fields);
}

bool recent_activity::write_surely(const base::event_info& event, base::log_level level,
                                   std::span<const base::log_field> fields) {
  const bool done = lines_.write_surely(event, level, fields);
  keep(event, level, fields);
  return done;
}

bool recent_activity::passes(const base::event_info& event, std::int64_t now_wall) {
  if (!event.recurring) return true;
  if (std::exchange(second_, now_wall / 1'000) != now_wall / 1'000) recurring_ = 0;
  return recurring_++ < recurring_max;
}

void recent_activity::keep(const base::event_info& event, base::log_level level,
                           std::span<const base::log_field> fields) {
  // A request is here by itself.
  if (event.id == base::event::request || !keeps_.load(std::memory_order_acquire)) return;
  const auto now = base::system_clock().wall_ms();
  const std::lock_guard lock(mutex_);
  if (!passes(event, now)) return;
  recent_event out{next(), now, base::name_of(level), event.name};
  for (const auto& one : fields) out.fields.emplace_back(one.name, owned(one.value));
  if (is_change(event)) {
    changes_.push_back(out);
    if (changes_.size() > changes_max) changes_.pop_front();
  }
  events_.push_back(std::move(out));
  if (events_.size() > events_max) events_.pop_front();
}

}  // namespace onceguard::admin
