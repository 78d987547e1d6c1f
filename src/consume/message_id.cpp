#include "consume/message_id.hpp"

#include <onceguard/fingerprint.hpp>

#include "base/hash.hpp"
#include "base/value_text.hpp"
#include "text/json_values.hpp"

namespace onceguard::consume {
namespace {

std::optional<std::string> in_json(std::string_view payload, std::string_view pointer) {
  auto found = json_values(payload).at(pointer);
  if (found.type != json_value::kind::text) return std::nullopt;
  return std::move(found.text);
}

std::optional<std::string> copied(const std::string* text) {
  return text == nullptr ? std::nullopt : std::optional(*text);
}

}  // namespace

result<id_rule> parse_id_rule(std::string_view text) {
  const auto expected = [&](const std::string& more) {
    return error(errc::invalid_argument,
                 "expected \"property:NAME\", \"header:NAME\", \"json:/pointer\" or \"body-hash\", "
                 "got " +
                     base::quoted(text) + more);
  };
  id_rule out;
  if (text == "body-hash") {
    out.source = id_rule::location::body_hash;
    return out;
  }
  const auto colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return expected("");
  const auto kind = text.substr(0, colon);
  out.name = text.substr(colon + 1);
  if (kind == "property") {
    out.source = id_rule::location::property;
  } else if (kind == "header") {
    out.source = id_rule::location::header;
  } else if (kind == "json") {
    out.source = id_rule::location::json;
    if (!is_json_pointer(out.name)) {
      return expected(": a JSON Pointer begins with a slash, and has ~0 for ~ and ~1 for /");
    }
  } else {
    return expected("");
  }
  return out;
}

std::optional<std::string> id_of(const id_rule& rule, const messaging::message& received) {
  switch (rule.source) {
    case id_rule::location::property:
      return copied(messaging::property_of(received, rule.name));
    case id_rule::location::header:
      return copied(messaging::header_of(received, rule.name));
    case id_rule::location::json:
      return in_json(received.payload, rule.name);
    case id_rule::location::body_hash:
      return base::to_hex(base::sha256_of(received.payload));
  }
  return std::nullopt;
}

}  // namespace onceguard::consume
