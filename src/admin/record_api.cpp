#include "admin/record_api.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "admin/page_cursor.hpp"
#include "admin/record_path.hpp"
#include "admin/responses.hpp"
#include "base/clock.hpp"
#include "base/number_in.hpp"
#include "store/record_filter.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t list_size_max = 1'000;
constexpr std::size_t list_size_usual = 100;
// Beyond this size, a body comes only to those who ask for it.
constexpr std::size_t body_size_usual = 1u << 20;

struct list_query {
  record_filter filter;
  std::string cursor;
  std::size_t limit = list_size_usual;
};

result<void> read_parameter(std::string_view name, const std::string& value, list_query& out) {
  if (name == "cursor") {
    auto cursor = read_cursor(value);
    if (!cursor) return cursor.error();
    out.cursor = *std::move(cursor);
    return {};
  }
  if (name != "limit") return out.filter.add(name, value);
  const auto limit = base::number_in<std::size_t>(value, 1, list_size_max);
  if (!limit) return error(errc::invalid_argument, "limit: a number from 1 to 1000 was expected");
  out.limit = *limit;
  return {};
}

bool is_repeated(const request& request, std::string_view name) {
  return std::ranges::count(request.query, name, [](const auto& one) { return one.first; }) > 1;
}

asio::awaitable<response> list_records(store& records, milliseconds timeout,
                                       const request& request) {
  list_query query;
  for (const auto& [name, value] : request.query) {
    if (name != "state" && is_repeated(request, name)) {
      co_return refusal(400, name + ": given twice; all that is given must fit");
    }
    if (const auto known = read_parameter(name, value, query); !known) {
      co_return refusal(400, known.error().detail);
    }
  }
  const auto page =
      co_await list_filtered(records, query.filter, query.cursor, query.limit, timeout);
  if (!page) co_return page_response(400, page.error());
  ordered_json body;
  body["records"] = ordered_json::array();
  for (const auto& seen : page->unreadable) body["records"].push_back(record_json(seen));
  for (const auto& seen : page->records) body["records"].push_back(record_json(seen, false));
  body["cursor"] = cursor_text(page->cursor);
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

void leave_out_body(record_view& seen) {
  if (!seen.stored.answer) return;
  auto rest = std::make_shared<answer>();
  rest->status = seen.stored.answer->status;
  rest->headers = seen.stored.answer->headers;
  seen.stored.answer = std::move(rest);
}

/// Long bodies are read, rendered and sent one after the other: each is in memory a few times over,
/// and its reader may be slow.
class long_bodies {
 public:
  /// Null: another one has the turn. It ends with the pointer.
  [[nodiscard]] static std::shared_ptr<void> take_turn() {
    static std::atomic<bool> taken{false};
    if (taken.exchange(true)) return nullptr;
    return {&taken, [](std::atomic<bool>* turn) { *turn = false; }};
  }
};

/// Writes who is shown the body of the record's answer. What refuses it; none: it may be shown.
std::optional<response> audit_body(const record_view& seen, const audit_source& audit,
                                   const request& request) {
  if (!seen.stored.answer || seen.stored.answer->body.empty()) return std::nullopt;
  auto* log = audit();
  if (log == nullptr) return refusal(503, "The gateway is not ready yet.");
  audited_change shown;
  shown.action = "show";
  shown.record = seen.id;
  if (seen.stored.about) shown.key = seen.stored.about->key;
  shown.former = shown.wanted = name_of(seen.state);
  const auto line = log->show({request.sender.name, "admin", {}}, shown);
  if (line) return std::nullopt;
  return refusal(503, line.error().detail);
}

asio::awaitable<response> show_record(store& records, milliseconds timeout,
                                      const audit_source& audit, const request& request) {
  const auto id = record_in_path(request);
  if (!id) co_return no_record_in_path();
  const auto with_body = request.parameter("body");
  if (!with_body.empty() && with_body != "yes" && with_body != "no") {
    co_return refusal(400, "body: yes or no was expected");
  }
  std::shared_ptr<void> turn;
  if (with_body == "yes") {
    turn = long_bodies::take_turn();
    if (!turn) {
      auto busy = refusal(503, "Another body is being read with body=yes; ask again.");
      busy.fields = "Retry-After: 1\r\n";
      co_return busy;
    }
  }
  auto found = co_await records.find(*id, timeout);
  if (!found && found.error().code == errc::record_unreadable) {
    unreadable_record seen;
    seen.id = *id;
    seen.why = found.error().detail;
    co_return json_response(record_json(seen));
  }
  if (!found) co_return store_response(found.error());
  if (!*found) co_return refusal(404, "There is no such record.", {{"outcome", "not_found"}});
  const bool usual = (*found)->body_size <= body_size_usual;
  if (with_body == "no" || (with_body.empty() && !usual)) leave_out_body(**found);
  if (auto refused = audit_body(**found, audit, request)) co_return *std::move(refused);
  auto body = record_json(**found, true);
  body["timeline"] = timeline_of(**found);
  auto out = json_response(body);
  if (!usual) out.held = std::move(turn);
  co_return out;
}

/// A piece of the store: the caller sums up.
asio::awaitable<response> count_records(store& records, milliseconds timeout,
                                        const request& request) {
  const auto cursor = read_cursor(request.parameter("cursor"));
  if (!cursor) co_return refusal(400, cursor.error().detail);
  const auto piece = co_await records.count(*cursor, timeout);
  if (!piece) co_return page_response(400, piece.error());
  ordered_json body;
  for (std::size_t i = 1; i <= observed_states; ++i) {
    const auto state = static_cast<observed_state>(i);
    body["counts"][std::string(name_of(state))] = piece->by_state[i];
  }
  body["counts"]["unreadable"] = piece->unreadable;
  body["cursor"] = cursor_text(piece->cursor);
  co_return json_response(body);
}

}  // namespace

resources record_resources(store& records, milliseconds timeout, audit_source audit) {
  using reading = asio::awaitable<response> (*)(store&, milliseconds, const request&);
  resources out;
  const auto add = [&](std::string_view pattern, reading read) {
    out.push_back({"GET", pattern, access::view, [&records, timeout, read](const request& wanted) {
                     return read(records, timeout, wanted);
                   }});
  };
  add("/api/counts", count_records);
  add("/api/records", list_records);
  out.push_back({"GET", "/api/records/{record}", access::view,
                 [&records, timeout, audit = std::move(audit)](const request& wanted) {
                   return show_record(records, timeout, audit, wanted);
                 }});
  return out;
}

}  // namespace onceguard::admin
