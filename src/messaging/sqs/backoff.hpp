// Waiting before a request is made again that the server could not serve just then.
#pragma once
#include "base/clock.hpp"

namespace onceguard::messaging::sqs {

class backoff {
 public:
  explicit backoff(base::boot_clock::time_point until) : until_(until) {}

  /// Waits for a random part of a time that doubles with each call, so that clients which were
  /// throttled together do not come back together. False, at once: the time would be over.
  [[nodiscard]] bool wait();

 private:
  base::boot_clock::time_point until_;
  unsigned attempts_ = 0;
};

/// Blocks.
void wait_until_time(base::boot_clock::time_point until);

}  // namespace onceguard::messaging::sqs
