#include "cli/exec/signal_relay.hpp"

#include <algorithm>
#include <array>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace onceguard::cli::exec {
namespace {

constexpr std::array<int, 9> relayed{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                                     SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
/// Of these, none ends a process that has no command.
constexpr std::array<int, 5> harmless{SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
/// Whoever sends a signal to a process and to its group (as timeout(1) does) means one.
constexpr std::chrono::milliseconds one_act{100};
/// Ends the thread. The kernel sends it to nobody by itself.
constexpr int end_of_thread = SIGURG;

}  // namespace

signal_relay::signal_relay() {
  ::sigemptyset(&taken_);
  ::sigemptyset(&ignored_);
  for (const int signal : relayed) {
    ::sigaddset(&taken_, signal);
    struct sigaction former {};
    ::sigaction(signal, nullptr, &former);
    if (former.sa_handler == SIG_IGN) ::sigaddset(&ignored_, signal);
  }
  ::sigaddset(&taken_, end_of_thread);
  ::pthread_sigmask(SIG_BLOCK, &taken_, &former_);
  // Whoever started this process may ignore it: no exit code would come.
  std::signal(SIGCHLD, SIG_DFL);
  thread_ = std::jthread([this] { take(); });
}

signal_relay::~signal_relay() { end_thread(); }

void signal_relay::end_thread() {
  if (!thread_.joinable()) return;
  ::pthread_kill(thread_.native_handle(), end_of_thread);
  thread_.join();
}

void signal_relay::send_to(running_command* command) {
  const std::lock_guard lock(mutex_);
  command_ = command;
  // The signal came while the command was being started, too late to keep it from beginning.
  if (command_ != nullptr && stopped_by_ != 0) command_->signal(std::exchange(stopped_by_, 0));
}

void signal_relay::take() {
  while (true) {
    siginfo_t taken{};
    if (::sigwaitinfo(&taken_, &taken) < 0) continue;
    if (taken.si_signo == end_of_thread) return;
    pass_on(taken);
  }
}

bool signal_relay::is_repeated(const siginfo_t& taken) {
  const auto now = base::boot_now();
  const bool same =
      taken.si_signo == last_signal_ && taken.si_pid == last_sender_ && now - last_taken_ < one_act;
  last_signal_ = taken.si_signo;
  last_sender_ = taken.si_pid;
  last_taken_ = now;
  return same;
}

void signal_relay::pass_on(const siginfo_t& taken) {
  const std::lock_guard lock(mutex_);
  const int signal = taken.si_signo;
  const bool for_others = taken.si_code == SI_USER && taken.si_pid == ::getpid();
  // Also while no command runs: one that is being started gets the signal by send_to(), and one
  // that a key has ended may be gone before the thread takes the signal.
  if (taken.si_code == SI_KERNEL || for_others) typed_ = signal;
  if (for_others) return;  // the command has it from its own terminal
  if (is_repeated(taken)) return;
  if (command_ != nullptr) {
    if (signal == SIGWINCH) {
      command_->resize_terminal();
    } else {
      command_->signal(signal);
    }
    return;
  }
  if (std::ranges::find(harmless, signal) != harmless.end()) {
    if (signal == SIGTSTP) stop_here();
    return;
  }
  // Whoever started this process may ignore it, as nohup does.
  if (stopped_by_ != 0 || ::sigismember(&ignored_, signal) == 1) return;
  stopped_by_ = signal;
  stop_.request_stop();
}

void signal_relay::stop_here() const {
  if (::sigismember(&ignored_, SIGTSTP) == 1) return;
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGTSTP);
  ::pthread_kill(::pthread_self(), SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

void signal_relay::end_by_signal(int code) {
  end_thread();
  // What came before, and the thread had not taken yet.
  constexpr timespec at_once{};
  siginfo_t taken{};
  while (::sigtimedwait(&taken_, &taken, &at_once) > 0) {
    if (taken.si_signo != end_of_thread) pass_on(taken);
  }
  // A script ends with a command that its terminal has ended, but not with an exit code of 130.
  if (stopped_by_ == 0 && typed_ != 0 && code == 128 + typed_) stopped_by_ = typed_;
  if (stopped_by_ == 0) return;
  std::signal(stopped_by_, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, stopped_by_);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(stopped_by_);
}

}  // namespace onceguard::cli::exec
