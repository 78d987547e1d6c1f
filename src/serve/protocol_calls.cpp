#include "serve/protocol_calls.hpp"

#include <array>

#include <boost/asio/ip/address.hpp>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/octets.hpp"
#include "serve/member_reader.hpp"

namespace onceguard::serve {
namespace {

/// As `backoff` in a policy.
constexpr milliseconds longest_backoff = std::chrono::hours(24);

error wrong_call(std::string why) { return {errc::invalid_argument, std::move(why)}; }

request_call read_request(json& object, std::optional<std::string>& framed, std::string& fault) {
  member_reader in(object, "request",
                   {"method", "target", "headers", "body", "body_base64", "client_address",
                    "client_certificate", "credential_verified", "body_omitted"},
                   fault);
  request_call out;
  out.method = in.text("method", true);
  if (!base::is_token(out.method)) in.refuse("method", "expected a method, such as \"POST\"");
  out.target = in.latin("target", true);
  const bool is_path = out.target.starts_with('/') && out.target.find_first_of(std::string_view(
                                                          " \t\r\n\0#\\", 7)) == std::string::npos;
  if (!is_path) in.refuse("target", "expected a path, and a query, without scheme and host");
  out.headers = in.headers();
  out.body = in.body(framed).value_or(std::string());
  out.client_address = in.text("client_address");
  boost::system::error_code failed;
  if (!out.client_address.empty()) boost::asio::ip::make_address(out.client_address, failed);
  if (failed) in.refuse("client_address", "expected an IP address without a port");
  out.client_certificate = in.text("client_certificate");
  digest print{};
  if (!out.client_certificate.empty() && !base::from_hex(out.client_certificate, print)) {
    in.refuse("client_certificate", "expected a SHA-256 in hex");
  }
  out.credential_verified = in.flag("credential_verified", false);
  out.body_omitted = in.flag("body_omitted", false);
  if (out.body_omitted && !out.body.empty()) in.refuse("body_omitted", "and yet there is a body");
  return out;
}

onceguard::request read_parts(member_reader& members) {
  onceguard::request out(members.text("scope", true), members.text("key", true));
  if (members.has("fingerprint") && members.has("fingerprint_base64")) {
    members.refuse("fingerprint", "is there twice: as text and as base64");
  }
  out.fingerprint = members.text("fingerprint");
  if (members.has("fingerprint_base64")) {
    auto bytes = base::from_base64(members.text("fingerprint_base64"));
    if (!bytes) members.refuse("fingerprint_base64", "expected base64");
    out.fingerprint = std::move(bytes).value_or(std::string());
  }
  if (members.has("scope_kind")) out.scope_kind = members.text("scope_kind");
  if (out.scope_kind.empty()) members.refuse("scope_kind", "is empty");
  out.method = members.text("method");
  out.path = members.text("path");
  return out;
}

void read_policy(json& object, member_reader& members, claim_call& out) {
  const auto found = object.find("policy");
  if (found == object.end() || found->is_null()) return;
  if (out.request) return members.refuse("policy", "a request has that of its route");
  out.policy_is_object = found->is_object();
  if (!out.policy_is_object && !found->is_string()) {
    return members.refuse("policy", "expected a name or an object of options");
  }
  out.policy = out.policy_is_object ? found->dump() : found->get<std::string>();
  if (out.policy.empty()) members.refuse("policy", "is empty");
}

}  // namespace

std::optional<ending> ending_of(std::string_view name) {
  constexpr std::array<std::string_view, 7> names{"complete",  "fail",     "release", "abandon",
                                                  "exception", "dispatch", "renew"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<ending>(i);
  }
  return std::nullopt;
}

result<claim_call> read_claim(message given) {
  std::string fault;
  member_reader in(given.object, {},
                   {"request", "scope", "scope_kind", "key", "fingerprint", "fingerprint_base64",
                    "method", "path", "policy", "service", "claim", "wait_ms", "renew", "dispatch"},
                   fault);
  claim_call out;
  if (auto* const object = in.get("request", json::value_t::object)) {
    out.request = read_request(*object, given.body, fault);
    for (const char* part : {"scope", "scope_kind", "key", "fingerprint", "fingerprint_base64"}) {
      if (in.has(part)) in.refuse(part, "stands in the request, or is found by its route");
    }
  } else {
    out.parts = read_parts(in);
    if (given.body && !given.body->empty()) in.refuse("request", "a body, and no request");
  }
  read_policy(given.object, in, out);
  out.service = in.text("service");
  if (in.has("claim")) {
    if (!base::from_hex(in.text("claim"), out.claim.emplace())) {
      in.refuse("claim", "expected 32 hex digits");
    }
  }
  out.wait = in.duration("wait_ms");
  if (in.has("renew")) {
    const auto renew = in.text("renew");
    out.renewed_by_client = renew == "client";
    if (renew != "client" && renew != "connection") {
      in.refuse("renew", "expected \"connection\" or \"client\"");
    }
  }
  out.into_started = !in.flag("dispatch", true);
  if (!fault.empty()) return wrong_call(std::move(fault));
  return out;
}

result<settle_call> read_settle(ending kind, message given) {
  std::string fault;
  settle_call out;
  out.kind = kind;
  if (kind == ending::complete) {
    member_reader in(given.object, {}, {"answer", "streamed"}, fault);
    if (auto* const object = in.get("answer", json::value_t::object)) {
      member_reader made(*object, "answer", {"status", "headers", "body", "body_base64"}, fault);
      out.made.emplace();
      const auto* const status = made.get("status", json::value_t::number_unsigned, true);
      const auto number = status == nullptr ? 200 : status->get<std::uint64_t>();
      if (number < 200 || number > 999) made.refuse("status", "expected a status from 200 to 999");
      out.made->status = static_cast<std::uint16_t>(number);
      out.made->headers = made.headers();
      out.made->body = made.body(given.body).value_or(std::string());
    } else if (given.body && !given.body->empty()) {
      in.refuse("answer", "a body, and no answer");
    }
    out.has_body = !in.flag("streamed", false);
  } else {
    member_reader in(given.object, {}, {"backoff_ms"}, fault);
    out.backoff = in.duration("backoff_ms");
    if (out.backoff && kind != ending::fail) in.refuse("backoff_ms", "belongs to fail");
    if (out.backoff > longest_backoff) in.refuse("backoff_ms", "at most 86400000, a day");
    if (given.body && !given.body->empty()) fault = "the body belongs to nothing";
  }
  if (!fault.empty()) return wrong_call(std::move(fault));
  return out;
}

}  // namespace onceguard::serve
