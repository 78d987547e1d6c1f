#include "messaging/rabbitmq/wire_message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/number_in.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

using basic_head = amqp_basic_properties_t;

struct text_property {
  std::string_view name;
  amqp_flags_t flag;
  amqp_bytes_t basic_head::*field;
};

constexpr std::array<text_property, 7> text_properties{{
    {"message_id", AMQP_BASIC_MESSAGE_ID_FLAG, &basic_head::message_id},
    {"correlation_id", AMQP_BASIC_CORRELATION_ID_FLAG, &basic_head::correlation_id},
    {"type", AMQP_BASIC_TYPE_FLAG, &basic_head::type},
    {"content_type", AMQP_BASIC_CONTENT_TYPE_FLAG, &basic_head::content_type},
    {"content_encoding", AMQP_BASIC_CONTENT_ENCODING_FLAG, &basic_head::content_encoding},
    {"app_id", AMQP_BASIC_APP_ID_FLAG, &basic_head::app_id},
    {"reply_to", AMQP_BASIC_REPLY_TO_FLAG, &basic_head::reply_to},
}};

constexpr std::string_view timestamp = "timestamp";
/// Quorum queues add it to messages that they deliver again.
constexpr std::string_view count_header = "x-delivery-count";
constexpr std::size_t frame_overhead = 64;  // of a frame with a head, generously

std::optional<std::int64_t> integer_of(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_I8:
      return field.value.i8;
    case AMQP_FIELD_KIND_U8:
      return field.value.u8;
    case AMQP_FIELD_KIND_I16:
      return field.value.i16;
    case AMQP_FIELD_KIND_U16:
      return field.value.u16;
    case AMQP_FIELD_KIND_I32:
      return field.value.i32;
    case AMQP_FIELD_KIND_U32:
      return field.value.u32;
    case AMQP_FIELD_KIND_I64:
      return field.value.i64;
    default:
      return std::nullopt;
  }
}

std::string number_text(double value) {
  std::array<char, 32> out{};
  const auto end = std::to_chars(out.data(), out.data() + out.size(), value).ptr;
  return {out.data(), end};
}

/// Nothing where the field is neither a text nor a number.
std::optional<std::string> field_text(const amqp_field_value_t& field) {
  if (const auto number = integer_of(field)) return std::to_string(*number);
  switch (field.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return std::string(text_of(field.value.bytes));
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      return std::to_string(field.value.u64);
    case AMQP_FIELD_KIND_BOOLEAN:
      return field.value.boolean != 0 ? "true" : "false";
    case AMQP_FIELD_KIND_F32:
      return number_text(static_cast<double>(field.value.f32));
    case AMQP_FIELD_KIND_F64:
      return number_text(field.value.f64);
    default:
      return std::nullopt;
  }
}

void read_headers(const amqp_table_t& table, received_content& out) {
  for (int i = 0; i < table.num_entries; ++i) {
    const auto& entry = table.entries[i];
    const auto name = text_of(entry.key);
    const auto count = integer_of(entry.value);
    if (name == count_header && count && *count >= 0) {
      // No header of the sender's: the message is the same as at its first delivery.
      out.deliveries_before = static_cast<std::uint32_t>(std::min<std::int64_t>(*count, 1 << 30));
    } else if (auto text = field_text(entry.value)) {
      out.received.headers.emplace_back(name, std::move(*text));
    }
  }
}

error not_carried(const std::string& why) {
  return {errc::conflict, "AMQP can't carry the message: " + why};
}

result<void> set_timestamp(basic_head& out, const std::string& value) {
  const auto seconds = base::number_in<std::uint64_t>(value);
  if (!seconds) return not_carried("its timestamp is no number of seconds");
  out.timestamp = *seconds;
  out._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
  return {};
}

result<void> set_property(basic_head& out, const attribute& property) {
  const auto& name = property.first;
  const auto& value = property.second;
  if (name == timestamp) return set_timestamp(out, value);
  const auto known = [&](const text_property& one) { return one.name == name; };
  const auto found = std::find_if(text_properties.begin(), text_properties.end(), known);
  if (found == text_properties.end()) return {};
  if (value.size() > longest_text) return not_carried("its " + name + " is longer than 255 bytes");
  out._flags |= found->flag;
  out.*found->field = bytes_of(value);
  return {};
}

amqp_table_entry_t entry_of(const attribute& header) {
  amqp_table_entry_t out{};
  out.key = bytes_of(header.first);
  out.value.kind = AMQP_FIELD_KIND_UTF8;
  out.value.value.bytes = bytes_of(header.second);
  return out;
}

}  // namespace

received_content read_head(const amqp_basic_properties_t& sent) {
  received_content out;
  for (const auto& property : text_properties) {
    if ((sent._flags & property.flag) == 0) continue;
    out.received.properties.emplace_back(property.name, text_of(sent.*property.field));
  }
  if ((sent._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) {
    out.received.properties.emplace_back(timestamp, std::to_string(sent.timestamp));
  }
  if ((sent._flags & AMQP_BASIC_HEADERS_FLAG) != 0) read_headers(sent.headers, out);
  return out;
}

result<void> append_message_head(std::string& out, amqp_channel_t channel, const message& sent,
                                 std::size_t frame_max) {
  basic_head fields{};
  fields._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  // Else a restart of the broker loses what it has confirmed.
  fields.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  for (const auto& property : sent.properties) {
    if (auto known = set_property(fields, property); !known) return known;
  }
  std::vector<amqp_table_entry_t> entries;
  std::size_t size = method_size;  // enough for all properties
  for (const auto& header : sent.headers) {
    if (header.first.size() > longest_text) {
      return not_carried("the name of a header is longer than 255 bytes");
    }
    entries.push_back(entry_of(header));
    size += header.first.size() + header.second.size() + frame_overhead;
  }
  if (!entries.empty()) {
    fields._flags |= AMQP_BASIC_HEADERS_FLAG;
    fields.headers = {static_cast<int>(entries.size()), entries.data()};
  }
  size = std::min(size, frame_max - frame_overhead);
  if (append_head(out, channel, sent.payload.size(), fields, size)) return {};
  return not_carried("its properties and headers are larger than a frame");
}

}  // namespace onceguard::messaging::rabbitmq
