// The rules of known senders, as each of them publishes them:
//
// stripe: https://docs.stripe.com/webhooks#verify-manually
//
// github: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
//
// shopify: https://shopify.dev/docs/apps/build/webhooks/verify-deliveries
//
// standard-webhooks: https://github.com/standard-webhooks/standard-webhooks (the specification)
//
// slack: https://docs.slack.dev/authentication/verifying-requests-from-slack
//
// Slack's events have an event_id, its commands a trigger_id, and the check of a new address only a
// challenge.
#include "webhook/sender.hpp"

namespace onceguard::webhook {

std::string_view presets() noexcept {
  return R"toml(
[[webhook]]
name = "stripe"
id = ["json:/id"]
signature_header = "Stripe-Signature"
signature_separator = "comma"
signature_prefix = "v1="
signed = "{timestamp}.{body}"
timestamp = "signature:t"
tolerance = "5m"

[[webhook]]
name = "github"
id = ["header:X-GitHub-Delivery"]
signature_header = "X-Hub-Signature-256"
signature_prefix = "sha256="
queued_headers = ["X-GitHub-Event", "X-GitHub-Hook-ID"]

[[webhook]]
name = "shopify"
id = ["header:X-Shopify-Webhook-Id"]
signature_header = "X-Shopify-Hmac-Sha256"
signature_encoding = "base64"
queued_headers = ["X-Shopify-Topic", "X-Shopify-Shop-Domain", "X-Shopify-API-Version"]

[[webhook]]
name = "standard-webhooks"
id = ["header:webhook-id"]
signature_header = "webhook-signature"
signature_separator = "space"
signature_prefix = "v1,"
signature_encoding = "base64"
signed = "{id}.{timestamp}.{body}"
secret = "whsec"
timestamp = "header:webhook-timestamp"
tolerance = "5m"

[[webhook]]
name = "slack"
id = ["json:/event_id", "form:trigger_id", "json:/challenge"]
signature_header = "X-Slack-Signature"
signature_prefix = "v0="
signed = "v0:{timestamp}:{body}"
timestamp = "header:X-Slack-Request-Timestamp"
tolerance = "5m"
challenge = "json:/challenge"
)toml";
}

}  // namespace onceguard::webhook
