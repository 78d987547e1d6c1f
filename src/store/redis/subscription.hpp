// Hears which records ended, whoever ended them: on a connection and a thread of its own, which
// are there while somebody listens. What is told while the connection is away is missed.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/address.hpp"

namespace onceguard::redis {

class subscriber;

class subscription {
 public:
  /// Who the masters are now; any thread. What one of a cluster is told, all are.
  using servers_now = std::function<std::vector<endpoint>()>;

  /// `timeout` bounds each try to connect. A user who may not publish or subscribe is told once in
  /// the log, and nothing is heard.
  subscription(address address, std::string channel, servers_now servers, milliseconds timeout);
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// Any thread, but never what is told itself. See store::on_settled.
  void listen(settled_listener listener);
  /// Nobody is told any more, whoever listens later.
  void stop();

 private:
  friend class subscriber;
  void tell(const std::vector<std::uint64_t>& settled);
  void log_refusal(const std::string& why);

  const address at_;
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
