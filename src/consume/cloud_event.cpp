#include "consume/cloud_event.hpp"

#include <array>
#include <optional>

#include <onceguard/key.hpp>

#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "json/json_values.hpp"

namespace onceguard::consume {
namespace {

constexpr std::string_view structured_type = "application/cloudevents";
constexpr std::string_view batch_type = "application/cloudevents-batch";

/// HTTP and NATS; Kafka; AMQP, twice; MQTT 5.
constexpr std::array<std::string_view, 5> prefixes{"ce-", "ce_", "cloudEvents:", "cloudEvents_",
                                                   ""};

error no_event(const std::string& why) {
  return {errc::invalid_argument, "the message has no id of a CloudEvent: " + why};
}

result<std::string> event_id(const std::string& source, const std::string& id) {
  if (source.empty()) return no_event("its source is empty");
  if (id.empty()) return no_event("its id is empty");
  auto out = source + '|' + id;
  // With another '|' in it, two different pairs could make the same text.
  if (out.size() <= key_size_max && source.find('|') == source.npos) return out;
  const auto parts = std::to_string(source.size()) + ' ' + source + id;
  return "cloudevent-sha256:" + base::to_hex(base::sha256_of(parts));
}

bool type_starts_as(std::string_view type, std::string_view begin) {
  return type.size() >= begin.size() && base::iequals(type.substr(0, begin.size()), begin);
}

bool is_event(const json_values& payload, const std::string& position) {
  const auto is_text = [&](const char* name) {
    return payload.at(position + name).type == json_value::kind::text;
  };
  return is_text("/specversion") && is_text("/source") && is_text("/id");
}

result<std::string> id_in(const json_values& payload, const std::string& position) {
  if (!payload.is_valid()) {
    return no_event("its payload is no JSON that every reader understands alike");
  }
  if (!is_event(payload, position))
    return no_event("its payload has no specversion, source and id");
  return event_id(payload.at(position + "/source").text, payload.at(position + "/id").text);
}

result<std::string> id_in_batch(const json_values& payload) {
  // The receiver gets the batch as one message. One id for all would let an event pass that comes
  // again in another batch: that would take effect twice, and nobody would see it.
  if (payload.is_valid() && !payload.lacks("/1")) {
    return no_event(
        "it is a batch of several events, which would be handled as one; let the sender send "
        "batches of one, or single events");
  }
  return id_in(payload, "/0");
}

/// An attribute in binary mode; none: it is not there.
struct attributes {
  std::optional<std::string> source, id;
};

/// With this prefix. errc::invalid_argument: one of them is there twice.
result<attributes> read_attributes(const messaging::message& received, std::string_view prefix) {
  attributes out;
  bool versioned = false;
  for (const auto& [name, value] : received.headers) {
    if (!type_starts_as(name, prefix)) continue;
    const auto attribute = std::string_view(name).substr(prefix.size());
    versioned = versioned || base::iequals(attribute, "specversion");
    const bool is_source = base::iequals(attribute, "source");
    if (!is_source && !base::iequals(attribute, "id")) continue;
    auto& known = is_source ? out.source : out.id;
    if (known) return no_event("its header " + base::quoted(name) + " is there twice");
    known = value;
  }
  // Names without a prefix are of an event only where all of its attributes are there.
  if (prefix.empty() && !(versioned && out.source && out.id)) return attributes();
  return out;
}

/// Of the attributes in the headers; an empty text: there are none.
result<std::string> id_in_headers(const messaging::message& received) {
  std::string out;
  for (const auto prefix : prefixes) {
    const auto read = read_attributes(received, prefix);
    if (!read) {
      if (prefix.empty()) continue;  // perhaps headers of something else
      return read.error();
    }
    if (!read->source && !read->id) continue;
    const std::string begin(prefix);
    if (!read->source) return no_event("its header " + begin + "source is missing");
    if (!read->id) return no_event("its header " + begin + "id is missing");
    auto made = event_id(*read->source, *read->id);
    if (!made) return made;
    if (!out.empty() && out != *made) return no_event("its headers are those of two events");
    out = std::move(*made);
  }
  return out;
}

}  // namespace

result<std::string> cloud_event_id(const messaging::message& received) {
  const auto* type = messaging::property_of(received, "content_type");
  if (type == nullptr) type = messaging::header_of(received, "content-type");
  if (type == nullptr) type = messaging::header_of(received, "content_type");
  const std::string_view content = type == nullptr ? std::string_view() : *type;
  if (type_starts_as(content, batch_type)) return id_in_batch(json_values(received.payload));
  if (type_starts_as(content, structured_type)) return id_in(json_values(received.payload), "");
  auto out = id_in_headers(received);
  if (!out || !out->empty()) return out;
  // Many brokers carry no content type.
  const json_values payload(received.payload);
  if (is_event(payload, "")) return id_in(payload, "");
  return no_event(
      "it has neither the headers of one (ce-id and ce-source, or as its protocol spells them) nor "
      "a payload with specversion, source and id");
}

}  // namespace onceguard::consume
