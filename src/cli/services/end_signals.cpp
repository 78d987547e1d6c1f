#include "cli/services/end_signals.hpp"

#include <utility>

namespace onceguard::cli::services {

end_signals::end_signals() {
  ::sigemptyset(&taken_);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGURG}) ::sigaddset(&taken_, signal);
  ::pthread_sigmask(SIG_BLOCK, &taken_, nullptr);
  std::signal(SIGCHLD, SIG_DFL);
}

void end_signals::begin(std::function<void()> stop) {
  thread_ = std::thread([this, stop = std::move(stop)] {
    int signal = 0;
    while (::sigwait(&taken_, &signal) == 0 && signal != SIGURG) stop();
  });
}

void end_signals::end() {
  if (!thread_.joinable()) return;
  ::pthread_kill(thread_.native_handle(), SIGURG);
  thread_.join();
}

}  // namespace onceguard::cli::services
