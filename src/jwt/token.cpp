#include "jwt/token.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/json_reader.hpp"

namespace onceguard::jwt {
namespace {

using nlohmann::json;

error token_refused(std::string why) { return {errc::invalid_argument, std::move(why)}; }

/// An object in base64url in which no name stands twice: readers differ in which of the two counts.
bool read_object(std::string_view encoded_text, json& out) {
  const auto text = base::from_base64url(encoded_text);
  return text && base::parse_unambiguous(*text, out) == base::json_fault::none && out.is_object();
}

/// The three parts, still encoded.
struct encoded {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;
};

bool cut(std::string_view token, encoded& out) {
  const auto first = token.find('.');
  const auto second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return false;
  out.header = token.substr(0, first);
  out.payload = token.substr(first + 1, second - first - 1);
  out.signature = token.substr(second + 1);
  out.signed_text = token.substr(0, second);
  return true;
}

signature_finding found_none(std::string why) { return {std::move(why), {}}; }

signature_finding find_signer(const encoded& parts, const json& header, std::span<const key> keys) {
  const auto named = header.find("alg");
  if (named == header.end() || !named->is_string())
    return found_none("the token names no algorithm");
  const auto* used = find_algorithm(named->get_ref<const std::string&>());
  if (used == nullptr) return found_none("the token's algorithm is none that is accepted");
  // RFC 7515, section 4.1.11: who does not understand one of them refuses the token.
  if (header.contains("crit")) {
    return found_none("the token has critical extensions, which are not understood");
  }
  const auto id = header.find("kid");
  if (id != header.end() && !id->is_string()) return found_none("the token's kid is no text");
  const auto signature = base::from_base64url(parts.signature);
  if (!signature) {
    return found_none("the token's signature is no base64url");
  }
  std::size_t tried = 0;
  for (const auto& one : keys) {
    if (id != header.end() && !one.id().empty() && *id != one.id()) continue;
    if (!one.fits(*used)) continue;
    if (tried++ == tries_max) {
      return found_none("the token does not say which of many keys has signed it");
    }
    if (one.verifies(*used, *signature, parts.signed_text)) return {{}, one.issuer()};
  }
  return found_none(tried > 0 ? "the token's signature is wrong" : "the token's key is not known");
}

/// Seconds since 1970; false: the claim is there and no number.
bool read_time(const json& payload, const char* name, double absent, double& out) {
  const auto found = payload.find(name);
  out = absent;
  if (found == payload.end()) return true;
  if (!found->is_number()) return false;
  out = found->get<double>();
  return true;
}

std::string time_fault(const json& payload, const rules& rules, std::int64_t now_s) {
  const auto now = static_cast<double>(now_s);
  const auto leeway = static_cast<double>(rules.leeway_s);
  double end = 0;
  double begin = 0;
  // Both may be absent (RFC 7519, section 4.1).
  if (!read_time(payload, "exp", now + 1, end)) return "the token's exp is no number";
  if (!read_time(payload, "nbf", now, begin)) return "the token's nbf is no number";
  if (!(now < end + leeway)) return "the token has expired";
  if (!(begin <= now + leeway)) return "the token is not valid yet";
  return {};
}

bool is_for_audience(const json& payload, const std::string& audience) {
  const auto found = payload.find("aud");
  if (found == payload.end()) return false;
  if (found->is_string()) return *found == audience;
  return found->is_array() && std::any_of(found->begin(), found->end(),
                                          [&](const json& one) { return one == audience; });
}

}  // namespace

signature_finding find_signer(std::string_view token, std::span<const key> keys) {
  encoded parts;
  if (token.size() > token_size_max) return found_none("the token is too long");
  if (!cut(token, parts)) return found_none("the token has not three parts");
  json header;
  if (!read_object(parts.header, header)) {
    return found_none("the token's header is no JSON object in base64url");
  }
  return find_signer(parts, header, keys);
}

result<std::string> verify(std::string_view token, std::string_view claim,
                           std::span<const key> keys, const rules& rules, std::int64_t now_s) {
  // Nothing that is said in the payload is looked at before the signature is verified.
  auto signer = find_signer(token, keys);
  if (!signer.fault.empty()) return token_refused(std::move(signer.fault));
  return read_claim(token, claim, signer.issuer, rules, now_s);
}

result<std::string> read_claim(std::string_view token, std::string_view claim,
                               const std::string& issuer_of_key, const rules& rules,
                               std::int64_t now_s) {
  encoded parts;
  json payload;
  if (!cut(token, parts)) return token_refused("the token has not three parts");
  if (!read_object(parts.payload, payload)) {
    return token_refused("the token's claims are no JSON object in base64url");
  }
  if (auto fault = time_fault(payload, rules, now_s); !fault.empty()) {
    return token_refused(std::move(fault));
  }
  std::string issuer;
  if (const auto found = payload.find("iss"); found != payload.end()) {
    if (!found->is_string()) return token_refused("the token's iss is no text");
    issuer = found->get<std::string>();
  }
  if (!rules.issuer.empty() && issuer != rules.issuer) {
    return token_refused("the token is of another issuer");
  }
  if (!issuer_of_key.empty() && issuer != issuer_of_key) {
    return token_refused("the token names another issuer than its key");
  }
  if (!rules.audience.empty() && !is_for_audience(payload, rules.audience)) {
    return token_refused("the token is for another audience");
  }
  const auto found = payload.find(std::string(claim));
  const bool usable = found != payload.end() && (found->is_string() || found->is_number_integer());
  const auto value = !usable              ? std::string()
                     : found->is_string() ? found->get<std::string>()
                                          : found->dump();
  if (value.empty()) return token_refused("the token lacks the claim that the scope is made of");
  // With the length: no other issuer and value make the same text.
  auto out = std::to_string(issuer.size()) + ":" + issuer + value;
  return found->is_string() ? out : "number " + out;  // 17 is somebody else than "17"
}

}  // namespace onceguard::jwt
