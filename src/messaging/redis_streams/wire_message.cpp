#include "messaging/redis_streams/wire_message.hpp"

#include <map>
#include <optional>

#include "base/hex.hpp"
#include "json/scalars.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::string_view payload_field = "payload";
constexpr std::string_view id_field = "message_id";

std::string hex_of(std::string_view bytes) {
  return base::to_hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

/// The text in quotation marks; none: it is not UTF-8.
std::optional<std::string> json_text_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  json_cursor cursor{out};
  std::string read;
  if (!read_json_string(cursor, read)) return std::nullopt;
  return out;
}

std::string json_name_of(std::string_view name) {
  return json_text_of(name).value_or("\"hex:" + hex_of(name) + '"');
}

std::string json_value_of(std::string_view value) {
  return json_text_of(value).value_or("{\"hex\":\"" + hex_of(value) + "\"}");
}

std::string json_object_of(const reply& fields) {
  std::map<std::string, std::string> members;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    members[json_name_of(fields.at(i).text())] = json_value_of(fields.at(i + 1).text());
  }
  std::string out = "{";
  for (const auto& [name, value] : members) {
    if (out.size() > 1) out += ',';
    out.append(name).append(":").append(value);
  }
  return out + '}';
}

}  // namespace

message message_of(std::string_view entry_id, const reply& fields) {
  message out;
  std::optional<std::string_view> payload;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const auto name = fields.at(i).text();
    const auto value = fields.at(i + 1).text();
    if (name == payload_field && !payload) {
      payload = value;
    } else if (name == id_field) {
      out.properties.emplace_back(id_field, value);  // two are no id: whoever looks shall see both
    } else {
      out.headers.emplace_back(name, value);
    }
  }
  out.payload = payload ? std::string(*payload) : json_object_of(fields);
  out.properties.emplace_back("entry_id", entry_id);
  return out;
}

void append_fields(command& addition, const message& sent) {
  addition.add(payload_field).add(sent.payload);
  if (const auto* const id = property_of(sent, id_field)) addition.add(id_field).add(*id);
  for (const auto& [name, value] : sent.headers) {
    if (name == payload_field || name == id_field) {
      throw failed{error(errc::invalid_argument,
                         "a message for a stream of Redis can't have a header " + name)};
    }
    addition.add(name).add(value);
  }
}

}  // namespace onceguard::messaging::redis_streams
