#include "admin/resolve_request.hpp"

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <onceguard/http_message.hpp>

#include "admin/act_reason.hpp"
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "http/forwarded_fields.hpp"
#include "http1/message.hpp"

namespace onceguard::admin {

using nlohmann::json;
using reader = base::json_reader<json>;

namespace {

void add_field(const reader& pair, answer& out) {
  auto [name, value] = pair.pair();
  if (!http1::is_token(name)) pair.refuse("the name is no token");
  if (!http1::is_field_value(value)) pair.refuse("the value has control characters");
  if (http::is_hop_by_hop(name) || base::iequals(name, "date")) {
    pair.refuse(name + " is made anew for each answer and can't be kept");
  }
  out.headers.emplace_back(std::move(name), std::move(value));
}

answer_ptr read_answer(const reader& object) {
  const auto status = object.find("status");
  const auto headers = object.find("headers");
  const auto body = object.find("body");
  const auto bytes = object.find("body_base64");
  if (!status && !headers && !body && !bytes) return nullptr;
  auto out = std::make_shared<answer>();
  out->status = status ? static_cast<std::uint16_t>(status->number(200, 599)) : 200;
  if (headers) headers->each([&](const reader& pair) { add_field(pair, *out); });
  if (body) out->body = body->text();
  if (bytes) {
    auto decoded = base::from_base64(bytes->text());
    if (!decoded) bytes->refuse("is no base64");
    if (!out->body.empty()) bytes->refuse("there is a body, too");
    out->body = *std::move(decoded);
  }
  if (http::has_no_body(out->status) && !out->body.empty()) {
    object.at(body ? "body" : "body_base64").refuse("an answer with this status has none");
  }
  return out;
}

/// What every act may say; it has no members but these and `others`.
void read_common(const reader& object, act which, std::vector<std::string_view> others,
                 resolve_request& out) {
  others.insert(others.end(), {"reason", "dry_run", "force", "wait"});
  if (which == act::complete) {
    others.insert(others.end(), {"status", "headers", "body", "body_base64"});
  }
  object.has_only(others);
  out.reason = read_reason(object);
  object.take("dry_run", out.dry_run);
  object.take("force", out.force);
  object.take("wait", out.wait);
  if (which == act::complete) out.answer = read_answer(object);
}

result<void> add_condition(const std::string& name, const reader& value, record_filter& out) {
  if (value.json().is_boolean()) return out.add(name, value.as<bool>() ? "true" : "false");
  if (name != "state" || !value.json().is_array()) return out.add(name, value.text());
  if (value.json().empty()) value.refuse("is empty");
  result<void> added;
  value.each([&](const reader& one) {
    if (added) added = out.add(name, one.text());
  });
  return added;
}

record_filter read_filter(const reader& conditions) {
  record_filter out;
  conditions.members([&](const std::string& name, const reader& value) {
    if (const auto added = add_condition(name, value, out); !added) {
      throw base::malformed_json{added.error().detail};  // it names the condition
    }
  });
  if (conditions.json().empty()) conditions.refuse("has no condition");
  if (!out.any()) conditions.refuse("attention: false chooses nothing; add a condition");
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

result<resolve_request> read_act(std::string_view text, act which) {
  return base::read_json<json>(text, "the body", [which](const reader& object) {
    resolve_request out;
    read_common(object, which, {"key", "scope", "token", "revision", "keep_completed"}, out);
    object.take("key", out.key);
    if (out.key && out.key->empty()) out.key.reset();
    std::string scope;
    object.take("scope", scope);
    if (digest whole{}; base::from_hex(scope, whole)) out.scope = whole;
    if (!scope.empty() && !out.scope) object.at("scope").refuse("is no digest of 64 hex digits");
    object.take("keep_completed", out.keep_completed);
    object.take("token", out.token);
    if (const auto revision = object.find("revision")) {
      out.revision = revision->as<std::int64_t>();
    }
    if (out.revision && !object.find("token")) {
      object.at("revision").refuse("is that of a lease, and its token is missing");
    }
    if (object.find("token") && out.token == 0) {
      object.at("token").refuse("is not that of the record as it was read");
    }
    return out;
  });
}

result<selection_request> read_selection(std::string_view text, act which) {
  return base::read_json<json>(text, "the body", [which](const reader& object) {
    selection_request out;
    out.act.dry_run = true;
    read_common(object, which, {"filter", "limit", "cursor"}, out.act);
    out.filter = read_filter(object.at("filter"));
    object.take("cursor", out.cursor);
    if (const auto limit = object.find("limit")) {
      out.limit = limit->number(1, selection_request::limit_max);
    }
    return out;
  });
}

}  // namespace onceguard::admin
