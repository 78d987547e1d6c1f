#include "gateway/suspect_upstreams.hpp"

#include "base/address.hpp"
#include "base/log.hpp"

namespace onceguard::gateway {

void suspect_upstreams::suspect(const endpoint& which) {
  const auto end = base::boot_now() + length_;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = until_.insert_or_assign(which, end).second;
    last_end_ = end;
  }
  if (!first) return;
  base::log(base::event::upstream_ends_kept_connections,
            {{"upstream", which.host + ':' + std::to_string(which.port)},
             {"hint",
              "it ended a kept connection that was idle for less than a second, and had not said "
              "so with Connection: close; guarded requests get fresh connections for a while. Keep "
              "idle connections open for longer there"}});
}

bool suspect_upstreams::suspected(const endpoint& which, time_point now) const {
  if (now >= last_end_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  const auto found = until_.find(which);
  return found != until_.end() && now < found->second;
}

}  // namespace onceguard::gateway
