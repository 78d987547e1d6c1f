#include "mcp/key_locations.hpp"

#include <span>

#include <onceguard/fingerprint.hpp>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

using names = std::vector<std::string>;

/// What the Ad Context Protocol leaves out of the comparison of two requests: its list is closed.
std::vector<omission> omitted_by_adcp() {
  return {{{"context"}, true},
          {{"governance_context"}},
          {{"push_notification_config", "authentication", "credentials"}},
          {{"reporting_webhook", "authentication", "credentials"}}};
}

/// Members of `_meta` and of the parameters, for hosts and SDKs; the last one as SEP-3182 has it.
std::vector<key_location> of_hosts() {
  return {{{"_meta", "onceguard/idempotency-key"}},
          {{"_meta", "idempotencyKey"}},
          {{"_meta", "idempotency-key"}},
          {{"idempotencyKey"}}};
}

key_location of_ucp() { return {{"arguments", "meta", "idempotency-key"}}; }

/// Beside the key, `meta` has what HTTP has in header fields, of which some are made anew for each
/// try, and others say who asks and how it wants to be answered.
key_location of_acp() {
  return {{"arguments", "meta", "idempotency_key"},
          false,
          {{{"meta", "request_id"}},
           {{"meta", "timestamp"}},
           {{"meta", "signature"}},
           {{"meta", "user_agent"}},
           {{"meta", "accept_language"}}}};
}

std::vector<key_location> of_x402() {
  return {{{"_meta", "x402/idempotency-key"}},
          {{"_meta", "x402/payment", "extensions", "payment-identifier", "info", "id"}, true}};
}

void add(std::vector<key_location>& all, std::vector<key_location> more) {
  for (auto& one : more) all.push_back(std::move(one));
}

std::optional<raw_value> member_of(std::string_view text, const std::string& name) {
  const auto members = members_of(text);
  const auto* found = members ? find(*members, name) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string without_names(std::string_view text, std::span<const std::string> path) {
  const auto member = member_of(text, path.front());
  if (!member) return std::string(text);
  if (path.size() == 1) return without(text, *member);
  return with_value(text, *member, without_names(member->text, path.subspan(1)));
}

}  // namespace

std::vector<key_location> key_locations::all() const {
  std::vector<key_location> out;
  if (!argument.empty()) out.push_back({{"arguments", argument}, false, omitted_by_adcp(), true});
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

std::vector<std::string> path_of(std::string_view pointer) {
  names out;
  if (pointer.empty() || !is_json_pointer(pointer)) return out;
  for (const char c : pointer) {
    if (c == '/') {
      out.emplace_back();
    } else if (!out.back().empty() && out.back().back() == '~') {
      out.back().back() = c == '0' ? '\1' : '/';  // ~01 is ~1, and no slash
    } else {
      out.back() += c;
    }
  }
  for (auto& name : out) {
    for (auto& c : name) c = c == '\1' ? '~' : c;
  }
  return out;
}

const std::vector<std::string>& preset_names() {
  static const names all{"default", "ucp", "acp", "adcp", "x402", "a2a"};
  return all;
}

key_locations preset(std::string_view name) {
  key_locations out;
  out.others = of_hosts();
  if (name == "default") add(out.others, {of_ucp(), of_acp()});
  if (name == "default" || name == "x402") {
    add(out.others, of_x402());
    out.x402_prices = true;
  }
  if (name == "ucp") {
    out.others.push_back(of_ucp());
    out.ucp_errors = true;
  }
  if (name == "acp") {
    out.others.push_back(of_acp());
    out.acp_errors = true;
  }
  if (name == "adcp") {
    out.others.insert(out.others.begin(),
                      {{"arguments", "idempotency_key"}, false, omitted_by_adcp()});
    out.adcp_answers = true;
  }
  // Where the contract has a place, the list of tools need not describe another one. Nor the same
  // one, as AdCP's clients leave out what is not described as soon as anything is.
  if (name != "default") out.argument.clear();
  if (name == "a2a") {
    out.others.push_back({{"message", "messageId"}});
    out.methods = {"message/send", "message/stream", "SendMessage", "SendStreamingMessage"};
    out.streams = {"message/stream", "SendStreamingMessage"};
  }
  return out;
}

std::string_view value_at(std::string_view text, const std::vector<std::string>& path) {
  for (const auto& name : path) {
    const auto member = member_of(text, name);
    if (!member) return {};
    text = member->text;
  }
  return text;
}

std::string without_at(std::string_view text, const std::vector<std::string>& path) {
  return path.empty() ? std::string(text) : without_names(text, path);
}

}  // namespace onceguard::mcp
