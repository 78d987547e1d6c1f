// The decision service of a gateway: both over one engine, so that what waits for a twin gets its
// answer at once, whichever of the two the twin came through.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <onceguard/guard.hpp>

#include "config/settings.hpp"
#include "gateway/server.hpp"
#include "serve/server.hpp"

namespace onceguard::cli::services {

/// Belongs to the thread of the signals. The gateway must outlive it.
class decisions_beside {
 public:
  /// Before the gateway starts, which then ends only after this.
  decisions_beside(gateway::server& gateway, store& records, const config::settings& settings);
  decisions_beside(const decisions_beside&) = delete;
  decisions_beside& operator=(const decisions_beside&) = delete;
  ~decisions_beside();

  /// After the gateway has started. `passed`: a socket that listens already, if there is one.
  [[nodiscard]] result<void> start(const http1::passed_listener& passed);
  /// errc::invalid_argument: they can't be its rules; those before stay.
  [[nodiscard]] result<void> reload(const config::settings& settings);
  void drain() { service_.drain(); }
  void hand_over(bool socket_goes_on) { service_.hand_over(socket_goes_on); }
  [[nodiscard]] std::string address() const { return service_.local().text(); }
  [[nodiscard]] int socket() const { return service_.socket(); }
  [[nodiscard]] bool made_file() const { return service_.made_file(); }

 private:
  gateway::server& gateway_;
  /// The end of the gateway looks at it, whatever is gone by then.
  std::shared_ptr<std::atomic<bool>> serving_ = std::make_shared<std::atomic<bool>>(false);
  guard records_;
  serve::server service_;
  std::thread ending_;
};

}  // namespace onceguard::cli::services
