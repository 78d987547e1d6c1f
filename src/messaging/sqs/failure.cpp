#include "messaging/sqs/failure.hpp"

#include <string_view>

namespace onceguard::messaging::sqs {
namespace {

bool failure_contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != text.npos;
}

}  // namespace

error refusal(const std::string& name, long status, const aws::refusal& why) {
  auto detail = name + ": " + aws::text_of(status, why);
  if (failure_contains(why.code, "QueueDoesNotExist") ||
      failure_contains(why.code, "NonExistentQueue")) {
    return {errc::not_found, std::move(detail)};
  }
  // Its delivery is somebody else's by now, or nobody's.
  if (why.code == "ReceiptHandleIsInvalid" || failure_contains(why.code, "MessageNotInflight") ||
      failure_contains(why.words, "receipt handle has expired")) {
    return {errc::not_found, std::move(detail)};
  }
  if (aws::is_passing(status, why.code)) {
    return {errc::broker_unreachable, std::move(detail), effect::unknown};
  }
  if (aws::is_denial(status, why.code)) return {errc::broker_unreachable, std::move(detail)};
  return {errc::conflict, std::move(detail)};
}

}  // namespace onceguard::messaging::sqs
