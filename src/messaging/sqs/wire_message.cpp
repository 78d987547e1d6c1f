#include "messaging/sqs/wire_message.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/number_in.hpp"
#include "base/random.hpp"
#include "base/utf8.hpp"
#include "base/value_text.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

using nlohmann::json;

constexpr std::string_view id_attribute = "message_id";
constexpr std::string_view encoding_attribute = "onceguard_encoding";
constexpr std::string_view empty_type = "String.empty";
constexpr std::string_view empty_word = "empty";  // stands where Amazon takes no empty text
constexpr std::string_view single_group = "onceguard.single.";
constexpr std::string_view random_id = "onceguard.random.";
constexpr std::size_t most_attributes = 10;
constexpr std::size_t longest_attribute_name = 256;
constexpr std::size_t longest_fifo_id = 128;

/// Is it UTF-8, of nothing but characters of XML 1.0? Of others Amazon takes no message, or
/// replaces them.
bool is_plain_text(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto [c, size] = base::first_character(bytes);
    const bool control = c < 0x20 && c != '\t' && c != '\n' && c != '\r';
    if (size == 0 || control || c == 0xfffe || c == 0xffff) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

/// The member's text; empty: it has none.
std::string_view member_text(const json& object, const char* name) {
  const auto* const found = base::find_member(object, name);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

// --- from the queue -----------------------------------------------------------------------------

std::string attribute_value(const json& given) {
  const auto type = member_text(given, "DataType");
  if (type == empty_type) return {};
  if (type.starts_with("Binary")) {
    return base::from_base64(member_text(given, "BinaryValue")).value_or(std::string());
  }
  return std::string(member_text(given, "StringValue"));
}

/// False: this is no encoding of ours, and the body stays as it is.
bool decode_payload(std::string& payload, std::string_view encoding) {
  if (encoding == empty_word) {
    payload.clear();
    return true;
  }
  if (encoding != "base64") return false;
  auto bytes = base::from_base64(payload);
  if (bytes) payload = *std::move(bytes);
  return bytes.has_value();
}

received_message message_of(const json& given, bool fifo) {
  received_message out;
  out.receipt = member_text(given, "ReceiptHandle");
  auto& content = out.content;
  content.payload = member_text(given, "Body");
  const auto attributes = given.value("MessageAttributes", json::object());
  for (const auto& [name, value] : attributes.items()) {
    auto text = attribute_value(value);
    if (name == id_attribute) {
      content.properties.emplace_back(name, std::move(text));
    } else if (name != encoding_attribute || !decode_payload(content.payload, text)) {
      content.headers.emplace_back(name, std::move(text));
    }
  }
  const auto system = given.value("Attributes", json::object());
  const auto deduplication = member_text(system, "MessageDeduplicationId");
  if (fifo && content.properties.empty() && !deduplication.empty() &&
      !deduplication.starts_with(random_id)) {
    content.properties.emplace_back(id_attribute, deduplication);
  }
  content.properties.emplace_back("sqs_message_id", member_text(given, "MessageId"));
  if (const auto sent = member_text(system, "SentTimestamp"); !sent.empty()) {
    content.properties.emplace_back("sent_at", sent);
  }
  const auto group = member_text(system, "MessageGroupId");
  if (fifo && !group.starts_with(single_group)) content.order_key = group;
  const auto count = member_text(system, "ApproximateReceiveCount");
  out.count = base::number_in<std::uint32_t>(count, 1).value_or(1);
  return out;
}

// --- to the queue -------------------------------------------------------------------------------

/// Letters, digits and punctuation.
bool is_fifo_id(std::string_view text) {
  return !text.empty() && text.size() <= longest_fifo_id &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string attribute_digest(std::string_view text) { return base::to_hex(base::sha256_of(text)); }

std::string fifo_id(std::string_view wanted) {
  const bool ours = wanted.starts_with(single_group) || wanted.starts_with(random_id);
  return is_fifo_id(wanted) && !ours ? std::string(wanted) : "sha256-" + attribute_digest(wanted);
}

std::string fresh_id() {
  std::array<unsigned char, 16> bytes{};
  base::random_bytes(bytes);
  return std::string(random_id) + base::to_hex(bytes);
}

bool is_attribute_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= longest_attribute_name &&
         std::all_of(name.begin(), name.end(), is_good) && !name.starts_with('.') &&
         !name.ends_with('.') && name.find("..") == name.npos && !name.starts_with("AWS.") &&
         !name.starts_with("Amazon.");
}

/// Collects attributes, and what they add to the message's size.
class attribute_set {
 public:
  explicit attribute_set(const std::string& queue) : queue_(queue) {}

  void add(std::string_view name, std::string_view value) {
    if (!is_attribute_name(name)) refuse("can't be the name of an attribute", name);
    const std::string key(name);
    if (all_.contains(key)) refuse("is there twice", name);
    if (value.empty()) {
      all_[key] = {{"DataType", empty_type}, {"StringValue", empty_word}};
      size_ += name.size() + empty_type.size() + empty_word.size();
    } else if (is_plain_text(value)) {
      all_[key] = {{"DataType", "String"}, {"StringValue", value}};
      size_ += name.size() + std::string_view("String").size() + value.size();
    } else {
      all_[key] = {{"DataType", "Binary"}, {"BinaryValue", base::to_base64(value)}};
      // Of the value Amazon counts the bytes; other servers may count their base64.
      size_ += name.size() + std::string_view("Binary").size() + 4 * ((value.size() + 2) / 3);
    }
    if (all_.size() > most_attributes) refuse("is one attribute too many, of at most 10", name);
  }
  [[nodiscard]] const json& all() const noexcept { return all_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  [[noreturn]] void refuse(const std::string& why, std::string_view name) const {
    throw failed{error(errc::conflict, queue_ + ": the header " + base::quoted(name) + ' ' + why)};
  }

  const std::string& queue_;
  json all_ = json::object();
  std::size_t size_ = 0;
};

}  // namespace

std::vector<received_message> messages_of(const std::string& name, const std::string& answer,
                                          bool fifo) {
  const auto parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object()) {
    throw failed{error(errc::conflict, name + ": the answer of the server is no JSON object")};
  }
  std::vector<received_message> out;
  for (const auto& each : base::list_in(parsed, "Messages")) {
    if (each.is_object()) out.push_back(message_of(each, fifo));
  }
  return out;
}

outgoing_message outgoing_of(const std::string& name, const message& sent, std::size_t id,
                             bool fifo) {
  attribute_set attributes(name);
  const auto* const message_id = property_of(sent, id_attribute);
  if (message_id != nullptr) attributes.add(id_attribute, *message_id);
  std::string body;
  if (sent.payload.empty()) {
    body = empty_word;
    attributes.add(encoding_attribute, empty_word);
  } else if (is_plain_text(sent.payload)) {
    body = sent.payload;
  } else {
    body = base::to_base64(sent.payload);
    attributes.add(encoding_attribute, "base64");
  }
  for (const auto& [header, value] : sent.headers) attributes.add(header, value);
  outgoing_message out;
  out.id = std::to_string(id);
  out.size = body.size() + attributes.size();
  json entry{{"Id", out.id}, {"MessageBody", std::move(body)}};
  if (!attributes.all().empty()) entry["MessageAttributes"] = attributes.all();
  if (fifo) {
    const auto unique =
        message_id != nullptr && !message_id->empty() ? fifo_id(*message_id) : fresh_id();
    // Amazon drops what has the id of a message of the last 5 minutes, and lets the messages of a
    // group wait for one another: one that names neither gets both for itself.
    entry["MessageDeduplicationId"] = unique;
    entry["MessageGroupId"] = sent.order_key.empty()
                                  ? std::string(single_group) + attribute_digest(unique)
                                  : fifo_id(sent.order_key);
  }
  out.entry = entry.dump();
  return out;
}

}  // namespace onceguard::messaging::sqs
