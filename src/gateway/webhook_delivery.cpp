#include "gateway/webhook_delivery.hpp"

#include <algorithm>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/clock.hpp"
#include "base/field.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::gateway {

namespace {

delivery_refusal refusal_of(webhook::verdict verdict, std::uint16_t status) {
  switch (verdict) {
    case webhook::verdict::expired:
      return {http::problem::delivery_expired, {}, status};
    case webhook::verdict::no_id:
      return {http::problem::key_missing,
              "The delivery has no id where its sender puts it, so a repeat of it could not be "
              "told from another one. Nothing was run."};
    case webhook::verdict::forged:
    case webhook::verdict::genuine:
      break;
  }
  return {.status = status};
}

}  // namespace

delivery_admission admit_delivery(const route& rule, const http1::head& head, std::string_view body,
                                  http::admission& admitted) {
  const auto& verifier = *rule.rule.webhook;
  constexpr std::int64_t second = 1'000'000;
  auto found = verifier.check({head.fields, body, base::wall_microseconds() / second, head.target});
  const bool late = found.verdict == webhook::verdict::expired && !found.id.empty();
  if (found.verdict != webhook::verdict::genuine && !late) {
    return {refusal_of(found.verdict, verifier.about().refused_status)};
  }
  auto key = parse_key('"' + found.id + '"', key_syntax::strict, key_format::any);
  // A quote in the id could end the string early.
  if (!key || *key != found.id) {
    return {delivery_refusal{http::problem::key_malformed,
                             "The id of the delivery is not 1 to 255 visible ASCII characters "
                             "without quotes and backslashes."}};
  }
  admitted.key = *std::move(key);
  admitted.scope_kind = "webhook:" + verifier.name();
  admitted.scope = make_scope_digest(admitted.scope_kind, rule.name);
  if (late) {
    return {.refusal = refusal_of(found.verdict, verifier.about().refused_status),
            .may_be_answered = true};
  }
  return {.challenge = std::move(found.challenge)};
}

messaging::message message_of(const webhook::sender& about, const http1::head& head,
                              std::string body, const std::string& id) {
  messaging::message out;
  out.payload = std::move(body);
  out.properties.emplace_back("message_id", id);
  const auto carry = [&](std::string_view name) {
    const auto* found = base::find_field(head.fields, name);
    if (found != nullptr && !found->value.empty()) out.headers.emplace_back(name, found->value);
  };
  carry("Content-Type");
  for (const auto& name : about.queued_headers) carry(name);
  return out;
}

answer accepted_answer(const webhook::sender& about, std::string challenge) {
  answer out;
  out.status = 200;
  if (!challenge.empty()) {
    out.headers.emplace_back("Content-Type", "text/plain");
    out.body = std::move(challenge);
    return out;
  }
  out.status = about.accepted_status;
  if (!about.accepted_type.empty()) out.headers.emplace_back("Content-Type", about.accepted_type);
  out.body = about.accepted_body;
  return out;
}

std::vector<base::field> fields_without_key(std::span<const base::field> fields) {
  std::vector<base::field> out(fields.begin(), fields.end());
  std::erase_if(out,
                [](const base::field& f) { return base::same_name(f.name, "idempotency-key"); });
  return out;
}

}  // namespace onceguard::gateway
