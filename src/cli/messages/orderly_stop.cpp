#include "cli/messages/orderly_stop.hpp"

#include <atomic>

namespace onceguard::cli::messages {
namespace {

std::atomic<int> noted{0};

void note_signal(int number) { noted = number; }

}  // namespace

orderly_stop::orderly_stop() : former_{{SIGTERM, {}}, {SIGINT, {}}, {SIGHUP, {}}, {SIGQUIT, {}}} {
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

orderly_stop::~orderly_stop() {
  for (const auto& each : former_) ::sigaction(each.number, &each.action, nullptr);
}

const char* orderly_stop::signal() noexcept {
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
