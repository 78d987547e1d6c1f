// Values as senders write and sign them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/form.hpp"

namespace onceguard::webhook {

using base::form_fields;
using base::parse_form;

/// Names and values, sorted by name and then by value, each pair once, with nothing in between:
/// what Twilio signs (https://www.twilio.com/docs/usage/security#validating-requests).
[[nodiscard]] std::string sorted_text(form_fields fields);

/// Seconds since 1970 of "1614265330", or of RFC 3339 in UTC such as "2016-02-18T20:01:35Z" (a
/// fraction is dropped); empty: another text, or a time before 1970.
[[nodiscard]] std::optional<std::int64_t> parse_instant(std::string_view text);

/// CRC-32 as ISO 3309, Ethernet and zlib have it, which PayPal signs in the place of a body. It
/// detects damage, but no attacker.
[[nodiscard]] std::uint32_t crc32_of(std::string_view bytes) noexcept;

}  // namespace onceguard::webhook
