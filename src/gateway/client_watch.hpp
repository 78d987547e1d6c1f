// Notices a client that leaves while its answer is awaited.
#pragma once
#include <stop_token>

#include "base/timer_wheel.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

/// Checks twice a second whether the client has left. Then the watch ends the call to the upstream:
/// nobody else waits for that answer, and the client's slot is freed. That is for calls that no key
/// guards, and for answers that are only passed on. For a request that waits for its running twin,
/// the watch requests a stop of the wait. Stops when it is destroyed.
///
/// A client that only ends its own direction counts as gone too, as it does with other proxies: TCP
/// shows no difference before something is written.
class client_watch final : private base::deadline {
 public:
  explicit client_watch(session& client) : client_(client) {}

  void begin(upstream_connection& call);
  void begin(std::stop_source& wait);
  void end() noexcept { disarm(); }
  /// Some of the request went on. While it does, whoever reads the request notices its end.
  void request_moved() noexcept { request_moved_ = true; }
  [[nodiscard]] bool client_left() const noexcept { return left_; }

 private:
  void expired() override;

  session& client_;
  upstream_connection* call_ = nullptr;
  std::stop_source* wait_ = nullptr;
  bool request_moved_ = false;
  bool left_ = false;
};

}  // namespace onceguard::gateway
