#include "admin/act_request.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <onceguard/http_message.hpp>

#include "base/base64.hpp"
#include "base/field.hpp"
#include "base/hash.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using nlohmann::json;

namespace {

constexpr std::size_t reason_size_max = 1'000;

error wrong(const std::string& fault) { return {errc::invalid_argument, fault}; }

result<void> read_headers(const json& list, answer& out) {
  if (!list.is_array()) return wrong("headers: an array of [name, value] was expected");
  for (const auto& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return wrong("headers: an array of [name, value] was expected");
    }
    const auto name = pair[0].get<std::string>();
    const auto value = pair[1].get<std::string>();
    if (!http1::is_token(name)) return wrong("headers: a name is no token");
    if (!http1::is_field_value(value)) return wrong("headers: a value has control characters");
    if (http::is_hop_by_hop(name) || base::iequals(name, "date")) {
      return wrong("headers: " + name + " is made anew for each answer and can't be kept");
    }
    out.headers.emplace_back(name, value);
  }
  return {};
}

result<answer_ptr> read_answer(const json& object) {
  const bool given = object.contains("status") || object.contains("headers") ||
                     object.contains("body") || object.contains("body_base64");
  if (!given) return answer_ptr();
  auto out = std::make_shared<answer>();
  const auto& status = object.value("status", json(200));
  if (!status.is_number_integer() || status < 200 || status > 599) {
    return wrong("status: a number from 200 to 599 was expected");
  }
  out->status = status.get<std::uint16_t>();
  if (object.contains("headers")) {
    if (const auto read = read_headers(object["headers"], *out); !read) return read.error();
  }
  const auto text = object.value("body", json(""));
  const auto bytes = object.value("body_base64", json(""));
  if (!text.is_string() || !bytes.is_string()) return wrong("body: a text was expected");
  out->body = text.get<std::string>();
  if (object.contains("body_base64")) {
    auto decoded = base::from_base64(bytes.get<std::string>());
    if (!decoded || !out->body.empty())
      return wrong("body_base64: base64 was expected, and no body");
    out->body = *std::move(decoded);
  }
  if (http::has_no_body(out->status) && !out->body.empty()) {
    return wrong("body: an answer with this status has none");
  }
  return answer_ptr(std::move(out));
}

constexpr std::array common_members{"reason", "dry_run", "force", "wait"};
constexpr std::array answer_members{"status", "headers", "body", "body_base64"};
constexpr std::array record_members{"key", "scope", "token"};
constexpr std::array selection_members{"filter", "limit", "cursor"};

template <class Names>
bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The object, if all its members are known.
result<json> read_object(std::string_view text, act which, bool selects) {
  auto object = json::parse(text, nullptr, false);
  if (!object.is_object()) return wrong("a JSON object was expected");
  for (const auto& [name, value] : object.items()) {
    const bool known = has(common_members, name) ||
                       (which == act::complete && has(answer_members, name)) ||
                       (selects ? has(selection_members, name) : has(record_members, name));
    if (!known) return wrong("there is no member " + json_string(name, true));
  }
  return object;
}

result<void> read_flag(const json& object, const char* name, bool& out) {
  const auto value = object.value(name, json(out));
  if (!value.is_boolean()) return wrong(std::string(name) + ": true or false was expected");
  out = value.get<bool>();
  return {};
}

result<void> read_common(const json& object, act which, act_request& out) {
  const auto reason = object.value("reason", json());
  if (!reason.is_string() || base::trim(reason.get_ref<const std::string&>()).empty()) {
    return wrong("reason: a text is required, for the audit log");
  }
  out.reason = reason.get<std::string>();
  if (out.reason.size() > reason_size_max) return wrong("reason: at most 1000 bytes");
  if (auto read = read_flag(object, "dry_run", out.dry_run); !read) return read;
  if (auto read = read_flag(object, "force", out.force); !read) return read;
  if (auto read = read_flag(object, "wait", out.wait); !read) return read;
  if (which != act::complete) return {};
  auto answer = read_answer(object);
  if (!answer) return answer.error();
  out.answer = *std::move(answer);
  return {};
}

result<std::string> read_text(const json& object, const char* name) {
  const auto value = object.value(name, json(""));
  if (!value.is_string()) return wrong(std::string(name) + ": a text was expected");
  return value.get<std::string>();
}

result<void> add_condition(const std::string& name, const json& value, record_filter& out) {
  if (value.is_string()) return out.add(name, value.get<std::string>());
  if (value.is_boolean()) return out.add(name, value.get<bool>() ? "true" : "false");
  if (name != "state" || !value.is_array()) return wrong("filter: " + name + ": expected a text");
  if (value.empty()) return wrong("filter: state: a state at least was expected");
  for (const auto& one : value) {
    if (!one.is_string()) return wrong("filter: state: expected texts");
    if (auto added = out.add(name, one.get<std::string>()); !added) return added;
  }
  return {};
}

result<record_filter> read_filter(const json& object) {
  const auto conditions = object.value("filter", json());
  if (!conditions.is_object() || conditions.empty()) {
    return wrong("filter: an object with a condition at least was expected");
  }
  record_filter out;
  for (const auto& [name, value] : conditions.items()) {
    if (auto added = add_condition(name, value, out); !added) return added.error();
  }
  if (!out.any()) return wrong("filter: attention: false chooses nothing; add a condition");
  out.limit_to_unknown();
  return out;
}

}  // namespace

std::string_view name_of(act which) noexcept {
  switch (which) {
    case act::release:
      return "release";
    case act::complete:
      return "complete";
    case act::erase:
      break;
  }
  return "delete";
}

result<act_request> read_act(std::string_view text, act which) {
  const auto object = read_object(text, which, false);
  if (!object) return object.error();
  act_request out;
  if (auto read = read_common(*object, which, out); !read) return read.error();
  const auto key = read_text(*object, "key");
  const auto scope = read_text(*object, "scope");
  if (!key || !scope) return key ? scope.error() : key.error();
  if (!key->empty()) out.key = *key;
  if (digest whole{}; base::from_hex(*scope, whole)) out.scope = whole;
  if (!scope->empty() && !out.scope) return wrong("scope: a digest of 64 hex digits was expected");
  if (object->contains("token")) {
    const auto& given = (*object)["token"];
    if (!given.is_number_unsigned() || given == 0) {
      return wrong("token: that of the record as it was read was expected");
    }
    out.token = given.get<token>();
  }
  return out;
}

result<selection_request> read_selection(std::string_view text, act which) {
  const auto object = read_object(text, which, true);
  if (!object) return object.error();
  selection_request out;
  out.act.dry_run = true;
  if (auto read = read_common(*object, which, out.act); !read) return read.error();
  auto filter = read_filter(*object);
  if (!filter) return filter.error();
  out.filter = *std::move(filter);
  const auto cursor = read_text(*object, "cursor");
  if (!cursor) return cursor.error();
  out.cursor = *cursor;
  const auto limit = object->value("limit", json(out.limit));
  if (!limit.is_number_integer() || limit < 1 || limit > selection_request::limit_max) {
    return wrong("limit: a number from 1 to 1000 was expected");
  }
  out.limit = limit.get<std::size_t>();
  return out;
}

}  // namespace onceguard::admin
