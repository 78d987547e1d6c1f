#include "cli/services/letter_request.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include "admin/act_reason.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"

namespace onceguard::cli::services {

using reader = base::json_reader<nlohmann::json>;

namespace {

constexpr std::size_t messages_max = 1'000;

seen_letter read_seen(const reader& object) {
  object.has_only({"message", "state", "token", "revision"});
  seen_letter out;
  out.message = object.at("message").text();
  out.state = object.at("state").text();
  if (const auto token = object.find("token")) {
    out.token = token->number(0, std::numeric_limits<std::uint64_t>::max());
  }
  if (const auto revision = object.find("revision")) out.revision = revision->as<std::int64_t>();
  return out;
}

letter_request read_body(const reader& object) {
  object.has_only({"reason", "messages", "dry_run"});
  letter_request out;
  out.reason = admin::read_reason(object);
  const auto messages = object.at("messages");
  messages.each([&](const reader& one) { out.messages.push_back(read_seen(one)); });
  if (out.messages.empty()) messages.refuse("is empty");
  if (out.messages.size() > messages_max) messages.refuse("has more than 1000 messages");
  object.take("dry_run", out.dry);
  return out;
}

std::string read_poll(const reader& object) {
  object.has_only({"reason"});
  return object.find("reason") ? admin::read_reason(object) : std::string();
}

}  // namespace

std::string letter_names::next(const consume::dead_letter& letter) {
  base::sha256 hash;
  hash.part(letter.key).part(letter.content.payload).part(std::to_string(letter.since));
  const auto digest = hash.part(letter.outcome).finish();
  const auto name = base::to_hex(digest).substr(0, 32);
  const auto count = ++seen_[name];
  return count == 1 ? name : name + "-" + std::to_string(count);
}

std::uint64_t token_of(const messages::known_letter& one) {
  return one.record ? one.record->stored.token : 0;
}

std::optional<std::int64_t> revision_of(const messages::known_letter& one) {
  return one.record ? one.record->revision : std::nullopt;
}

result<letter_request> read_letter_request(std::string_view body) {
  return base::read_json<nlohmann::json>(body, "the body", read_body);
}

result<std::string> read_poll_request(std::string_view body) {
  return base::read_json<nlohmann::json>(body, "the body", read_poll);
}

}  // namespace onceguard::cli::services
