#include "config/policy/profiles.hpp"

#include <array>

namespace onceguard::config {
namespace {

constexpr std::string_view ietf =
    "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07";
constexpr std::string_view stripe = "https://docs.stripe.com/api/idempotent_requests";
constexpr std::string_view stripe_errors = "https://docs.stripe.com/error-low-level";
constexpr std::string_view paypal = "https://developer.paypal.com/api/rest/reference/idempotency/";
constexpr std::string_view paypal_errors = "https://developer.paypal.com/api/rest/responses/";
constexpr std::string_view paypal_times = "https://developer.paypal.com/docs/api/payments/v2/";
constexpr std::string_view adyen = "https://docs.adyen.com/development-resources/api-idempotency/";

constexpr std::array profile_table{
    profile_row{"ietf", "required", "true", ietf},
    profile_row{"ietf", "key_syntax", "strict", ietf},
    profile_row{"ietf", "keep", "all", ietf},
    profile_row{"ietf", "mismatch_status", "422", ietf},
    profile_row{"ietf", "busy_status", "409", ietf},
    profile_row{"ietf", "errors", "problem", ietf},

    profile_row{"stripe", "methods", "POST", stripe},
    profile_row{"stripe", "fingerprint", "form", stripe},
    profile_row{"stripe", "keep", "all", stripe},
    // Refused before the operation began: the result is not saved.
    profile_row{"stripe", "outcome", "400=release,401=release,403=release,409=release,429=release",
                stripe},
    profile_row{"stripe", "retention", "24h", stripe},
    profile_row{"stripe", "mismatch_status", "400", stripe_errors},
    profile_row{"stripe", "busy_status", "409", stripe_errors},
    profile_row{"stripe", "errors", "stripe", stripe_errors},

    profile_row{"paypal", "methods", "POST", paypal},
    profile_row{"paypal", "key", "PayPal-Request-Id", paypal},
    profile_row{"paypal", "retention", "45d", paypal_times},
    profile_row{"paypal", "mismatch_status", "422", paypal_errors},
    profile_row{"paypal", "busy_status", "409", paypal_errors},
    profile_row{"paypal", "errors", "paypal", paypal_errors},

    profile_row{"adyen", "methods", "POST", adyen},
    profile_row{"adyen", "retention", "31d", adyen},
    profile_row{"adyen", "mismatch_status", "422", adyen},
    profile_row{"adyen", "busy_status", "422", adyen},
    profile_row{"adyen", "echo_key", "true", adyen},
    profile_row{"adyen", "errors", "adyen", adyen},
};

}  // namespace

std::span<const profile_row> profile_rows() { return profile_table; }

void apply_profile(policy_draft& draft) {
  for (const auto& given : profile_table) {
    if (given.profile != draft.profile) continue;
    const auto set = draft.origins.find(given.option);
    if (set != draft.origins.end() && set->second.where != layer::fallback) continue;
    for (const auto& row : policy_rows()) {
      if (row.spec.name != given.option) continue;
      remarks none;
      const auto value = read_text(row.spec, given.value, {}, {}, none);
      if (!value) continue;  // a test reads all of them
      row.assign(draft, *value);
      draft.of_profile.insert(row.spec.name);
      const std::string name(given.option);
      if (draft.texts.contains(name)) draft.texts[name] = toml_text(row.spec, *value);
    }
  }
}

}  // namespace onceguard::config
