#include "messaging/sqs/failure.hpp"

#include <algorithm>
#include <array>

namespace onceguard::messaging::sqs {
namespace {

bool contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != text.npos;
}

/// The server lets nobody in with these credentials.
bool is_denial(long status, std::string_view code) noexcept {
  constexpr std::array<std::string_view, 10> parts{
      "AccessDenied",  "InvalidClientTokenId", "UnrecognizedClient", "Signature",
      "ExpiredToken",  "InvalidAccessKeyId",   "InvalidSecurity",    "MissingAuthentication",
      "NotAuthorized", "OptInRequired"};
  return status == 401 || status == 403 ||
         std::any_of(parts.begin(), parts.end(),
                     [code](std::string_view part) { return contains(code, part); });
}

}  // namespace

bool is_passing(long status, std::string_view code) noexcept {
  return status == 429 || status >= 500 || contains(code, "Throttl") ||
         code == "RequestLimitExceeded" || code == "ServiceUnavailable" ||
         code == "InternalError" || code == "InternalFailure";
}

error refusal(const std::string& name, long status, std::string_view code, std::string_view words) {
  auto detail = name + ": the server refuses with " + std::to_string(status);
  if (!code.empty()) detail += ' ' + std::string(code);
  if (!words.empty()) detail += ": " + std::string(words);
  if (contains(code, "QueueDoesNotExist") || contains(code, "NonExistentQueue")) {
    return {errc::not_found, std::move(detail)};
  }
  // Its delivery is somebody else's by now, or nobody's.
  if (code == "ReceiptHandleIsInvalid" || contains(code, "MessageNotInflight") ||
      contains(words, "receipt handle has expired")) {
    return {errc::not_found, std::move(detail)};
  }
  if (is_passing(status, code)) {
    return {errc::broker_unreachable, std::move(detail), effect::unknown};
  }
  if (is_denial(status, code)) return {errc::broker_unreachable, std::move(detail)};
  return {errc::conflict, std::move(detail)};
}

}  // namespace onceguard::messaging::sqs
