// The options of a [[route]], besides those of its policy.
#include <algorithm>

#include "base/url.hpp"
#include "config/policy/policy_options.hpp"
#include "config/policy/texts.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string public_url_complaint(std::string_view value) {
  const auto parts = base::split_url(value);
  const bool web = parts.scheme == "https" || parts.scheme == "http";
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 127; });
  if (web && plain && !parts.query && !parts.fragment && !parts.authority.value_or("").empty() &&
      parts.authority->find('@') == std::string_view::npos) {
    return {};
  }
  return "expected a URL such as \"https://shop.example.com/hooks/twilio\" without user, password, "
         "query and fragment, got " +
         quoted(base::before_authority(value));
}

const std::array route_table{
    row<route_draft>{
        {.name = "path",
         .fallback = "/",
         .example = "/v1/payments",
         .text = "A prefix of the normalised path, ending at a segment's border. `OPTIONS *` goes, "
                 "as it is, where `/` goes.",
         .complaint = refusal_of<parse_route_path>},
        [](route_draft& d, const option_value& v) { d.path = *parse_route_path(text(v)); }},
    row<route_draft>{{.name = "host",
                      .example = "api.example.com",
                      .text = "Only requests for this host, without a port. Empty: any.",
                      .may_be_empty = true,
                      .complaint = refusal_of<parse_route_host>},
                     [](route_draft& d, const option_value& v) {
                       d.host = text(v).empty() ? std::string() : *parse_route_host(text(v));
                     }},
    row<route_draft>{{.name = "match_method",
                      .former_name = "method",
                      .kind = value_kind::list,
                      .example = "POST,PUT",
                      .text = "Only requests of these methods fit the route. Empty: any. Which of "
                              "them are guarded is said by `methods`.",
                      .complaint = refusal_of<parse_method>},
                     [](route_draft& d, const option_value& v) {
                       d.method = std::get<std::vector<std::string>>(v);
                     }},
    row<route_draft>{{.name = "upstream",
                      .example = "payments",
                      .text = "Where its requests go. Not given: to the first upstream.",
                      .only = front_door::gateway},
                     [](route_draft& d, const option_value& v) { d.upstream = text(v); }},
    row<route_draft>{
        {.name = "webhook",
         .example = "stripe",
         .text =
             "All requests of the route are deliveries of this sender: `stripe`, `github`, "
             "`shopify`, `standard-webhooks`, `slack`, `twilio`, `adyen`, `paypal`, or the name "
             "of a `[[webhook]]`. What is not signed by it gets 403; the id of a delivery is "
             "its key. Empty: they are no webhooks. See [webhooks](webhooks.md).",
         .may_be_empty = true,
         .only = front_door::gateway},
        [](route_draft& d, const option_value& v) { d.webhook = text(v); }},
    row<route_draft>{
        {.name = "webhook_secret_file",
         .example = "/etc/onceguard/stripe.secret",
         .text =
             "A file with the secrets that the sender signs with, one a line, or with its public "
             "keys or certificates: several while one is being replaced. SIGHUP reads it "
             "again.",
         .may_be_empty = true,
         .only = front_door::gateway},
        [](route_draft& d, const option_value& v) { d.webhook_secret_file = text(v); }},
    row<route_draft>{
        {.name = "webhook_queue",
         .example = "amqp://127.0.0.1/stripe-events",
         .text = "The deliveries are published to this queue, and answered at once as their sender "
                 "expects. `onceguard consume` does the work. docs/messages.md has the URLs of "
                 "each broker. Empty: they go to the upstream, whose answer the sender gets.",
         .may_be_empty = true,
         .secret = true,
         .only = front_door::gateway},
        [](route_draft& d, const option_value& v) { d.webhook_queue = text(v); }},
    row<route_draft>{
        {.name = "webhook_url",
         .example = "https://shop.example.com/hooks/twilio",
         .text = "The public URL that `path` has for a sender that signs it, without query. What a "
                 "request has beyond `path` is added as it was sent. The sender may write it with "
                 "the port or without.",
         .may_be_empty = true,
         .complaint = public_url_complaint,
         .only = front_door::gateway},
        [](route_draft& d, const option_value& v) { d.webhook_url = text(v); }},
    row<route_draft>{{.name = "webhook_id",
                      .example = "1JE4291016473214C",
                      .text = "What the sender calls this webhook, if it signs that.",
                      .may_be_empty = true,
                      .only = front_door::gateway},
                     [](route_draft& d, const option_value& v) { d.webhook_id = text(v); }},
};

}  // namespace

std::span<const row<route_draft>> route_rows() { return route_table; }

}  // namespace onceguard::config
