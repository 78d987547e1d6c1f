// A call of several requests to a server, for stores whose servers are out of process.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/worker_call.hpp"

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

/// Sends requests together, and returns them with what became of each. A request of which the
/// servers are to have less time than its caller has a member `time_of_servers`.
template <class Request>
[[nodiscard]] boost::asio::awaitable<std::vector<Request>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<Request> requests, milliseconds timeout) {
  if (requests.empty()) co_return std::vector<Request>();
  auto inner = timeout;
  if constexpr (requires { Request::time_of_servers(timeout); }) {
    inner = Request::time_of_servers(timeout);
  }
  const auto whole = std::make_shared<request_job<Request>>(std::move(requests), inner);
  const auto size = whole->parts.size();
  co_await perform(whole, std::move(queue), timeout);
  if (!whole->lapse()) co_return std::move(whole->parts);
  std::vector<Request> out(size);
  for (auto& each : out) each.failed = *whole->lapse();
  co_return out;
}

template <class Request>
[[nodiscard]] boost::asio::awaitable<Request> send_one(std::shared_ptr<batch_queue> queue,
                                                       Request single, milliseconds timeout) {
  std::vector<Request> requests;
  requests.push_back(std::move(single));
  auto done = co_await send_all(std::move(queue), std::move(requests), timeout);
  co_return std::move(done.front());
}

}  // namespace onceguard
