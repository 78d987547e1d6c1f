#include "cli/messages/payload_location.hpp"

#include <onceguard/fingerprint.hpp>

#include "base/url.hpp"
#include "messaging/inbox/inbox_outcome.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::messages {
namespace {

/// Without user, password and parameters, which may hold secrets.
std::string location_text(const std::string& url) {
  const auto parts = base::split_url(url);
  const auto authority = parts.authority.value_or(std::string_view());
  const auto host = authority.substr(authority.rfind('@') + 1);
  return std::string(parts.scheme) + "://" + std::string(host) + std::string(parts.path);
}

std::string location_of(const consume::consume_params& params, const std::string& key) {
  if (params.drop_dead_letters) return "dropped, as dead_letter of " + params.subscriber + " says";
  const auto lies = params.dead_letter.empty()
                        ? "the dead letters of " + location_text(params.queue)
                        : location_text(params.dead_letter);
  return lies + "; onceguard messages show " + plain_text(key) + " --subscriber " +
         params.subscriber;
}

}  // namespace

std::string payload_location(const record_view& seen, const config::settings& settings) {
  const auto& about = *seen.stored.about;
  const auto kind = messaging::request_of("x", {}, {}).scope_kind;
  if (about.scope_kind != kind) return {};
  const bool dead = seen.state == observed_state::completed &&
                    messaging::remembered(seen.stored.answer).kind == inbox_result::dead;
  if (!dead && seen.state != observed_state::unknown) return {};
  for (const auto& each : settings.consumers) {
    if (make_scope_digest(kind, each.subscriber) == about.scope)
      return location_of(each, about.key);
  }
  return "among the dead letters of its subscriber; onceguard messages show " +
         plain_text(about.key) + " --config FILE, with the [[consume]] of that subscriber";
}

}  // namespace onceguard::cli::messages
