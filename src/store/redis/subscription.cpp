#include "store/redis/subscription.hpp"

#include <utility>

#include "base/log.hpp"
#include "store/redis/ear.hpp"

namespace onceguard::redis {

subscription::subscription(address at, std::string channel, servers_now servers,
                           milliseconds timeout)
    : at_(std::move(at)),
      channel_(std::move(channel)),
      servers_(std::move(servers)),
      timeout_(timeout) {}

subscription::~subscription() { stop(); }

void subscription::listen(settled_listener told) {
  const std::lock_guard change(changing_);
  const bool wanted = told != nullptr && !stopped_;
  {
    const std::lock_guard lock(telling_);
    told_ = wanted ? std::move(told) : nullptr;
  }
  if (!wanted) {
    hearing_.reset();
  } else if (!hearing_) {
    hearing_ = std::make_unique<ear>(*this);
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
  if (told_) told_(settled);
}

void subscription::tell_refusal(const std::string& why) {
  if (refusal_told_.exchange(true)) return;
  base::log(base::log_level::warning,
            "who waits for another process has to ask: the user may not publish or subscribe",
            {{"store", at_.place}, {"channel", channel_}, {"why", why}});
}

}  // namespace onceguard::redis
