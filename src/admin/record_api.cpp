#include "admin/record_api.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "admin/act_request.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/resolve.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t list_size_max = 1'000;
constexpr std::size_t list_size_usual = 100;
constexpr std::string_view unreadable_state = "unreadable";

response json_response(const ordered_json& body) { return {.body = json_line(body)}; }

response store_refusal(const error& why) {
  const bool away = why.retryable();
  const auto known = why.effect == effect::none ? "" : "; it may have been carried out";
  return refusal(away ? 503 : 500, why.detail + known);
}

struct list_query {
  list_filter filter;
  bool only_unreadable = false;
  std::string cursor;
  std::size_t limit = list_size_usual;
};

std::optional<std::string> from_hex_text(std::string_view text) {
  std::vector<unsigned char> bytes(text.size() / 2);
  if (text.size() % 2 != 0 || !base::from_hex(text, bytes)) return std::nullopt;
  return std::string(base::as_chars(bytes));
}

std::optional<observed_state> state_of(std::string_view name) {
  for (std::size_t i = 1; i <= observed_states; ++i) {
    if (name_of(static_cast<observed_state>(i)) == name) return static_cast<observed_state>(i);
  }
  return std::nullopt;
}

/// The fault of one parameter; empty: it is read.
std::string read_parameter(std::string_view name, const std::string& value, list_query& out) {
  if (name == "key") {
    out.filter.key = value;
  } else if (name == "scope") {
    digest scope{};
    if (!base::from_hex(value, scope)) return "scope: a digest of 64 hex digits was expected";
    out.filter.scope = scope;
  } else if (name == "state") {
    out.only_unreadable = value == unreadable_state;
    const auto state = state_of(value);
    if (state) out.filter.states.push_back(*state);
    if (!state && !out.only_unreadable) return "state: there is no such state";
  } else if (name == "cursor") {
    auto cursor = from_hex_text(value);
    if (!cursor) return "cursor: that of a page before was expected";
    out.cursor = *std::move(cursor);
  } else if (name == "limit") {
    const auto* end = value.data() + value.size();
    const auto [stop, failed] = std::from_chars(value.data(), end, out.limit);
    if (failed != std::errc{} || stop != end || out.limit == 0 || out.limit > list_size_max) {
      return "limit: a number from 1 to 1000 was expected";
    }
  } else {
    return "there is no parameter \"" + std::string(name) + "\"";
  }
  return {};
}

