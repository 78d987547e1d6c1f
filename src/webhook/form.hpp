// Forms and queries (application/x-www-form-urlencoded), and what of them is signed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceguard::webhook {

using form_fields = std::vector<std::pair<std::string, std::string>>;

/// The decoded names and values, in their order; empty: an escape is malformed.
[[nodiscard]] std::optional<form_fields> parse_form(std::string_view text);

/// Names and values, sorted by name and then by value, each pair once, with nothing in between:
/// what Twilio signs (https://www.twilio.com/docs/usage/security#validating-requests).
[[nodiscard]] std::string sorted_text(form_fields fields);

}  // namespace onceguard::webhook
