// The properties of MQTT 5.0 packets (section 2.2.2).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/mqtt/packet_bytes.hpp"

namespace onceguard::messaging::mqtt {

enum class property_id : std::uint8_t {
  payload_format = 0x01,
  message_expiry = 0x02,
  content_type = 0x03,
  response_topic = 0x08,
  correlation_data = 0x09,
  subscription_id = 0x0b,
  session_expiry = 0x11,
  assigned_client_id = 0x12,
  server_keep_alive = 0x13,
  authentication_method = 0x15,
  authentication_data = 0x16,
  request_problem_information = 0x17,
  will_delay = 0x18,
  request_response_information = 0x19,
  response_information = 0x1a,
  server_reference = 0x1c,
  reason_string = 0x1f,
  receive_maximum = 0x21,
  topic_alias_maximum = 0x22,
  topic_alias = 0x23,
  maximum_qos = 0x24,
  retain_available = 0x25,
  user_property = 0x26,
  maximum_packet_size = 0x27,
  wildcard_subscription_available = 0x28,
  subscription_id_available = 0x29,
  shared_subscription_available = 0x2a,
};

struct property {
  property_id id{};
  std::uint32_t number = 0;  ///< of those that are numbers
  std::string text{};        ///< of texts and binary data; the name of a user property
  std::string value{};       ///< of a user property
};

class properties {
 public:
  void add(property_id id, std::uint32_t number) { all_.push_back({id, number, {}, {}}); }
  void add(property_id id, std::string_view text) {
    all_.push_back({id, 0, std::string(text), {}});
  }
  void add_user(std::string_view name, std::string_view value) {
    all_.push_back({property_id::user_property, 0, std::string(name), std::string(value)});
  }

  [[nodiscard]] const std::vector<property>& all() const noexcept { return all_; }
  [[nodiscard]] bool has(property_id id) const noexcept;
  /// The number of the first one with the id; `otherwise`: there is none.
  [[nodiscard]] std::uint32_t number(property_id id, std::uint32_t otherwise) const noexcept;
  /// The text of the first one with the id; empty: there is none, or it is empty.
  [[nodiscard]] std::string_view text(property_id id) const noexcept;

  /// With their size before them.
  void append_to(std::string& out) const;
  /// Throws `malformed`.
  [[nodiscard]] static properties read(reader& source);

 private:
  std::vector<property> all_;
};

}  // namespace onceguard::messaging::mqtt
