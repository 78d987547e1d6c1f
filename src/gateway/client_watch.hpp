// Notices a client that disconnects while its answer is pending.
#pragma once
#include <stop_token>

#include "base/timer_wheel.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_pool.hpp"

namespace onceguard::gateway {

/// Checks twice a second whether the client has disconnected. If so, the watch ends the call to the
/// upstream: no other client waits for the answer, and the client's connection slot becomes free.
/// This is for calls that no key guards, and for answers that are only forwarded. For a request
/// that waits for its running twin, the watch requests a stop of the wait. The destructor stops the
/// watch.
///
/// A client that only closes its sending direction counts as gone too, as with other proxies: TCP
/// shows no difference before something is written.
class client_watch final : private base::deadline {
 public:
  explicit client_watch(session& client) : client_(client) {}

  void begin(upstream_connection& call);
  void begin(std::stop_source& wait);
  void end() noexcept { disarm(); }
  /// A piece of the request was forwarded. While the request is being read, its reader notices that
  /// the client disconnected.
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
