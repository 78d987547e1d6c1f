#include "cli/services/dead_row_resources.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "admin/act_reason.hpp"
#include "admin/responses.hpp"
#include "admin/worker_api.hpp"
#include "base/json_reader.hpp"
#include "base/number_in.hpp"
#include "cli/messages/dead_row_acts.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::services {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::ordered_json;
using row_reader = base::json_reader<nlohmann::json>;

namespace {

/// How many are shown, or changed at once: more than a person settles one by one.
constexpr std::size_t rows_max = 1'000;

/// One row as the caller saw it. The numbers are texts: those of JavaScript have 53 bits.
struct seen_row {
  std::string row;
  std::string seen;
};

struct row_request {
  std::string reason;
  std::vector<seen_row> rows;
  bool dry = true;
};

seen_row read_seen_row(const row_reader& object) {
  object.has_only({"row", "seen"});
  return {object.at("row").text(), object.at("seen").text()};
}

row_request read_row_request(const row_reader& object) {
  object.has_only({"reason", "rows", "dry_run"});
  row_request out;
  out.reason = admin::read_reason(object);
  const auto rows = object.at("rows");
  rows.each([&](const row_reader& one) { out.rows.push_back(read_seen_row(one)); });
  if (out.rows.empty()) rows.refuse("is empty");
  if (out.rows.size() > rows_max) rows.refuse("has more than 1000 rows");
  object.take("dry_run", out.dry);
  return out;
}

const relay::relay_params* relay_named(const config::settings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings.relays, name, &relay::relay_params::name);
  return found == settings.relays.end() ? nullptr : &*found;
}

ordered_json row_entry(const relay::dead_row& one) {
  ordered_json out{{"row", std::to_string(one.number)}, {"seen", std::to_string(one.dead_since)}};
  out["message_id"] = one.message_id;
  if (!one.order_key.empty()) out["order_key"] = one.order_key;
  out["failures"] = one.failures;
  if (!one.reason.empty()) out["reason"] = one.reason;
  if (one.dead_since != 0) out["since"] = time_text(one.dead_since / 1'000);
  out["payload_size"] = one.payload_size;
  return out;
}

admin::response out_of_reach(const error& why) { return admin::refusal(503, why.detail); }

admin::response list_rows(const relay::relay_params& params) {
  auto outbox = relay::dead_rows::open(params);
  if (!outbox) return out_of_reach(outbox.error());
  const auto read = outbox->list(rows_max);
  if (!read) return out_of_reach(read.error());
  ordered_json body{{"worker", params.name}, {"rows", ordered_json::array()}};
  for (const auto& one : *read) body["rows"].push_back(row_entry(one));
  body["more"] = read->size() >= rows_max;
  return admin::json_response(body);
}

messages::row_end act_on_row(relay::dead_rows& outbox, const std::string& name,
                             const seen_row& wanted, const row_request& request, bool retries,
                             audit_log& log, const audit_author& author) {
  const auto number = base::number_in<std::int64_t>(wanted.row);
  if (!number) return {"not_found", {}};
  const auto found = outbox.find(*number);
  if (!found) return {"failed", found.error().detail + "; nothing was changed"};
  if (!*found) return {"not_found", {}};
  if (std::to_string((*found)->dead_since) != wanted.seen) return {"changed", {}};
  if (request.dry) return {"done", {}};
  return messages::change_row(outbox, name, **found, retries, log, author);
}

/// A row that an open transaction holds costs the whole time of a statement: the others behind it
/// are not tried.
admin::response act_on_rows(const relay::relay_params& params, const row_request& request,
                            bool retries, audit_log& log, const std::string& caller,
                            const std::function<bool()>& closed) {
  auto outbox = relay::dead_rows::open(params);
  if (!outbox) return out_of_reach(outbox.error());
  const audit_author author{caller, "admin", request.reason};
  ordered_json body{{"act", retries ? "retry" : "drop"}, {"dry_run", request.dry}};
  auto& rows = body["rows"] = ordered_json::array();
  std::string why;
  for (const auto& wanted : request.rows) {
    if (why.empty() && closed()) why = "this process ends, or reads its configuration again";
    const auto end = why.empty()
                         ? act_on_row(*outbox, params.name, wanted, request, retries, log, author)
                         : messages::row_end{"failed", "not tried: " + why};
    if (why.empty() && end.outcome == "failed") why = "another row failed";
    ordered_json entry{{"row", wanted.row}, {"outcome", end.outcome}};
    if (!end.detail.empty()) entry["detail"] = end.detail;
    rows.push_back(std::move(entry));
  }
  body["faults"] = ordered_json::array();
  return admin::json_response(body);
}

admin::response refuse_closed() {
  return admin::refusal(503, "This process ends, or reads its configuration again.");
}

}  // namespace

bool dead_row_service::begin() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  ++running_;
  return true;
}

void dead_row_service::end() {
  const std::lock_guard lock(mutex_);
  --running_;
  ended_.notify_all();
}

bool dead_row_service::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void dead_row_service::close() {
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    ended_.wait(lock, [this] { return running_ == 0; });
  }
  pool_.join();  // the answer is on its way to the listener then
}

awaitable<admin::response> dead_row_service::list(const admin::request& wanted) {
  const auto* params = relay_named(settings_, admin::worker_of(wanted));
  if (params == nullptr) co_return admin::refusal(404, "There is no such worker.");
  if (!begin()) co_return refuse_closed();
  auto work = [this, params]() -> awaitable<admin::response> {
    const std::shared_ptr<void> ending(nullptr, [this](void*) { end(); });
    co_return list_rows(*params);
  };
  auto out = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  co_return out;
}

awaitable<admin::response> dead_row_service::act(const admin::request& wanted, bool retries,
                                                 const admin::audit_source& audit) {
  const auto* params = relay_named(settings_, admin::worker_of(wanted));
  if (params == nullptr) co_return admin::refusal(404, "There is no such worker.");
  auto read = base::read_json<nlohmann::json>(wanted.body, "the body", read_row_request);
  if (!read) co_return admin::refusal(422, read.error().detail);
  auto* log = audit();
  if (log == nullptr) co_return admin::refusal(503, "The audit log can't be opened.");
  const auto request = std::make_shared<const row_request>(*std::move(read));
  if (!begin()) co_return refuse_closed();
  auto work = [this, params, request, retries, log,
               caller = wanted.sender.name]() -> awaitable<admin::response> {
    const std::shared_ptr<void> ending(nullptr, [this](void*) { end(); });
    const auto closed = [this] { return is_closed(); };
    co_return act_on_rows(*params, *request, retries, *log, caller, closed);
  };
  auto out = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  co_return out;
}

admin::resources dead_row_service::make_resources(admin::audit_source audit) {
  admin::resources out;
  out.push_back({"GET", "/api/workers/{worker}/rows", admin::access::view,
                 [this](const admin::request& wanted) { return list(wanted); }});
  for (const bool retries : {true, false}) {
    out.push_back({"POST",
                   retries ? "/api/workers/{worker}/rows/retry" : "/api/workers/{worker}/rows/drop",
                   admin::access::act, [this, audit, retries](const admin::request& wanted) {
                     return act(wanted, retries, audit);
                   }});
  }
  return out;
}

}  // namespace onceguard::cli::services
