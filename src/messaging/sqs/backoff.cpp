#include "messaging/sqs/backoff.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <poll.h>

#include <onceguard/record.hpp>

#include "base/hash.hpp"

namespace onceguard::messaging::sqs {
namespace {

constexpr std::int64_t first_range_ms = 100;
constexpr unsigned most_doublings = 5;

}  // namespace

bool backoff::wait() {
  std::array<unsigned char, 4> bytes{};
  base::random_bytes(bytes);
  std::uint32_t random = 0;
  std::memcpy(&random, bytes.data(), sizeof random);
  const auto range = first_range_ms << std::min(attempts_++, most_doublings);
  const auto end = base::boot_now() + milliseconds(1 + random % range);
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
