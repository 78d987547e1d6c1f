// Reason codes of MQTT 5.0 (section 2.4).
#pragma once
#include <cstdint>
#include <string>

#include "messaging/mqtt/properties.hpp"

namespace onceguard::messaging::mqtt {

inline constexpr std::uint8_t no_matching_subscribers = 0x10;
inline constexpr std::uint8_t first_failure = 0x80;  ///< from here on, codes are failures
inline constexpr std::uint8_t unsupported_version = 0x84;
inline constexpr std::uint8_t client_id_not_valid = 0x85;
inline constexpr std::uint8_t wrong_login = 0x86;
inline constexpr std::uint8_t not_authorized = 0x87;
inline constexpr std::uint8_t session_taken_over = 0x8e;
inline constexpr std::uint8_t topic_name_invalid = 0x90;
inline constexpr std::uint8_t packet_id_in_use = 0x91;
inline constexpr std::uint8_t quota_exceeded = 0x97;

/// "quota exceeded (0x97): the server's own words".
[[nodiscard]] std::string words_of(std::uint8_t reason, const properties& details);

}  // namespace onceguard::messaging::mqtt
