// The slowest permitted rate at which a client sends a body or receives an answer.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>

#include <onceguard/record.hpp>

namespace onceguard::gateway {

/// A transfer may wait for its client for `grace`, plus one second for each `rate` bytes that were
/// transferred. Only the time of waiting for the client counts: delays elsewhere do not count
/// against a fast client.
class client_pace {
 public:
  /// Without a rate, or with a rate of 0, any speed is permitted.
  client_pace() = default;
  client_pace(milliseconds grace, std::size_t rate) noexcept : grace_(grace), rate_(rate) {}

  /// The time that the next wait may take, at most `pause`; 0: the client is too slow.
  [[nodiscard]] milliseconds left(milliseconds pause) const noexcept {
    if (rate_ == 0) return pause;
    const milliseconds earned(bytes_ / rate_ * 1'000 + bytes_ % rate_ * 1'000 / rate_);
    return std::clamp(grace_ + earned - waited_, milliseconds(0), pause);
  }
  void waited(milliseconds time, std::size_t for_bytes) noexcept {
    waited_ += time;
    bytes_ += for_bytes;
  }

 private:
  milliseconds grace_{0};
  std::size_t rate_ = 0;
  milliseconds waited_{0};
  std::size_t bytes_ = 0;
};

}  // namespace onceguard::gateway
