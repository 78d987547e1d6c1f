#include "observing/observation.hpp"

#include <cstring>
#include <utility>

#include <onceguard/fingerprint.hpp>

#include "base/for_ever.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"

namespace onceguard::observing {

using http::request_outcome;

namespace {

std::uint64_t hash_of(const digest& whole) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, whole.data(), sizeof out);
  return out;
}

/// A content belongs to its scope, as a key does: two callers may send the same.
std::uint64_t content_hash(const digest& scope, const digest& print) {
  std::string both(base::as_chars(scope));
  both += base::as_chars(print);
  return base::checksum_of(both);
}

milliseconds since(std::int64_t first_ms, std::int64_t now_ms) {
  return milliseconds(now_ms - first_ms);
}

}  // namespace

void delays::add(milliseconds after) noexcept {
  std::size_t i = 0;
  while (i < bounds.size() && after > bounds[i]) ++i;
  ++counts_[i];
}

observation::observation(const base::clock& clock, std::size_t entries)
    : clock_(clock), since_wall_ms_(clock.wall_ms()), entries_(entries) {}

observation::tables& observation::known() {
  std::call_once(made_, [this] { tables_ = std::make_unique<tables>(entries_); });
  return *tables_;
}

sighting observation::see(const route_policy& policy, std::string_view key, const digest& scope,
                          const digest& print) {
  sighting out;
  out.with_key = out.compared = true;
  out.record = hash_of(make_record_id(scope, key));
  const auto now = clock_.boot_ms();
  out.would_be = known().records.update(out.record, [&](known_record& known, bool found) {
    using enum request_outcome;
    const bool settled = found && known.state != record_state::running;
    const bool expired = settled && known.state != record_state::failed && now >= known.until_ms;
    if (!found || expired) {
      known = {.print = hash_of(print), .first_ms = now};
      return ran;
    }
    if (known.print != hash_of(print)) return mismatch;
    out.since_first = since(known.first_ms, now);
    switch (known.state) {
      case record_state::running:
        return policy.on_busy == on_busy_rule::wait ? waited : busy;
      case record_state::completed:
        return replayed;
      case record_state::unknown:
        if (policy.unknown != unknown_policy::rerun) return unknown;
        break;
      case record_state::failed:
        if (now < known.until_ms) return backoff;
        break;
    }
    known.state = record_state::running;
    out.earlier_succeeded = known.succeeded;
    return ran;
  });
  if (out.would_be == request_outcome::ran && !out.since_first) {
    see_content(scope, print, out);
    see_scope(key, scope, print, out);
  }
  return out;
}

void observation::see_scope(std::string_view key, const digest& scope, const digest& print,
                            sighting& out) {
  std::string both(base::as_chars(print));
  both += key;
  known().scopes.update(base::checksum_of(both), [&](std::uint64_t& last, bool found) {
    out.other_scope = found && last != hash_of(scope);
    last = hash_of(scope);
  });
}

sighting observation::see_without_key(const digest& scope, const digest& print) {
  sighting out;
  out.compared = true;
  out.would_be = request_outcome::unguarded;
  see_content(scope, print, out);
  return out;
}

void observation::see_content(const digest& scope, const digest& print, sighting& out) {
  out.content = content_hash(scope, print);
  const auto now = clock_.boot_ms();
  known().contents.update(out.content, [&](known_content& known, bool found) {
    const auto after = since(known.first_ms, now);
    // A key that runs again after its release is the same one.
    const bool same_key = out.record != 0 && known.record == out.record;
    if (found && after <= content_window && !same_key) {
      out.same_content = true;
      out.since_content = after;
    } else {
      known = {.first_ms = now, .record = out.record};
    }
  });
}

void observation::end_record(const route_policy& policy, const sighting& seen, const ending& end) {
  if (end.settled == settle_kind::release) return known().records.erase(seen.record);
  const auto now = clock_.boot_ms();
  known().records.update_known(seen.record, [&](known_record& known) {
    known.succeeded = end.succeeded;
    switch (end.settled) {
      case settle_kind::complete:
        known.state = record_state::completed;
        known.until_ms = now + base::bounded(policy.retention).count();
        break;
      case settle_kind::fail:
        known.state = record_state::failed;
        known.until_ms = now + base::bounded(policy.backoff).count();
        break;
      case settle_kind::release:
      case settle_kind::abandon:
        known.state = record_state::unknown;
        known.until_ms = policy.unknown_retention.count() == 0
                             ? std::numeric_limits<std::int64_t>::max()
                             : now + base::bounded(policy.unknown_retention).count();
        break;
    }
  });
}

