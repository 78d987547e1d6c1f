// A call of several requests to a server, for stores whose servers are out of process.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/call.hpp"

namespace onceguard {

using steady_time = base::boot_clock::time_point;

[[nodiscard]] inline milliseconds left_until(steady_time until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - base::boot_now());
  return std::max(left, milliseconds(0));
}

/// A call: requests that are answered together. They belong to the store's thread while the call is
/// under way.
template <class Request>
class request_job final : public call {
 public:
  request_job(std::vector<Request> requests, milliseconds timeout)
      : parts(std::move(requests)), give_up_at(base::boot_now() + timeout) {}

  /// One part has ended. True: it was the last one.
  [[nodiscard]] bool ended_one() noexcept { return ++ended_ == parts.size(); }

  std::vector<Request> parts;
  const steady_time give_up_at;  ///< the caller stops waiting

 private:
  std::size_t ended_ = 0;
};

}  // namespace onceguard
