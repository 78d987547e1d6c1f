#include "config/webhook_routes.hpp"

#include <chrono>

#include "base/url.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"
#include "messaging/broker_kind.hpp"
#include "webhook/hmac.hpp"
#include "webhook/public_key.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::config {

using namespace values;

namespace {

/// The default of `name` on a route of webhooks; true: the configuration does not say otherwise.
bool is_default(const policy_draft& draft, std::string_view name) {
  const auto found = draft.origins.find(name);
  return found == draft.origins.end() || found->second.where == layer::fallback;
}

/// The URL without a final slash, as it is given first. Twilio is known to sign it with the port or
/// without, whichever was configured there.
std::vector<std::string> spellings_of(std::string_view url) {
  if (url.ends_with('/')) url.remove_suffix(1);
  const auto parts = base::split_url(url);
  const auto host = *parts.authority;
  const auto head = std::string(parts.scheme) + "://";
  const auto bracket = host.rfind(']');  // of an IPv6 address
  const auto colon = host.find(':', bracket == host.npos ? 0 : bracket);
  const std::string port = parts.scheme == "https" ? ":443" : ":80";
  auto other = colon == host.npos ? std::string(host) + port : std::string(host.substr(0, colon));
  return {std::string(url), head + std::move(other) + std::string(parts.path)};
}

class webhook_route {
 public:
  webhook_route(configured_route& read, gateway::route_params& made, remarks& out)
      : read_(read), made_(made), out_(out) {}

  void take(const std::vector<webhook::sender>& senders, bool need_secrets) {
    refuse_others();
    const auto* found = find(senders);
    if (found == nullptr) return;
    webhook::registration agreed;
    agreed.path = made_.path;
    take_url(*found, agreed);
    take_id(*found, agreed);
    if (need_secrets && !read_keys(*found, agreed)) return;
    made_.webhook = std::make_shared<const webhook::verifier>(*found, std::move(agreed));
    take_defaults(*found);
    if (!read_.webhook_queue.empty()) take_queue();
    made_.policy = read_.policy.policy;
  }

 private:
  void say(remark::grade weight, std::string_view name, const std::string& description) {
    const auto found = read_.policy.origins.find(name);
    const auto position = found == read_.policy.origins.end() ? origin{} : found->second;
    out_.push_back(
        {weight, position, (position.of_route() ? "[[route]] " : "[defaults] ") + description});
  }
  void fault(std::string_view name, const std::string& description) {
    say(remark::grade::fault, name, description);
  }

  /// Options about keys of clients: the key of a delivery is its id.
  void refuse_others() {
    for (const std::string_view name :
         {"key", "key_syntax", "key_format", "scope", "previous_scope", "required", "methods"}) {
      const auto found = read_.policy.origins.find(name);
      if (found == read_.policy.origins.end() || !found->second.of_route()) continue;
      fault(name, std::string(name) + ": not with webhook, which finds the key by itself");
    }
    if (read_.policy.policy.observe) {
      fault("observe", "observe: not with webhook, or what nobody signed would pass");
    }
  }

