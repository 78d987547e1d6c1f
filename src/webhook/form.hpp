// What of a form is signed.
#pragma once
#include <string>

#include "base/form.hpp"

namespace onceguard::webhook {

using base::form_fields;
using base::parse_form;

/// Names and values, sorted by name and then by value, each pair once, with nothing in between:
/// what Twilio signs (https://www.twilio.com/docs/usage/security#validating-requests).
[[nodiscard]] std::string sorted_text(form_fields fields);

}  // namespace onceguard::webhook
