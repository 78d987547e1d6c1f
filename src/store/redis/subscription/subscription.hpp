// Receives the announcements of settled records, on its own connection and thread, which exist
// while there is a listener. Announcements that are sent while the connection is down are missed.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/redis_params.hpp"

namespace onceguard::redis {

class subscription {
 public:
  /// The masters now. Called on any thread. A cluster forwards a message to all of its nodes.
  using servers_now = std::function<std::vector<endpoint>()>;

  /// `timeout` bounds each try to connect. If the user may not publish or subscribe, the log says
  /// so once, and the listener is never called.
  subscription(address address, std::string channel, servers_now servers, milliseconds timeout);
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// From any thread, but not from within the listener. See store::on_settled().
  void listen(settled_listener listener);
  /// No listener is called any more.
  void stop();

 private:
  class subscriber;
  void tell(const std::vector<std::uint64_t>& settled);
  void log_refusal(const std::string& why);

  const address address_;
  const std::string channel_;
  const servers_now servers_;
  const milliseconds timeout_;
  std::atomic<bool> refusal_logged_{false};
  std::mutex telling_;  // guards what follows
  settled_listener listener_;
  std::mutex changing_;  // guards what follows
  bool stopped_ = false;
  std::unique_ptr<subscriber> reading_;
};

}  // namespace onceguard::redis
