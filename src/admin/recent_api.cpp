#include "admin/recent_api.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "admin/responses.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/number_in.hpp"
#include "base/value_text.hpp"
#include "core/kept_key.hpp"
#include "engine/background.hpp"
#include "http/request_report.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t limit_max = 2'000;
constexpr std::size_t limit_usual = 500;
constexpr milliseconds wait_max{20'000};
constexpr milliseconds poll_pause{50};
// So many callers may wait at once; one more gets an answer at once, and the requests of others
// have their room.
constexpr std::size_t waiters_max = 16;
// What was numbered just now may not be written yet.
constexpr std::uint64_t unwritten_max = 64;
constexpr milliseconds time_to_write{5};
constexpr std::chrono::hours changes_shown{1};

struct recent_query {
  std::optional<std::uint64_t> after;  ///< none: the latest
  std::size_t limit = limit_usual;
  milliseconds wait{0};
  std::string begun_at;  ///< of the process that numbered `after`
  std::string route;
  std::string key;
  std::optional<record_id> record;
  std::vector<std::string> outcomes;
  std::vector<std::string> events;

  /// As the metrics name it. A longer name than is kept is that of its beginning.
  [[nodiscard]] bool is_route(std::string_view kept) const {
    constexpr std::size_t most = decltype(recent_request::route)::most;
    return kept.empty() ? route == no_route : kept == std::string_view(route).substr(0, most);
  }
  [[nodiscard]] bool fits(const recent_request& one) const {
    if (!events.empty() && outcomes.empty()) return false;
    return (route.empty() || is_route(one.route.view())) &&
           (key.empty() || one.key.view() == key) && (!record || one.record == record) &&
           (outcomes.empty() ||
            std::ranges::find(outcomes, http::name_of(one.outcome)) != outcomes.end());
  }
  /// Those of a name; or of a record those that name it. Other filters choose requests alone.
  [[nodiscard]] bool fits(const recent_event& one) const {
    if (!events.empty()) return std::ranges::find(events, one.name) != events.end();
    if (!route.empty() || !key.empty() || !outcomes.empty()) return false;
    if (!record) return true;
    return std::ranges::any_of(
        one.fields, [digest = base::digest_text(*record)](const auto& field) {
          const auto* text = std::get_if<std::string>(&field.second);
          return field.first == "record" && text != nullptr && *text == digest;
        });
  }
};

error wrong(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

result<void> read_number(std::string_view name, const std::string& value, recent_query& out) {
  if (name == "after") {
    out.after = base::number_in<std::uint64_t>(value);
    if (!out.after) return wrong("after: the number of a line was expected");
    return {};
  }
  if (name == "limit") {
    const auto limit = base::number_in<std::size_t>(value, 1, limit_max);
    if (!limit) return wrong("limit: a number from 1 to 2000 was expected");
    out.limit = *limit;
    return {};
  }
  const auto wait = base::parse_duration(value);
  if (!wait || *wait > wait_max) return wrong("wait: a duration of at most 20s was expected");
  out.wait = *wait;
  return {};
}

result<void> read_parameter(std::string_view name, const std::string& value, recent_query& out) {
  if (value.empty()) return wrong(std::string(name) + ": a value was expected");
  if (name == "after" || name == "limit" || name == "wait") return read_number(name, value, out);
  if (name == "route") {
    out.route = value;
  } else if (name == "begun_at") {
    out.begun_at = value;
  } else if (name == "key") {
    out.key = core::key_to_find(value);
  } else if (name == "record") {
    record_id id{};
    if (!base::from_hex(value, id)) return wrong("record: 64 hex digits were expected");
    out.record = id;
  } else if (name == "outcome") {
    if (!http::is_outcome(value)) return wrong("outcome: there is no outcome \"" + value + "\"");
    out.outcomes.push_back(value);
  } else if (name == "event") {
    out.events.push_back(value);
  } else {
    return wrong("there is no parameter \"" + std::string(name) + "\"");
  }
  return {};
}

result<recent_query> read_query(const request& wanted) {
  recent_query out;
  for (const auto& [name, value] : wanted.query) {
    if (const auto known = read_parameter(name, value, out); !known) return known.error();
  }
  return out;
}

void add_text(ordered_json& out, const char* name, std::string_view text) {
  if (!text.empty()) out[name] = text;
}

void add_time(ordered_json& out, const char* name, std::chrono::microseconds time) {
  if (time.count() > 0) out[name] = time.count();
}

ordered_json request_json(const recent_request& one) {
  ordered_json out{{"number", one.number},
                   {"at", time_text(one.at_wall)},
                   {"outcome", http::name_of(one.outcome)}};
  if (one.why_unguarded != http::unguarded_reason::none) {
    out["why"] = http::name_of(one.why_unguarded);
  }
  if (one.unknown_why != unknown_reason::none) out["why"] = name_of(one.unknown_why);
  add_text(out, "problem", one.problem);
  add_text(out, "settled", one.settled);
  if (one.status != 0) out["status"] = one.status;
  if (one.upstream_status != 0) out["upstream_status"] = one.upstream_status;
  add_text(out, "method", one.method.view());
  add_text(out, "route", one.route.view());
  add_text(out, "path", one.path.view());
  add_text(out, "key", one.key.view());
  if (one.record) out["record"] = base::to_hex(*one.record);
  if (one.attempt != 0) out["attempt"] = one.attempt;
  if (one.renewals != 0) out["renewals"] = one.renewals;
  add_time(out, "total_us", one.total);
  add_time(out, "claim_us", one.claim);
  add_time(out, "upstream_begin_us", one.upstream_begin);
  add_time(out, "upstream_us", one.upstream_time);
  add_time(out, "settle_us", one.settle);
  add_text(out, "client", one.client.view());
  add_text(out, "trace", one.trace.view());
  return out;
}

ordered_json event_json(const recent_event& one) {
  ordered_json out{{"number", one.number},
                   {"at", time_text(one.at_wall)},
                   {"level", one.level},
                   {"event", one.name}};
  auto& fields = out["fields"] = ordered_json::object();
  for (const auto& [name, value] : one.fields) {
    std::visit([&, &member = name](const auto& known) { fields[member] = known; }, value);
  }
  return out;
}

/// The same, as far as it is known of a request of long ago.
recent_request past_of(const past_request& one, const record_id& record) {
  recent_request out;
  out.number = one.number;
  out.at_wall = one.at_wall;
  out.outcome = one.report.outcome;
  out.unknown_why = one.report.unknown_why;
  out.settled = http::settled_name(one.report);
  out.status = one.report.status;
  out.upstream_status = one.report.upstream_status;
  out.attempt = one.report.attempt;
  out.total = one.report.total;
  out.record = record;
  return out;
}

/// What one caller gets: collected from the rows until it is enough.
struct recent_page {
  ordered_json requests = ordered_json::array();
  ordered_json events = ordered_json::array();
  std::uint64_t after = 0;  ///< up to here all was looked at
  std::uint64_t lost = 0;
  std::int64_t requests_since_wall = 0;  ///< those of a record are known from then on; 0: of none

  [[nodiscard]] bool empty() const { return requests.empty() && events.empty() && lost == 0; }
};

class recent_reader {
 public:
  recent_reader(const recent_activity& recent, const recent_query& wanted)
      : recent_(recent), wanted_(wanted) {}

  /// The lines with higher numbers, the oldest first.
  asio::awaitable<void> add_later(recent_page& out) const {
    const auto latest = recent_.latest();
    const auto events = recent_.events_after(out.after);
    auto event = events.begin();
    if (latest > out.after + recent_activity::requests_max) {
      const auto first = latest - recent_activity::requests_max;
      out.lost += first - out.after;
      for (; event != events.end() && event->number <= first; ++event) {
        --out.lost;
        if (wanted_.fits(*event)) out.events.push_back(event_json(*event));
      }
      out.after = first;
    }
    bool waited = false;
    for (; out.after < latest && out.requests.size() < wanted_.limit; ++out.after) {
      const auto number = out.after + 1;
      if (event != events.end() && event->number == number) {
        if (wanted_.fits(*event)) out.events.push_back(event_json(*event));
        ++event;
        continue;
      }
      auto found = recent_.find(number);
      if (!found && !waited && latest - number < unwritten_max) {
        waited = true;
        co_await sleep_for(time_to_write);
        found = recent_.find(number);
      }
      if (!found) {
        ++out.lost;
      } else if (wanted_.fits(*found)) {
        out.requests.push_back(request_json(*found));
      }
    }
  }

  /// The latest lines that fit, the oldest first. What is not here any more was never asked for.
  [[nodiscard]] recent_page latest() const {
    recent_page out;
    out.after = recent_.latest();
    const auto kept = std::min<std::uint64_t>(out.after, recent_activity::requests_max);
    for (std::uint64_t i = 0; i < kept && out.requests.size() < wanted_.limit; ++i) {
      const auto found = recent_.find(out.after - i);
      if (found && wanted_.fits(*found)) out.requests.push_back(request_json(*found));
    }
    std::reverse(out.requests.begin(), out.requests.end());
    if (wanted_.record) add_past(out);
    for (const auto& one : recent_.events_after(0)) {
      if (one.number <= out.after && wanted_.fits(one)) out.events.push_back(event_json(one));
    }
    const auto more = out.events.size() > wanted_.limit ? out.events.size() - wanted_.limit : 0;
    out.events.erase(out.events.begin(), out.events.begin() + static_cast<std::ptrdiff_t>(more));
    return out;
  }

 private:
  /// Before those that are kept whole, the others of the record, which have lost their texts.
  void add_past(recent_page& out) const {
    const auto since = recent_.outcomes().known_since_wall();
    out.requests_since_wall = since != 0 ? since : recent_.begun_at_wall();
    std::map<std::uint64_t, ordered_json> all;
    for (auto& one : out.requests) {
      const auto number = one["number"].get<std::uint64_t>();
      all.emplace(number, std::move(one));
    }
    for (const auto& one : recent_.outcomes().of(*wanted_.record, wanted_.limit)) {
      const auto past = past_of(one, *wanted_.record);
      if (past.number <= out.after && wanted_.fits(past)) {
        all.try_emplace(past.number, request_json(past));
      }
    }
    while (all.size() > wanted_.limit) all.erase(all.begin());
    out.requests = ordered_json::array();
    for (auto& [number, one] : all) out.requests.push_back(std::move(one));
  }

  const recent_activity& recent_;
  const recent_query& wanted_;
};

response answer_page(const recent_activity& recent, const recent_page& page) {
  ordered_json out;
  out["begun_at"] = time_text(recent.begun_at_wall());
  out["after"] = page.after;
  out["lost"] = page.lost;
  if (page.requests_since_wall != 0) out["requests_since"] = time_text(page.requests_since_wall);
  out["requests"] = page.requests;
  out["events"] = page.events;
  return json_response(out);
}

asio::awaitable<response> answer_recent(const recent_activity& recent, std::size_t& waiters,
                                        const request& wanted) {
  const auto query = read_query(wanted);
  if (!query) co_return refusal(400, query.error().detail);
  const recent_reader reader(recent, *query);
  if (!query->after) co_return answer_page(recent, reader.latest());
  recent_page page;
  // Another process's numbers say nothing here.
  const bool ours =
      *query->after <= recent.latest() &&
      (query->begun_at.empty() || query->begun_at == time_text(recent.begun_at_wall()));
  page.after = ours ? *query->after : 0;
  const auto until = base::boot_now() + query->wait;
  co_await reader.add_later(page);
  if (!page.empty() || waiters >= waiters_max) co_return answer_page(recent, page);
  const std::shared_ptr<void> waiting(&++waiters, [&waiters](void*) { --waiters; });
  while (page.empty() && base::boot_now() < until) {
    co_await sleep_for(poll_pause);
    co_await reader.add_later(page);
  }
  co_return answer_page(recent, page);
}

/// What changed for the whole process in the last hour.
response answer_changes(const recent_activity& recent) {
  const auto since =
      base::system_clock().wall_ms() - std::chrono::milliseconds(changes_shown).count();
  ordered_json out{{"begun_at", time_text(recent.begun_at_wall())},
                   {"since", time_text(since)},
                   {"changes", ordered_json::array()}};
  for (const auto& one : recent.changes_since(since)) out["changes"].push_back(event_json(one));
  return json_response(out);
}

}  // namespace

resources recent_resources(const recent_activity& recent) {
  const auto waiters = std::make_shared<std::size_t>(0);
  resources out;
  out.push_back({"GET", "/api/recent", access::view, [&recent, waiters](const request& wanted) {
                   return answer_recent(recent, *waiters, wanted);
                 }});
  out.push_back(
      {"GET", "/api/changes", access::view, [&recent](const request&) -> asio::awaitable<response> {
         co_return answer_changes(recent);
       }});
  return out;
}

}  // namespace onceguard::admin