void observation::settle(const route_policy& policy, const sighting& seen, const ending& end) {
  if (seen.record != 0 && seen.would_be == request_outcome::ran) end_record(policy, seen, end);
  if (seen.content == 0 || seen.same_content) return;
  known().contents.update_known(seen.content, [&](known_content& content) {
    content.over = true;
    content.succeeded = end.succeeded;
  });
}

/// Of a request that succeeded: how many runs with success were one too many. That is its own, if
/// the first one succeeded, or those of repeats that ended before the first one, which this is.
template <class Table>
std::uint64_t observation::count_success(Table& table, std::uint64_t hash, bool first) {
  std::uint64_t out = 0;
  table.update_known(hash, [&](auto& known) {
    if (first) {
      out = std::exchange(known.early_successes, 0);
    } else if (known.ended()) {
      out = known.succeeded ? 1 : 0;
    } else {
      ++known.early_successes;
    }
  });
  return out;
}

std::uint64_t observation::repeats_run_again(const sighting& seen) {
  const bool runs = seen.would_be == request_outcome::ran;
  if (seen.record == 0 || (!runs && !seen.since_first)) return 0;
  return count_success(known().records, seen.record, runs) + (seen.earlier_succeeded ? 1 : 0);
}

std::uint64_t observation::contents_run_again(const sighting& seen) {
  return seen.content == 0 ? 0 : count_success(known().contents, seen.content, !seen.same_content);
}

void observation::count(std::string_view route, const sighting& seen, const ending& end) {
  const auto repeats = end.succeeded ? repeats_run_again(seen) : 0;
  const auto contents = end.succeeded ? contents_run_again(seen) : 0;
  const std::lock_guard lock(mutex_);
  auto entry = routes_.find(route);
  if (entry == routes_.end()) entry = routes_.emplace(std::string(route), route_counts{}).first;
  auto& counts = entry->second;
  ++counts.requests;
  if (seen.with_key) ++counts.with_key;
  if (seen.anonymous) ++counts.anonymous;
  ++counts.would_be[static_cast<std::size_t>(seen.would_be)];
  if (!seen.compared && seen.problem.empty()) ++counts.not_compared;
  if (!seen.problem.empty()) {
    const auto problem = counts.problems.find(seen.problem);
    if (problem == counts.problems.end()) {
      counts.problems.emplace(std::string(seen.problem), 1);
    } else {
      ++problem->second;
    }
  }
  if (seen.other_scope) ++counts.other_scopes;
  counts.repeats_run_again += repeats;
  counts.contents_run_again += contents;
  if (seen.since_first) {
    ++counts.repeats;
    counts.repeat_delays.add(*seen.since_first);
  }
  if (seen.same_content) {
    ++(seen.with_key ? counts.contents_with_another_key : counts.contents_without_key);
    counts.content_delays.add(*seen.since_content);
  }
}

std::map<std::string, route_counts, std::less<>> observation::counts() const {
  const std::lock_guard lock(mutex_);
  return routes_;
}

void observation::log_counts() const {
  for (const auto& [route, seen] : counts()) {
    const auto would_be = [&seen = seen](request_outcome outcome) {
      return seen.would_be[static_cast<std::size_t>(outcome)];
    };
    const auto contents = seen.contents_without_key + seen.contents_with_another_key;
    base::log(base::event::observed, {{"route", route},
                                      {"requests", seen.requests},
                                      {"with_key", seen.with_key},
                                      {"repeats", seen.repeats},
                                      {"repeats_run_again", seen.repeats_run_again},
                                      {"mismatches", would_be(request_outcome::mismatch)},
                                      {"refused", would_be(request_outcome::refused)},
                                      {"contents_repeated", contents}});
  }
}

}  // namespace onceguard::observing
