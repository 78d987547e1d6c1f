#include "store/redis/subscription.hpp"

#include <utility>

#include "base/log.hpp"
#include "store/redis/subscriber.hpp"

namespace onceguard::redis {

subscription::subscription(address address, std::string channel, servers_now servers,
                           milliseconds timeout)
    : at_(std::move(address)),
      channel_(std::move(channel)),
      servers_(std::move(servers)),
      timeout_(timeout) {}

subscription::~subscription() { stop(); }

void subscription::listen(settled_listener listener) {
  const std::lock_guard change(changing_);
  const bool wanted = listener != nullptr && !stopped_;
  {
    const std::lock_guard lock(telling_);
    listener_ = wanted ? std::move(listener) : nullptr;
  }
  if (!wanted) {
    reading_.reset();
  } else if (!reading_) {
    reading_ = std::make_unique<subscriber>(*this);
  }
}

void subscription::stop() {
  {
    const std::lock_guard change(changing_);
    stopped_ = true;
  }
  listen(nullptr);
}

void subscription::tell(const std::vector<std::uint64_t>& settled) {
  const std::lock_guard lock(telling_);
  if (listener_) listener_(settled);
}

void subscription::log_refusal(const std::string& why) {
  if (refusal_logged_.exchange(true)) return;
  base::log(base::event::subscription_refused,
            {{"store", at_.name}, {"channel", channel_}, {"why", why}});
}

}  // namespace onceguard::redis
