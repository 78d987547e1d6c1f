#include "admin/remote_records.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/url.hpp"
#include "store/record_filter.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

using boost::asio::awaitable;
using nlohmann::ordered_json;

namespace {

// The gateway may wait for its store itself, and longer for a change whose reply does not come.
constexpr milliseconds wait_for_answer{10'000};
constexpr milliseconds wait_for_change{70'000};
// In base64 it fills the longest answer that ask() takes.
constexpr std::size_t body_size_max = 48u << 20;

struct reply {
  std::uint16_t status = 0;
  ordered_json body;

  [[nodiscard]] std::string text(const char* name) const { return base::text_in(body, name); }
};

error strange(const admin_target& target) {
  return {errc::conflict,
          target.address.text() + ": no answer of an admin API; is it the admin listener?"};
}

/// Why the gateway refused.
error refused(const admin_target& target, const reply& got) {
  if (got.text("detail").empty()) return strange(target);
  auto out = refusal_error(target.address, got.status, got.text("detail"));
  if (got.text("effect") == "unknown") out.effect = effect::unknown;
  return out;
}

result<reply> send(const admin_target& target, client_request request, milliseconds timeout) {
  request.token = target.token;
  auto answer = ask(target.address, request, timeout);
  if (!answer) {
    const auto& why = answer.error();
    return error(why.code == errc::not_found ? errc::store_unreachable : why.code, why.detail,
                 request.method == "GET" ? effect::none : why.effect);
  }
  reply out;
  out.status = answer->status;
  out.body = ordered_json::parse(answer->body, nullptr, false);
  if (!out.body.is_object()) return strange(target);
  return out;
}

result<reply> get(const admin_target& target, std::string path, milliseconds timeout) {
  auto got = send(target, {.target = std::move(path)}, timeout + wait_for_answer);
  if (got && got->status != 200) {
    if (got->status == 404 && got->text("outcome") == "not_found") return got;
    return refused(target, *got);
  }
  return got;
}

void append_parameter(std::string& path, std::string_view name, std::string_view value) {
  path += path.find('?') == path.npos ? '?' : '&';
  path.append(name).append("=").append(base::percent_encoded(value));
}

unreadable_record read_unreadable(const ordered_json& object) {
  unreadable_record out;
  if (!base::from_hex(base::text_in(object, "record"), out.id)) out.id = {};
  out.why = base::text_in(object, "why");
  return out;
}

bool is_unreadable(const ordered_json& object) {
  return base::text_in(object, "state") == "unreadable";
}

ordered_json act_of(const resolution& change, const std::string& reason) {
  ordered_json out;
  out["reason"] = reason;
  out["force"] = change.force;
  out["wait"] = false;
  if (change.token != 0) out["token"] = change.token;
  if (change.revision) out["revision"] = *change.revision;
  if (change.about) {
    out["key"] = change.about->key;
    out["scope"] = base::to_hex(change.about->scope);
  }
  if (!change.answer) return out;
  const auto& given = *change.answer;
  out["status"] = given.status;
  out["headers"] = ordered_json::array();
  for (const auto& [name, value] : given.headers) {
    out["headers"].push_back(ordered_json::array({name, value}));
  }
  if (!given.body.empty()) out["body_base64"] = base::to_base64(given.body);
  return out;
}

std::optional<resolve_outcome> outcome_of(const reply& got) {
  using enum resolve_outcome;
  if (got.status == 200) return done;
  const auto name = got.text("outcome");
  if (name == "not_found") return not_found;
  if (name == "running") return running;
  if (name == "already_completed") return already_completed;
  if (name == "changed") return changed;
  return std::nullopt;
}

using found_record = std::optional<record_view>;

result<found_record> find_once(const admin_target& target, std::string path, milliseconds timeout) {
  const auto got = get(target, std::move(path), timeout);
  if (!got) return got.error();
  if (got->status == 404) return found_record();
  if (is_unreadable(got->body)) {
    return error(errc::record_unreadable, read_unreadable(got->body).why);
  }
  auto seen = read_record(got->body);
  if (!seen) return strange(target);
  return found_record(*std::move(seen));
}

}  // namespace

awaitable<result<resolve_decision>> remote_records::resolve(resolution request,
                                                            milliseconds timeout) {
  const auto* act = request.completed ? "complete" : request.keep_completed ? "release" : "delete";
  client_request sent;
  sent.method = "POST";
  sent.target = "/api/records/" + base::to_hex(request.id) + "/" + act;
  sent.body = json_line(act_of(request, reason_));
  const auto got = send(target_, std::move(sent), timeout + wait_for_change);
  if (!got) co_return got.error();
  const auto outcome = outcome_of(*got);
  if (!outcome) co_return refused(target_, *got);
  resolve_decision out;
  out.outcome = *outcome;
  const auto& body = got->body;
  out.retry_after = milliseconds(base::member<std::int64_t>(body, "retry_after_ms").value_or(0));
  out.forgets_answer = base::member<bool>(body, "forgets_answer").value_or(false);
  co_return out;
}

awaitable<result<std::optional<record_view>>> remote_records::find(record_id id,
                                                                   milliseconds timeout) {
  const auto path = "/api/records/" + base::to_hex(id) + "?body=";
  auto seen = find_once(target_, path + "no", timeout);
  const auto size = seen && *seen ? (*seen)->body_size : 0;
  if (bodies_ == answer_bodies::left_out || size == 0 || size > body_size_max) co_return seen;
  auto whole = find_once(target_, path + "yes", timeout);
  // A text may be longer in JSON.
  if (!whole && whole.error().code == errc::conflict) co_return seen;
  co_return whole;
}

awaitable<result<list_page>> remote_records::list(list_filter filter, std::string cursor,
                                                  std::size_t limit, milliseconds timeout) {
  std::string path = "/api/records";
  append_parameter(path, "limit", std::to_string(limit));
  append_parameter(path, "cursor", cursor);
  for (const auto& [name, value] : words_of(filter)) append_parameter(path, name, value);
  const auto got = get(target_, std::move(path), timeout);
  if (!got) co_return got.error();
  const auto* const listed = base::find_member(got->body, "records");
  if (listed == nullptr || !listed->is_array()) co_return strange(target_);
  list_page out;
  for (const auto& object : *listed) {
    if (is_unreadable(object)) {
      out.unreadable.push_back(read_unreadable(object));
      continue;
    }
    auto seen = read_record(object);
    if (!seen) co_return strange(target_);
    out.records.push_back(*std::move(seen));
  }
  out.cursor = got->text("cursor");
  co_return out;
}

awaitable<result<counts>> remote_records::count(std::string cursor, milliseconds timeout) {
  std::string path = "/api/counts";
  append_parameter(path, "cursor", cursor);
  const auto got = get(target_, std::move(path), timeout);
  if (!got) co_return got.error();
  const auto* const found = base::find_member(got->body, "counts");
  if (found == nullptr) co_return strange(target_);
  const auto number = [&](const char* name) {
    return base::member<std::uint64_t>(*found, name).value_or(0);
  };
  counts out;
  for (std::size_t i = 1; i <= observed_states; ++i) {
    out.by_state[i] = number(std::string(name_of(static_cast<observed_state>(i))).c_str());
  }
  out.unreadable = number("unreadable");
  out.cursor = got->text("cursor");
  co_return out;
}

}  // namespace onceguard::admin
