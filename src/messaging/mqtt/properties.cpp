#include "messaging/mqtt/properties.hpp"

#include <algorithm>

namespace onceguard::messaging::mqtt {
namespace {

enum class property_form : std::uint8_t { byte, u16, u32, varint, text, pair };

property_form form_of(property_id id) {
  using enum property_id;
  switch (id) {
    case payload_format:
    case request_problem_information:
    case request_response_information:
    case maximum_qos:
    case retain_available:
    case wildcard_subscription_available:
    case subscription_id_available:
    case shared_subscription_available:
      return property_form::byte;
    case server_keep_alive:
    case receive_maximum:
    case topic_alias_maximum:
    case topic_alias:
      return property_form::u16;
    case message_expiry:
    case session_expiry:
    case will_delay:
    case maximum_packet_size:
      return property_form::u32;
    case subscription_id:
      return property_form::varint;
    case content_type:
    case response_topic:
    case correlation_data:
    case assigned_client_id:
    case authentication_method:
    case authentication_data:
    case response_information:
    case server_reference:
    case reason_string:
      return property_form::text;
    case user_property:
      return property_form::pair;
  }
  throw malformed{"a property that MQTT 5 does not have"};
}

void append(std::string& out, const property& one) {
  append_byte(out, static_cast<unsigned>(one.id));
  switch (form_of(one.id)) {
    case property_form::byte:
      return append_byte(out, one.number & 0xffU);
    case property_form::u16:
      return append_u16(out, static_cast<std::uint16_t>(one.number));
    case property_form::u32:
      return append_u32(out, one.number);
    case property_form::varint:
      return append_varint(out, one.number);
    case property_form::text:
      return append_text(out, one.text);
    case property_form::pair:
      append_text(out, one.text);
      return append_text(out, one.value);
  }
}

property read_one(reader& source) {
  property out;
  out.id = static_cast<property_id>(source.byte());
  switch (form_of(out.id)) {
    case property_form::byte:
      out.number = source.byte();
      break;
    case property_form::u16:
      out.number = source.u16();
      break;
    case property_form::u32:
      out.number = source.u32();
      break;
    case property_form::varint:
      out.number = source.varint();
      break;
    case property_form::text:
      out.text = source.text();
      break;
    case property_form::pair:
      out.text = source.text();
      out.value = source.text();
      break;
  }
  return out;
}

const property* find(const std::vector<property>& all, property_id id) noexcept {
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const property& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool properties::has(property_id id) const noexcept { return find(all_, id) != nullptr; }

std::uint32_t properties::number(property_id id, std::uint32_t otherwise) const noexcept {
  const auto* const found = find(all_, id);
  return found == nullptr ? otherwise : found->number;
}

std::string_view properties::text(property_id id) const noexcept {
  const auto* const found = find(all_, id);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

void properties::append_to(std::string& out) const {
  std::string bytes;
  for (const auto& one : all_) append(bytes, one);
  append_varint(out, bytes.size());
  out += bytes;
}

properties properties::read(reader& source) {
  properties out;
  reader inside(source.bytes(source.varint()));
  while (!inside.at_end()) out.all_.push_back(read_one(inside));
  return out;
}

}  // namespace onceguard::messaging::mqtt
