// The signals that end a proxy between two peers.
#pragma once
#include <csignal>
#include <functional>
#include <thread>

namespace onceguard::cli::services {

/// SIGTERM, SIGINT, SIGQUIT and SIGHUP. Made before other threads, which inherit the mask.
/// SIGCHLD gets its default.
class end_signals {
 public:
  end_signals();
  end_signals(const end_signals&) = delete;
  end_signals& operator=(const end_signals&) = delete;
  ~end_signals() { end(); }

  /// From now on each of them calls `stop`, on a thread of its own.
  void begin(std::function<void()> stop);
  /// No more signals are waited for.
  void end();

 private:
  sigset_t taken_{};
  std::thread thread_;
};

}  // namespace onceguard::cli::services
