#include "admin/act_request.hpp"

#include <nlohmann/json.hpp>

#include "base/field.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using nlohmann::json;

namespace {

constexpr std::size_t reason_size_max = 1'000;

error wrong(const std::string& fault) { return {errc::invalid_argument, fault}; }

/// RFC 9110, 15.3.5, 15.3.6 and 15.4.5: such an answer ends with its head.
bool has_no_body(std::uint16_t status) { return status == 204 || status == 205 || status == 304; }

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
    auto decoded = from_base64(bytes.get<std::string>());
    if (!decoded || !out->body.empty())
      return wrong("body_base64: base64 was expected, and no body");
    out->body = *std::move(decoded);
  }
  if (has_no_body(out->status) && !out->body.empty()) {
    return wrong("body: an answer with this status has none");
  }
  return answer_ptr(std::move(out));
}

bool is_known(const std::string& member, act which) {
  if (member == "reason" || member == "dry_run" || member == "force") return true;
  return which == act::complete &&
         (member == "status" || member == "headers" || member == "body" || member == "body_base64");
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
  const auto object = json::parse(text, nullptr, false);
  if (!object.is_object()) return wrong("a JSON object was expected");
  for (const auto& [name, value] : object.items()) {
    if (!is_known(name, which)) return wrong("there is no member " + json_string(name, true));
  }
  act_request out;
  const auto reason = object.value("reason", json());
  if (!reason.is_string() || base::trim(reason.get_ref<const std::string&>()).empty()) {
    return wrong("reason: a text is required, for the audit log");
  }
  out.reason = reason.get<std::string>();
  if (out.reason.size() > reason_size_max) return wrong("reason: at most 1000 bytes");
  for (const auto& [name, target] : {std::pair{"dry_run", &out.dry_run}, {"force", &out.force}}) {
    const auto value = object.value(name, json(false));
    if (!value.is_boolean()) return wrong(std::string(name) + ": true or false was expected");
    *target = value.get<bool>();
  }
  if (which == act::complete) {
    auto answer = read_answer(object);
    if (!answer) return answer.error();
    out.answer = *std::move(answer);
  }
  return out;
}

}  // namespace onceguard::admin
