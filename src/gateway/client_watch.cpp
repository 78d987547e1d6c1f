#include "gateway/client_watch.hpp"

namespace onceguard::gateway {

namespace {

constexpr milliseconds check_interval{500};
/// A service that takes an upload slowly may be busy for a while.
constexpr int rounds_still_max = 10;

}  // namespace

void client_watch::begin(upstream_connection& call) {
  call_ = &call;
  arm(base::timer_wheel::of(client_.thread().io), check_interval);
}

void client_watch::begin(std::stop_source& wait) {
  wait_ = &wait;
  arm(base::timer_wheel::of(client_.thread().io), check_interval);
}

bool client_watch::has_left() noexcept {
  if (!client_.stream().peer_has_left()) return false;
  const bool waits = uploading_ && !client_.stream().is_broken();
  return !waits || ++rounds_still_ > rounds_still_max;
}

void client_watch::expired() {
  if (!client_.stream().is_open()) return;
  if (!has_left()) {
    arm(base::timer_wheel::of(client_.thread().io), check_interval);
    return;
  }
  left_ = true;
  if (wait_ != nullptr) {
    wait_->request_stop();
    return;
  }
  call_->stream.close();
  client_.stream().cancel();
}

}  // namespace onceguard::gateway
