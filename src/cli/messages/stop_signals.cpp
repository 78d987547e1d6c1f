#include "cli/messages/stop_signals.hpp"

#include <atomic>

namespace onceguard::cli::messages {
namespace {

std::atomic<int> noted{0};

void note_signal(int number) { noted = number; }

}  // namespace

stop_signals::stop_signals() : former_{{SIGTERM, {}}, {SIGINT, {}}, {SIGHUP, {}}, {SIGQUIT, {}}} {
  noted = 0;
  for (auto& each : former_) {
    struct sigaction wanted {};
    wanted.sa_handler = note_signal;
    wanted.sa_flags = SA_RESTART;
    if (each.number == SIGINT) wanted.sa_flags |= static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&wanted.sa_mask);
    ::sigaction(each.number, nullptr, &each.action);
    if (each.action.sa_handler != SIG_IGN) ::sigaction(each.number, &wanted, nullptr);
  }
}

stop_signals::~stop_signals() {
  for (const auto& each : former_) ::sigaction(each.number, &each.action, nullptr);
}

const char* stop_signals::signal() noexcept {
  switch (noted.load()) {
    case 0:
      return nullptr;
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "SIGQUIT";
  }
}

}  // namespace onceguard::cli::messages
