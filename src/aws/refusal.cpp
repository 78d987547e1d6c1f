#include "aws/refusal.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"

namespace onceguard::aws {
namespace {

bool refusal_contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != text.npos;
}

}  // namespace

refusal read_refusal(const std::string& body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  refusal out;
  // "com.amazonaws.sqs#QueueDoesNotExist"
  const auto type = base::text_in(parsed, "__type");
  out.code = type.substr(type.rfind('#') + 1);
  out.words = base::text_in(parsed, "message");
  if (out.words.empty()) out.words = base::text_in(parsed, "Message");
  return out;
}

bool is_passing(long status, std::string_view code) noexcept {
  return status == 429 || status >= 500 || refusal_contains(code, "Throttl") ||
         refusal_contains(code, "ThroughputExceeded") || code == "RequestLimitExceeded" ||
         code == "LimitExceededException" || code == "ServiceUnavailable" ||
         code == "InternalError" || code == "InternalFailure" || code == "InternalServerError";
}

bool is_denial(long status, std::string_view code) noexcept {
  constexpr std::array<std::string_view, 11> parts{
      "AccessDenied",  "InvalidClientTokenId", "UnrecognizedClient",  "Signature",
      "ExpiredToken",  "InvalidAccessKeyId",   "InvalidSecurity",     "MissingAuthentication",
      "NotAuthorized", "OptInRequired",        "RequestTimeTooSkewed"};
  return status == 401 || status == 403 ||
         std::any_of(parts.begin(), parts.end(),
                     [code](std::string_view part) { return refusal_contains(code, part); });
}

bool is_skew(const refusal& why) noexcept {
  return refusal_contains(why.code, "RequestTimeTooSkewed") ||
         refusal_contains(why.code, "RequestExpired") ||
         refusal_contains(why.words, "Signature expired") ||
         refusal_contains(why.words, "Signature not yet current");
}

std::string text_of(long status, const refusal& why) {
  auto out = "the server refuses with " + std::to_string(status);
  if (!why.code.empty()) out += ' ' + why.code;
  if (!why.words.empty()) out += ": " + why.words;
  return out;
}

}  // namespace onceguard::aws
