#include "gateway/client_watch.hpp"

#include <utility>

namespace onceguard::gateway {

namespace {

constexpr milliseconds check_interval{500};

}  // namespace

void client_watch::begin(upstream_connection& call) {
  call_ = &call;
  arm(base::timer_wheel::of(client_.thread().io), check_interval);
}

void client_watch::begin(std::stop_source& wait) {
  wait_ = &wait;
  arm(base::timer_wheel::of(client_.thread().io), check_interval);
}

void client_watch::expired() {
  if (!client_.stream().is_open()) return;
  const bool request_moves = std::exchange(request_moved_, false);
  if (request_moves || !client_.stream().peer_has_left()) {
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
