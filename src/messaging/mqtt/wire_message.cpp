#include "messaging/mqtt/wire_message.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/value_text.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr std::string_view message_id = "message_id";
constexpr std::string_view order_key = "order_key";
constexpr std::string_view payload_format = "payload_format";

struct named_property {
  std::string_view name;
  property_id id;
};
constexpr std::array<named_property, 3> text_properties{{
    {"content_type", property_id::content_type},
    {"response_topic", property_id::response_topic},
    {"correlation_data", property_id::correlation_data},
}};

[[noreturn]] void refuse(const std::string& why) {
  throw failed{error(errc::invalid_argument, "MQTT can't carry the message: " + why)};
}

void check_mqtt_text(std::string_view text_kind, std::string_view name, std::string_view value) {
  if (is_mqtt_text(name) && is_mqtt_text(value)) return;
  refuse("the " + std::string(text_kind) + ' ' + base::quoted(name) +
         " is no UTF-8 of at most 65535 bytes");
}

/// A server ends the connection at a wrong one.
void set_text(properties& out, const named_property& known, const std::string& value) {
  if (out.has(known.id)) refuse("it has two " + std::string(known.name));
  if (known.id == property_id::correlation_data) {
    if (value.size() > longest_text) refuse("its correlation_data is longer than 65535 bytes");
  } else {
    check_mqtt_text("property", known.name, value);
  }
  if (known.id == property_id::response_topic &&
      (value.empty() || value.find_first_of("+#") != std::string::npos)) {
    refuse("its response_topic is no topic");
  }
  out.add(known.id, std::string_view(value));
}

void set_property(properties& out, const attribute& given) {
  const auto& [name, value] = given;
  if (name == payload_format) {
    if (out.has(property_id::payload_format)) refuse("it has two payload_format");
    if (value != "0" && value != "1") refuse("its payload_format is neither 0 nor 1");
    out.add(property_id::payload_format, std::uint32_t{value == "1"});
    return;
  }
  const auto known = std::find_if(text_properties.begin(), text_properties.end(),
                                  [&](const auto& one) { return one.name == name; });
  // Those of other brokers, and those that a server sets.
  if (known != text_properties.end()) set_text(out, *known, value);
}

properties checked_properties_of(const message& sent) {
  properties out;
  for (const auto& given : sent.properties) set_property(out, given);
  if (const auto* const id = property_of(sent, message_id)) {
    check_mqtt_text("property", message_id, *id);
    out.add_user(message_id, *id);
  }
  if (!sent.order_key.empty()) {
    check_mqtt_text("property", order_key, sent.order_key);
    out.add_user(order_key, sent.order_key);
  }
  for (const auto& [name, value] : sent.headers) {
    check_mqtt_text("header", name, value);
    if (name == message_id || name == order_key) {
      refuse("a header can't have the name " + name);
    }
    out.add_user(name, value);
  }
  return out;
}

}  // namespace

result<properties> properties_of(const message& sent) {
  return caught([&] { return checked_properties_of(sent); });
}

message message_of(const publication& arrived) {
  message out;
  out.payload = arrived.payload;
  for (const auto& one : arrived.details.all()) {
    if (one.id == property_id::user_property) {
      if (one.text == message_id) {
        out.properties.emplace_back(message_id, one.value);  // two are no id: both shall be seen
      } else if (one.text == order_key && out.order_key.empty()) {
        out.order_key = one.value;
      } else {
        out.headers.emplace_back(one.text, one.value);
      }
    } else if (one.id == property_id::payload_format) {
      out.properties.emplace_back(payload_format, std::to_string(one.number));
    } else if (one.id == property_id::message_expiry) {
      out.properties.emplace_back("message_expiry", std::to_string(one.number));
    }
    for (const auto& known : text_properties) {
      if (known.id == one.id) out.properties.emplace_back(known.name, one.text);
    }
  }
  out.properties.emplace_back("topic", arrived.topic);
  if (arrived.retained) out.properties.emplace_back("retained", "yes");
  return out;
}

}  // namespace onceguard::messaging::mqtt
