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
  /// The rest of the request is being forwarded. The client may have ended it already, with all of
  /// it here: then it counts as gone once the upstream has taken nothing for some seconds.
  void upload_begins() noexcept { uploading_ = true; }
  /// A piece of the request was forwarded.
  void upload_moved() noexcept { rounds_still_ = 0; }
  void upload_ended() noexcept { uploading_ = false; }
  [[nodiscard]] bool client_left() const noexcept { return left_; }

 private:
  void expired() override;
  [[nodiscard]] bool has_left() noexcept;

  session& client_;
  upstream_connection* call_ = nullptr;
  std::stop_source* wait_ = nullptr;
  bool uploading_ = false;
  int rounds_still_ = 0;  // of an upload
  bool left_ = false;
};

}  // namespace onceguard::gateway