  const webhook::sender* find(const std::vector<webhook::sender>& senders) {
    std::vector<std::string_view> names;
    for (const auto& one : senders) {
      if (one.name == read_.webhook) return &one;
      names.push_back(one.name);
    }
    const auto meant = nearest(read_.webhook, names);
    fault("webhook", "webhook: there is no sender " + quoted(read_.webhook) +
                         (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
    return nullptr;
  }

  void take_url(const webhook::sender& about, webhook::registration& agreed) {
    const auto& given = read_.webhook_url;
    const bool signs = contains(about.content, webhook::pattern_part::kind::url);
    if (signs && given.empty()) {
      fault("webhook",
            "webhook: needs webhook_url, the public URL that " + quoted(about.name) + " signs");
    }
    if (!signs && !given.empty()) {
      fault("webhook_url", "webhook_url: not used, as " + quoted(about.name) + " signs no URL");
    }
    if (signs && !given.empty()) agreed.urls = spellings_of(given);
  }

  void take_id(const webhook::sender& about, webhook::registration& agreed) {
    const bool signs = contains(about.content, webhook::pattern_part::kind::webhook_id);
    agreed.webhook_id = read_.webhook_id;
    if (signs && agreed.webhook_id.empty()) {
      fault("webhook", "webhook: needs webhook_id, as " + quoted(about.name) + " signs it");
    }
    if (!signs && !agreed.webhook_id.empty()) {
      fault("webhook_id", "webhook_id: not used, as " + quoted(about.name) + " signs none");
    }
  }

  bool read_keys(const webhook::sender& about, webhook::registration& agreed) {
    const auto& file = read_.webhook_secret_file;
    if (file.empty()) {
      fault("webhook", "webhook: needs webhook_secret_file");
      return false;
    }
    std::string why;
    if (about.secret == webhook::secret_form::pem) {
      auto keys = webhook::read_public_keys(file);
      if (keys) agreed.keys = *std::move(keys);
      if (!keys) why = keys.error().detail;
    } else {
      auto secrets = webhook::read_secrets(file, about.secret);
      if (secrets) agreed.secrets = *std::move(secrets);
      if (!secrets) why = secrets.error().detail;
    }
    if (!why.empty()) fault("webhook_secret_file", "webhook_secret_file: " + why);
    return why.empty();
  }

  void take_defaults(const webhook::sender& about) {
    auto& policy = read_.policy.policy;
    auto& texts = read_.policy.texts;
    // No other spelling of the path may lead to the service without a signature.
    policy.required = true;
    policy.methods = made_.method;
    if (policy.methods.empty()) {
      policy.methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"};
    }
    texts["required"] = "true";
    if (is_default(read_.policy, "retention")) {
      policy.retention = milliseconds(7 * day);  // senders try again for days
      texts["retention"] = "\"7d\"";
    }
    // A timestamp may be ahead by the tolerance, and is good for as long again.
    if (policy.retention / 2 < std::chrono::seconds(about.tolerance_seconds)) {
      say(remark::grade::warning, "retention",
          "retention: shorter than twice the tolerance of " + quoted(about.name) +
              ": whoever has seen a delivery can send it again once it is forgotten");
    }
    if (webhook::signs_id(about)) {
      // The sender has signed the id, so another body under it is the same event as it is now.
      if (is_default(read_.policy, "fingerprint")) {
        policy.fingerprint.kind = fingerprint_kind::none;
        policy.fingerprint_head = fingerprint_head::none;
        texts["fingerprint"] = "\"none\"";
      }
    } else {
      say(remark::grade::note, "webhook",
          "webhook: " + quoted(about.name) +
              " does not sign the id: whoever has seen a delivery can send it again under another "
              "id");
    }
  }

  /// A broker's URL may hold a password: messages never repeat the URL.
  void take_queue() {
    const auto found = messaging::url_fault(read_.webhook_queue, messaging::broker_role::publisher);
    if (!found.empty()) return fault("webhook_queue", "webhook_queue: " + found);
    made_.webhook_queue = read_.webhook_queue;
    auto& policy = read_.policy.policy;
    if (is_default(read_.policy, "unknown")) {
      // Whoever consumes the queue handles each id once, so publishing can be repeated.
      policy.unknown = unknown_policy::rerun;
      read_.policy.texts["unknown"] = "\"rerun\"";
    } else if (policy.unknown == unknown_policy::probe) {
      fault("unknown",
            "unknown: no \"probe\" with webhook_queue: nobody knows yet what becomes of the "
            "delivery");
    }
  }

  configured_route& read_;
  gateway::route_params& made_;
  remarks& out_;
};

}  // namespace

void take_webhook(const std::vector<webhook::sender>& senders, bool need_secrets,
                  configured_route& read, gateway::route_params& made, remarks& out) {
  if (read.webhook.empty()) {
    for (const std::string_view name :
         {"webhook_secret_file", "webhook_url", "webhook_id", "webhook_queue"}) {
      const auto found = read.policy.origins.find(name);
      if (found == read.policy.origins.end()) continue;
      out.push_back({remark::grade::fault, found->second,
                     "[[route]] " + std::string(name) + ": only with webhook"});
    }
    return;
  }
  webhook_route(read, made, out).take(senders, need_secrets);
}

/// A consumer of a queue knows a message by its id alone, which each sender makes for itself.
void webhook_queues::take(const configured_route& read, const gateway::route_params& made,
                          remarks& out) {
  if (made.webhook_queue.empty()) return;
  const auto [first, added] =
      first_.try_emplace(made.webhook_queue, made.host + made.path, read.webhook);
  if (added) return;
  const auto& [route, sender] = first->second;
  const auto found = read.policy.origins.find("webhook_queue");
  out.push_back({sender == read.webhook ? remark::grade::note : remark::grade::warning,
                 found == read.policy.origins.end() ? origin{} : found->second,
                 "[[route]] webhook_queue: the deliveries of " + quoted(route) +
                     " go there, too; a consumer takes two with one id for one delivery, "
                     "unless each route has a queue of its own"});
}

}  // namespace onceguard::config
