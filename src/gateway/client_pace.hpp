// How slowly a client may send a body, or take an answer.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>

#include <onceguard/record.hpp>

namespace onceguard::gateway {

/// A transfer may wait for its client for `grace`, and for one more second for each `rate` bytes
/// that moved. Only waiting for the client counts: what is fast is not judged by what was slow
/// elsewhere.
class client_pace {
 public:
  /// A rate of 0: any is good.
  client_pace() = default;
  client_pace(milliseconds grace, std::size_t rate) noexcept : grace_(grace), rate_(rate) {}

  /// The next wait may take so long, and no longer than `pause`; 0: the client is too slow.
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
