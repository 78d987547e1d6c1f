#include "mcp/adcp_result.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

std::string without_name(std::string object, std::string_view name) {
  for (;;) {
    const auto members = members_of(object);
    const auto* found = members ? find(*members, name) : nullptr;
    if (found == nullptr) return object;
    object = without(object, *found);
  }
}

std::string member(std::string_view name, std::string_view value) {
  return json_string(name) + ':' + std::string(value);
}

/// What is no object stays as it is.
std::string repeated_body(std::string body, std::string_view context) {
  const auto members = members_of(body);
  if (!members) return body;
  const bool is_error = find(*members, "adcp_error") != nullptr;
  body = without_name(std::move(body), "context");
  if (!context.empty()) body = with_first(body, member("context", context));
  if (is_error) return body;
  return with_first(without_name(std::move(body), "replayed"), member("replayed", "true"));
}

/// The first element of `content`, if it is the text of an object.
std::string repeated_content(std::string_view content, std::string_view context) {
  const auto elements = elements_of(content);
  if (!elements || elements->empty()) return std::string(content);
  const auto& first = elements->front();
  const auto members = members_of(first.text);
  const auto* text = members ? find_last(*members, "text") : nullptr;
  const auto body = text != nullptr ? string_of(text->text) : std::nullopt;
  if (!body || !is_json(*body) || !members_of(*body)) return std::string(content);
  const auto changed = json_string(repeated_body(*body, context));
  return with_value(content, first, with_value(first.text, *text, changed));
}

/// The protocol's code, and what the buyer can do: `recovery` counts where it does not know the
/// code. A conflict has nothing beside its code and message.
std::string error_of(const refused_call& refused) {
  const auto error_object = [&](std::string_view code, std::string_view more = {}) {
    return '{' + member("code", json_string(code)) + ',' +
           member("message", json_string(refused.text)) + std::string(more) + '}';
  };
  if (refused.outcome == "mismatch") return error_object("IDEMPOTENCY_CONFLICT");
  if (refused.outcome == "scope-missing") {
    return error_object("AUTH_REQUIRED", R"(,"recovery":"correctable")");
  }
  switch (refused.next) {
    case next_step::same_key: {
      const auto wait = std::chrono::ceil<std::chrono::seconds>(refused.retry_after).count();
      return error_object("SERVICE_UNAVAILABLE",
                          R"(,"recovery":"transient","retry_after":)" +
                              std::to_string(std::max<std::int64_t>(wait, 1)));
    }
    case next_step::new_key:
      return error_object("INVALID_REQUEST",
                          R"(,"recovery":"correctable","field":"idempotency_key")");
    case next_step::nothing:
      break;
  }
  return error_object("ONCEGUARD_UNKNOWN", R"(,"recovery":"terminal")");
}

}  // namespace

std::string adcp_repeat(const std::string& result, std::string_view context) {
  auto out = result;
  if (const auto members = members_of(out)) {
    if (const auto* structured = find_last(*members, "structuredContent")) {
      out = with_value(out, *structured, repeated_body(std::string(structured->text), context));
    }
  }
  const auto members = members_of(out);
  const auto* content = members ? find_last(*members, "content") : nullptr;
  if (content == nullptr) return out;
  return with_value(out, *content, repeated_content(content->text, context));
}

std::string adcp_refusal(const std::string& result, const refused_call& refused,
                         std::string_view context) {
  auto body = '{' + member("adcp_error", error_of(refused));
  if (!context.empty()) body += ',' + member("context", context);
  body += '}';
  const auto content = R"([{"type":"text","text":)" + json_string(body) + "}]";
  const auto plain = without_name(result, "content");
  return with_first(plain, member("content", content) + ',' + member("structuredContent", body));
}

}  // namespace onceguard::mcp
