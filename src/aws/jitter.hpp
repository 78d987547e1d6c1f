// How long to wait before a request is made again that the server could not serve just then.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>

#include <onceguard/record.hpp>

#include "base/random.hpp"

namespace onceguard::aws {

/// A random part of a time that doubles with each attempt (0, 1, …), so that clients which were
/// throttled together do not come back together ("full jitter"). At least a millisecond.
[[nodiscard]] inline milliseconds jittered(unsigned attempt, milliseconds first,
                                           unsigned most_doublings) {
  std::array<unsigned char, 4> bytes{};
  base::random_bytes(bytes);
  std::uint32_t random = 0;
  std::memcpy(&random, bytes.data(), sizeof random);
  const auto range = first.count() << std::min(attempt, most_doublings);
  return milliseconds(1 + static_cast<std::int64_t>(random) % std::max<std::int64_t>(range, 1));
}

}  // namespace onceguard::aws
