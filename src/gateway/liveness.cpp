#include "gateway/liveness.hpp"

#include <utility>

#include <boost/asio/post.hpp>

namespace onceguard::gateway {

void liveness::watch(std::string thread, boost::asio::io_context& io) {
  threads_.push_back({std::move(thread), io, std::make_shared<std::atomic<bool>>(true)});
}

std::string liveness::stuck() {
  std::string out;
  const auto add = [&](const std::string& thread) { out += (out.empty() ? "" : ", ") + thread; };
  for (auto& one : threads_) {
    if (!one.answered->exchange(false)) {
      add(one.thread);
      continue;  // the former question still waits there
    }
    boost::asio::post(one.io, [answered = one.answered] { *answered = true; });
  }
  if (store_is_stuck()) add("the store's");
  return out;
}

bool liveness::store_is_stuck() {
  double taken = 0;
  double waiting = 0;
  for (const auto& one : records_.numbers()) {
    if (one.name == "onceguard_store_calls_total") taken = one.value;
    if (one.name == "onceguard_store_queue_calls") waiting = one.value;
  }
  const bool waits = waiting > 0;
  const bool out = waits && std::exchange(waited_, waits) && taken <= taken_;
  waited_ = waits;
  taken_ = taken;
  return out;
}

}  // namespace onceguard::gateway
