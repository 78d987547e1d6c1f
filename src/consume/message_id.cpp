#include "consume/message_id.hpp"

#include <algorithm>

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "consume/cloud_event.hpp"
#include "json/json_values.hpp"

namespace onceguard::consume {
namespace {

using location = id_part::location;

error no_id(const std::string& why) {
  return {errc::invalid_argument, "the message has no id: " + why};
}

/// Two readers may take different ones.
error id_there_twice(const std::string& position) { return no_id(position + " is there twice"); }

result<std::string> in_property(const messaging::message& received, const std::string& name) {
  const auto* const found = messaging::property_of(received, name);
  if (found == nullptr) return no_id("there is no property " + base::quoted(name));
  const auto count = std::count_if(received.properties.begin(), received.properties.end(),
                                   [&](const auto& each) { return each.first == name; });
  if (count > 1) return id_there_twice("the property " + base::quoted(name));
  return *found;
}

result<std::string> in_header(const messaging::message& received, const std::string& name) {
  const auto* const found = messaging::header_of(received, name);
  if (found == nullptr) return no_id("there is no header " + base::quoted(name));
  const auto count =
      std::count_if(received.headers.begin(), received.headers.end(),
                    [&](const auto& each) { return base::iequals(each.first, name); });
  if (count > 1) return id_there_twice("the header " + base::quoted(name));
  return *found;
}

result<std::string> id_in_json(std::string_view payload, const std::string& pointer) {
  const json_values values(payload);
  if (!values.is_valid()) {
    return no_id("the payload is no JSON that every reader understands alike");
  }
  auto found = values.at(pointer);
  if (found.type == json_value::kind::text) return std::move(found.text);
  return no_id("there is no text and no integer at " + base::quoted(pointer));
}

result<std::string> value_of(const id_part& part, const messaging::message& received) {
  switch (part.source) {
    case location::literal:
      return part.name;
    case location::property:
      return in_property(received, part.name);
    case location::header:
      return in_header(received, part.name);
    case location::json:
      return id_in_json(received.payload, part.name);
    case location::body_hash:
      return base::to_hex(base::sha256_of(received.payload));
    case location::cloud_event:
      return cloud_event_id(received);
  }
  return no_id("the rule has no source");
}

error expected_id_rule(std::string_view text, const std::string& more) {
  return {errc::invalid_argument,
          "expected \"property:NAME\", \"header:NAME\", \"json:/pointer\", \"body-hash\", "
          "\"cloudevents\", or several as in \"{header:a}|{json:/b}\", got " +
              base::quoted(text) + more};
}

/// `whole`: the rule that it is a part of, for the error.
result<id_part> parse_part(std::string_view text, std::string_view whole) {
  if (text == "body-hash") return id_part{location::body_hash, {}};
  const auto colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return expected_id_rule(whole, "");
  const auto kind = text.substr(0, colon);
  std::string name(text.substr(colon + 1));
  if (kind == "property") return id_part{location::property, std::move(name)};
  if (kind == "header") return id_part{location::header, std::move(name)};
  if (kind != "json") return expected_id_rule(whole, "");
  if (is_json_pointer(name)) return id_part{location::json, std::move(name)};
  return expected_id_rule(whole,
                          ": a JSON Pointer begins with a slash, and has ~0 for ~ and ~1 for /");
}

result<id_rule> parse_composed(std::string_view text) {
  id_rule out;
  for (auto rest = text; !rest.empty();) {
    const auto begin = rest.find('{');
    if (begin > 0) out.push_back({location::literal, std::string(rest.substr(0, begin))});
    if (begin == rest.npos) break;
    // Else two messages with different values could make the same id.
    if (begin == 0 && !out.empty())
      return expected_id_rule(text, ": two parts need a text between them");
    const auto end = rest.find('}', begin);
    if (end == rest.npos) return expected_id_rule(text, ": a } is missing");
    auto part = parse_part(rest.substr(begin + 1, end - begin - 1), text);
    if (!part) return part.error();
    out.push_back(std::move(*part));
    rest.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

result<id_rule> parse_id_rule(std::string_view text) {
  if (text == "cloudevents") return id_rule{{location::cloud_event, {}}};
  if (text.find('{') != text.npos) return parse_composed(text);
  auto single = parse_part(text, text);
  if (!single) return single.error();
  return id_rule{std::move(*single)};
}

result<std::string> id_of(const id_rule& rule, const messaging::message& received) {
  std::string out;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    auto value = value_of(rule[i], received);
    if (!value) return value;
    if (rule.size() > 1 && value->empty()) {
      return no_id("the part " + base::quoted(rule[i].name) + " of it is empty");
    }
    // Else "a|b" and "c" would be the id of "a" and "b|c", too.
    const bool ends = i + 1 < rule.size() && rule[i].source != location::literal;
    if (ends && value->find(rule[i + 1].name.front()) != value->npos) {
      return no_id("the part " + base::quoted(rule[i].name) + " of it holds the " +
                   base::quoted(rule[i + 1].name) + " that ends it");
    }
    out += *value;
  }
  return out;
}

}  // namespace onceguard::consume
