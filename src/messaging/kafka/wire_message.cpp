#include "messaging/kafka/wire_message.hpp"

#include "base/value_text.hpp"

namespace onceguard::messaging::kafka {
namespace {

constexpr std::string_view id_header = "message_id";

void read_headers(const rd_kafka_message_t& record, message& out) {
  rd_kafka_headers_t* all = nullptr;
  if (rd_kafka_message_headers(&record, &all) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(all, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    std::string text(value == nullptr ? "" : static_cast<const char*>(value), size);
    if (name == id_header) {  // two are no id: whoever looks shall see both
      out.properties.emplace_back(id_header, std::move(text));
    } else {
      out.headers.emplace_back(name, std::move(text));
    }
  }
}

bool add(rd_kafka_headers_t* all, std::string_view name, const std::string& value) {
  return rd_kafka_header_add(all, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                             static_cast<ssize_t>(value.size())) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

std::string record_id_of(const rd_kafka_message_t& record) {
  return std::string(rd_kafka_topic_name(record.rkt)) + '/' + std::to_string(record.partition) +
         '/' + std::to_string(record.offset);
}

message message_of(const rd_kafka_message_t& record) {
  message out;
  if (record.payload != nullptr) {
    out.payload.assign(static_cast<const char*>(record.payload), record.len);
  }
  if (record.key != nullptr) {
    out.order_key.assign(static_cast<const char*>(record.key), record.key_len);
  }
  read_headers(record, out);
  out.properties.emplace_back("record_id", record_id_of(record));
  const auto sent_at = rd_kafka_message_timestamp(&record, nullptr);
  if (sent_at >= 0) out.properties.emplace_back("sent_at", std::to_string(sent_at));
  if (record.payload == nullptr) out.properties.emplace_back("tombstone", "yes");
  return out;
}

headers_handle headers_of(const message& sent) {
  headers_handle out(rd_kafka_headers_new(sent.headers.size() + 1));
  const auto* const id = property_of(sent, id_header);
  bool complete = id == nullptr || add(out.get(), id_header, *id);
  for (const auto& [name, value] : sent.headers) complete = complete && add(out.get(), name, value);
  if (!complete) out.reset();
  return out;
}

std::string fault_of(const message& sent) {
  for (const auto& [name, value] : sent.headers) {
    if (name.empty()) return "a header has no name";
    if (name.find('\0') != name.npos) return "the header name " + base::quoted(name) + " has a NUL";
  }
  return {};
}

}  // namespace onceguard::messaging::kafka