asio::awaitable<response> list_records(store& records, milliseconds timeout,
                                       const request& request) {
  list_query query;
  for (const auto& [name, value] : request.query) {
    if (const auto fault = read_parameter(name, value, query); !fault.empty()) {
      co_return refusal(400, fault);
    }
  }
  const auto page = co_await records.list(query.filter, query.cursor, query.limit, timeout);
  if (!page) co_return store_refusal(page.error());
  ordered_json body;
  body["records"] = ordered_json::array();
  for (const auto& seen : page->unreadable) body["records"].push_back(record_json(seen));
  for (const auto& seen : page->records) {
    if (!query.only_unreadable) body["records"].push_back(record_json(seen, false));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(page->cursor.data());
  body["cursor"] = base::to_hex(std::span(bytes, page->cursor.size()));
  co_return json_response(body);
}

/// What is known of the record's past and future, in the order of time.
ordered_json timeline_of(const record_view& seen) {
  const auto now = base::system_clock().wall_ms();
  const auto& stored = seen.stored;
  std::vector<std::pair<std::int64_t, std::string_view>> events;
  events.emplace_back(stored.claimed_at_wall, "claimed");
  const bool settled = stored.settled_at_wall != 0;
  if (settled) events.emplace_back(stored.settled_at_wall, "settled");
  if (!settled || seen.lease_left.count() > 0) {
    events.emplace_back(now + seen.lease_left.count(),
                        seen.lease_left.count() > 0 ? "lease-ends" : "lease-ended");
  }
  if (seen.retry_after.count() > 0) {
    events.emplace_back(now + seen.retry_after.count(), "may-run-again");
  }
  if (seen.retention_left.count() > 0) {
    events.emplace_back(now + seen.retention_left.count(), "forgotten");
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  auto out = ordered_json::array();
  for (const auto& [time, name] : events) {
    ordered_json entry;
    entry["at"] = time_text(time);
    entry["event"] = name;
    out.push_back(std::move(entry));
  }
  return out;
}

asio::awaitable<response> show_record(store& records, milliseconds timeout,
                                      const request& request) {
  record_id id{};
  if (!base::from_hex(request.segment, id)) {
    co_return refusal(400, "A record id of 64 hex digits was expected.");
  }
  const auto found = co_await records.find(id, timeout);
  if (!found && found.error().code == errc::record_unreadable) {
    unreadable_record seen;
    seen.id = id;
    seen.why = found.error().detail;
    co_return json_response(record_json(seen));
  }
  if (!found) co_return store_refusal(found.error());
  if (!*found) co_return refusal(404, "There is no such record.");
  auto body = record_json(**found, true);
  body["timeline"] = timeline_of(**found);
  co_return json_response(body);
}

response act_response(const resolve_decision& decided, act which, bool dry_run) {
  switch (decided.outcome) {
    case resolve_outcome::done:
      break;
    case resolve_outcome::not_found:
      return refusal(404, "There is no such record.");
    case resolve_outcome::running: {
      auto out = refusal(409,
                         "It may still be running; try again later, or use force if you know "
                         "that it is not.");
      const auto seconds = std::max<std::int64_t>((decided.retry_after.count() + 999) / 1'000, 1);
      out.fields = "Retry-After: " + std::to_string(seconds) + "\r\n";
      return out;
    }
    case resolve_outcome::already_completed:
      return refusal(409, which == act::complete
                              ? "It is completed, and an answer that was kept is never replaced."
                              : "It is completed. To forget it all the same, delete it.");
  }
  ordered_json body;
  body["act"] = name_of(which);
  body["dry_run"] = dry_run;
  return json_response(body);
}

audited_change change_of(act which, const resolution& change,
                         const std::optional<record_view>& before) {
  audited_change out;
  out.action = name_of(which);
  out.record = change.id;
  if (before) out.key = before->stored.about->key;
  out.former = before ? name_of(before->state) : unreadable_state;
  out.wanted = name_of(change.completed ? observed_state::completed : observed_state::released);
  if (change.force) out.about = "by force";
  return out;
}

asio::awaitable<response> change_record(store& records, record_api_params params, act which,
                                        const request& request) {
  record_id id{};
  if (!base::from_hex(request.segment, id)) {
    co_return refusal(400, "A record id of 64 hex digits was expected.");
  }
  const auto wanted = read_act(request.body, which);
  if (!wanted) co_return refusal(422, wanted.error().detail);
  auto found = co_await records.find(id, params.timeout);
  std::optional<record_view> before;
  if (found) {
    if (!*found) co_return refusal(404, "There is no such record.");
    before = std::move(**found);
  } else if (found.error().code != errc::record_unreadable) {
    co_return store_refusal(found.error());
  } else if (!wanted->force) {
    co_return refusal(409, "The record can't be read; force replaces it.");
  }
  resolution change;
  change.id = id;
  change.completed = which == act::complete;
  change.answer = wanted->answer;
  change.force = wanted->force;
  change.keep_completed = which == act::release;
  if (params.retention) {
    change.retention = params.retention(before ? before->stored.about->route : std::string());
  }
  if (wanted->dry_run) {
    const auto preview = before ? preview_resolution(*before, change) : resolve_decision{};
    co_return act_response(preview, which, true);
  }
  auto* audit = params.audit();
  if (audit == nullptr) co_return refusal(503, "The gateway is not ready yet.");
  const audit_author author{request.sender.name, "admin", wanted->reason};
  const auto audited = change_of(which, change, before);
  if (const auto line = audit->intend(author, audited); !line) {
    co_return refusal(500, line.error().detail + "; nothing was changed");
  }
  resolve_times times;
  times.timeout = params.timeout;
  const auto resolved = co_await resolve_surely(records, before, std::move(change), times);
  // A line that can't be written now changes nothing any more; the log has the event.
  static_cast<void>(audit->conclude(author, audited, std::string(outcome_text(resolved))));
  if (!resolved) co_return store_refusal(resolved.error());
  if (resolved->outcome == resolve_outcome::done && resolved->forgets_answer) {
    co_await outlast_caches();
  }
  co_return act_response(*resolved, which, false);
}

}  // namespace

resources record_resources(store& records, const record_api_params& params) {
  const auto timeout = params.timeout;
  resources out;
  out.push_back({"GET", "/api/records", access::view, [&records, timeout](const request& wanted) {
                   return list_records(records, timeout, wanted);
                 }});
  out.push_back(
      {"GET", "/api/records/{record}", access::view, [&records, timeout](const request& wanted) {
         return show_record(records, timeout, wanted);
       }});
  const auto add = [&](std::string_view pattern, act which) {
    out.push_back({"POST", pattern, access::act, [&records, params, which](const request& wanted) {
                     return change_record(records, params, which, wanted);
                   }});
  };
  add("/api/records/{record}/release", act::release);
  add("/api/records/{record}/complete", act::complete);
  add("/api/records/{record}/delete", act::erase);
  return out;
}

}  // namespace onceguard::admin
