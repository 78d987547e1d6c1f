#include "messaging/sqs/backoff.hpp"

#include <algorithm>
#include <poll.h>

#include <onceguard/record.hpp>

#include "aws/jitter.hpp"

namespace onceguard::messaging::sqs {
namespace {

constexpr milliseconds first_range{100};
constexpr unsigned most_doublings = 5;

}  // namespace

bool backoff::wait() {
  const auto end = base::boot_now() + aws::jittered(attempts_++, first_range, most_doublings);
  if (end >= until_) return false;
  wait_until_time(end);
  return true;
}

void wait_until_time(base::boot_clock::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
    if (left <= 0) return;
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
}

}  // namespace onceguard::messaging::sqs
