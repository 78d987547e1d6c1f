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
// twilio: https://www.twilio.com/docs/usage/security#validating-requests
//
// adyen: https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures
//
// paypal: https://developer.paypal.com/api/rest/webhooks/rest/ (verify by yourself)
//
// Slack's events have an event_id, its commands a trigger_id, what a person did in a message or a
// form has one in the JSON of the parameter `payload`, and the check of a new address only a
// challenge.
//
// Twilio's I-Twilio-Idempotency-Token is not signed, and a form's values can be moved into one
// another, as they are signed with nothing in between. Only all of what is signed is a safe id.
//
// Adyen repeats a notification with the same pspReference and eventCode, and changes `success` of
// one that failed at first. A report has its file's name as pspReference, which several accounts
// share. Only the merchant's own reference may have colons in it.
//
// PayPal signs the CRC-32 of the body only. It tries again for three days, and does not say whether
// with a new transmission time, so the tolerance is that and an hour. Its event's id is the same
// each time; whether that of the transmission is, PayPal does not say.
#include "webhook/sender.hpp"

namespace onceguard::webhook {

namespace {

constexpr std::string_view all = R"toml(
[[webhook]]
name = "stripe"
id = ["json:/id"]
signature = "header:Stripe-Signature"
signature_separator = "comma"
signature_prefix = "v1="
signed = "{timestamp}.{body}"
timestamp = "signature:t"
tolerance = "5m"

[[webhook]]
name = "github"
id = ["header:X-GitHub-Delivery"]
signature = "header:X-Hub-Signature-256"
signature_prefix = "sha256="
queued_headers = ["X-GitHub-Event", "X-GitHub-Hook-ID"]

[[webhook]]
name = "shopify"
id = ["header:X-Shopify-Webhook-Id"]
signature = "header:X-Shopify-Hmac-Sha256"
signature_encoding = "base64"
queued_headers = ["X-Shopify-Topic", "X-Shopify-Shop-Domain", "X-Shopify-API-Version"]

[[webhook]]
name = "standard-webhooks"
id = ["header:webhook-id"]
signature = "header:webhook-signature"
signature_separator = "space"
signature_prefix = "v1,"
signature_encoding = "base64"
signed = "{id}.{timestamp}.{body}"
secret = "whsec"
timestamp = "header:webhook-timestamp"
tolerance = "5m"

[[webhook]]
name = "slack"
id = ["json:/event_id", "form:trigger_id", "form:payload:/trigger_id", "json:/challenge"]
signature = "header:X-Slack-Signature"
signature_prefix = "v0="
signed = "v0:{timestamp}:{body}"
timestamp = "header:X-Slack-Request-Timestamp"
tolerance = "5m"
challenge = "json:/challenge"

[[webhook]]
name = "twilio"
id = ["signed-hash"]
signature = "header:X-Twilio-Signature"
signature_encoding = "base64"
algorithm = "hmac-sha1"
signed = "{url}{form}"
body_hash = "query:bodySHA256"
accepted_type = "text/xml"
accepted_body = "<Response/>"

[[webhook]]
name = "adyen"
id = ["""\
    {json:/notificationItems/0/NotificationRequestItem/pspReference}:\
    {json:/notificationItems/0/NotificationRequestItem/merchantAccountCode}:\
    {json:/notificationItems/0/NotificationRequestItem/eventCode}:\
    {json:/notificationItems/0/NotificationRequestItem/success}"""]
signature = "json:/notificationItems/0/NotificationRequestItem/additionalData/hmacSignature"
signature_encoding = "base64"
secret = "hex"
signed = """\
    {json:/notificationItems/0/NotificationRequestItem/pspReference}:\
    {json:/notificationItems/0/NotificationRequestItem/originalReference}:\
    {json:/notificationItems/0/NotificationRequestItem/merchantAccountCode}:\
    {*json:/notificationItems/0/NotificationRequestItem/merchantReference}:\
    {json:/notificationItems/0/NotificationRequestItem/amount/value}:\
    {json:/notificationItems/0/NotificationRequestItem/amount/currency}:\
    {json:/notificationItems/0/NotificationRequestItem/eventCode}:\
    {json:/notificationItems/0/NotificationRequestItem/success}"""
absent = ["json:/notificationItems/1"]
accepted_type = "text/plain"
accepted_body = "[accepted]"

[[webhook]]
name = "paypal"
id = ["json:/id"]
signature = "header:PAYPAL-TRANSMISSION-SIG"
signature_encoding = "base64"
algorithm = "rsa-sha256"
secret = "pem"
signed = "{header:PAYPAL-TRANSMISSION-ID}|{timestamp}|{webhook_id}|{crc32}"
timestamp = "header:PAYPAL-TRANSMISSION-TIME"
tolerance = "73h"
)toml";

}  // namespace

std::string_view presets() noexcept { return all; }

}  // namespace onceguard::webhook
