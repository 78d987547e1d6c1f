#include "cli/exec/signal_relay.hpp"

#include <array>
#include <pthread.h>
#include <unistd.h>

namespace onceguard::cli {
namespace {

constexpr std::array<int, 7> relayed{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
/// Ends the thread. The kernel sends it to nobody by itself.
constexpr int end_of_thread = SIGURG;

}  // namespace

signal_relay::signal_relay() {
  ::sigemptyset(&taken_);
  for (const int signal : relayed) ::sigaddset(&taken_, signal);
  ::sigaddset(&taken_, end_of_thread);
  ::pthread_sigmask(SIG_BLOCK, &taken_, &former_);
  // Whoever started this process may ignore it: no exit code would come.
  std::signal(SIGCHLD, SIG_DFL);
  thread_ = std::jthread([this] { take(); });
}

signal_relay::~signal_relay() {
  ::pthread_kill(thread_.native_handle(), end_of_thread);
  thread_.join();
}

void signal_relay::send_to(running_command* command) {
  const std::lock_guard lock(mutex_);
  command_ = command;
}

void signal_relay::take() {
  while (true) {
    siginfo_t taken{};
    if (::sigwaitinfo(&taken_, &taken) < 0) continue;
    if (taken.si_signo == end_of_thread) return;
    pass_on(taken);
  }
}

void signal_relay::pass_on(const siginfo_t& taken) {
  const std::lock_guard lock(mutex_);
  const int signal = taken.si_signo;
  if (command_ != nullptr) {
    // Of the terminals that the command has of its own, the kernel knows nothing.
    if (signal == SIGWINCH) command_->resize_terminal();
    if (signal == SIGWINCH || taken.si_code != SI_KERNEL) command_->signal(signal);
    return;
  }
  const bool ends = signal != SIGWINCH && signal != SIGUSR1 && signal != SIGUSR2;
  if (!ends || stopped_by_ != 0) return;
  stopped_by_ = signal;
  stop_.request_stop();
}

void signal_relay::end_by_signal() const {
  if (stopped_by_ == 0) return;
  std::signal(stopped_by_, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, stopped_by_);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(stopped_by_);
}

}  // namespace onceguard::cli
