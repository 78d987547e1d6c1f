#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "consume/receiver.hpp"

namespace onceguard::consume {
namespace {

using messaging::handling;
using messaging::not_handled;
using time_point = base::boot_clock::time_point;

constexpr int poll_interval = 10;   // milliseconds
constexpr int exit_temporary = 75;  // EX_TEMPFAIL of sysexits.h
constexpr int exit_bad_data = 65;   // EX_DATAERR

/// A file descriptor that closes itself.
class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { close(); }
  [[nodiscard]] int get() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

int left_until(time_point end) {
  const auto rest = std::chrono::ceil<milliseconds>(end - base::boot_now());
  return static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 1'000'000));
}

/// A header's name as CGI has it (RFC 3875): X_GITHUB_EVENT.
std::string variable_name(std::string_view header) {
  std::string out(header);
  for (auto& c : out) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) c = static_cast<char>(c - 'a' + 'A');
    if (!letter && !kept) c = '_';
  }
  return out;
}

/// The program of one message.
class child {
 public:
  child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      fault_ = std::string("no pipe: ") + std::strerror(errno);
      return;
    }
    const descriptor reading(ends[0]);
    input_ = std::make_unique<descriptor>(ends[1]);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    spawn(command, environment, reading.get());
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (pid_ > 0) kill_and_wait();
  }

  /// Why it did not start; empty: it did.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

  /// Writes its standard input; it may end without reading all of it. False: the time is over.
  [[nodiscard]] bool feed(std::string_view bytes, time_point end) {
    while (!bytes.empty()) {
      const auto written = ::write(input_->get(), bytes.data(), bytes.size());
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
        continue;
      }
      if (written < 0 && errno == EPIPE) break;
      if (written < 0 && errno != EAGAIN && errno != EINTR) break;
      pollfd waiting{input_->get(), POLLOUT, 0};
      if (::poll(&waiting, 1, left_until(end)) == 0) return false;
    }
    input_->close();
    return true;
  }

  /// The status of waitpid; nullopt: the time is over.
  [[nodiscard]] std::optional<int> wait(time_point end) {
    // Old kernels, sandboxes and a process without descriptors give none: then poll only sleeps.
    const descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    while (true) {
      int status = 0;
      const auto ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) {
        pid_ = -1;
        return status;
      }
      const int left = left_until(end);
      if (left == 0 || (ended < 0 && errno != EINTR)) return std::nullopt;
      pollfd waiting{process.get(), POLLIN, 0};
      ::poll(&waiting, 1, process.get() < 0 ? std::min(left, poll_interval) : left);
    }
  }

 private:
  void spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             int input) {
    const auto pointers_to = [](const std::vector<std::string>& texts) {
      std::vector<char*> out;
      for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
      out.push_back(nullptr);
      return out;
    };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    // Its output goes where the log goes: standard output belongs to nobody here.
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    sigset_t none;
    sigset_t usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) ::sigaddset(&usual, ignored);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const auto words = pointers_to(command);
    const auto variables = pointers_to(environment);
    const int failed =
        ::posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (failed == 0) return;
    pid_ = -1;
    fault_ = command.front() + " can't be started: " + std::strerror(failed);
  }

  /// With whatever it has started itself.
  void kill_and_wait() noexcept {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::unique_ptr<descriptor> input_;
  pid_t pid_ = -1;
  std::string fault_;
};

class command final : public receiver {
 public:
  explicit command(const consume_params& params) : params_(params) {}

  handling take(const handover& given) override {
    const auto end = base::boot_now() + params_.timeout;
    child running(params_.command, environment_for(given));
    if (!running.fault().empty()) return not_handled(inbox_result::failed, running.fault());
    if (!running.feed(given.received->payload, end)) return timed_out();
    const auto status = running.wait(end);
    return status ? outcome_of(*status) : timed_out();
  }

 private:
  [[nodiscard]] std::vector<std::string> environment_for(const handover& given) const {
    // An id with a NUL in it has no form in an environment.
    const auto id = given.id.find('\0') == std::string::npos ? given.id : given.key;
    // In front: of two values with the same name a program finds the first.
    std::vector<std::string> out{"ONCEGUARD_MESSAGE_ID=" + id,
                                 "ONCEGUARD_IDEMPOTENCY_KEY=" + given.key,
                                 "ONCEGUARD_ATTEMPT=" + std::to_string(given.attempt),
                                 "ONCEGUARD_SUBSCRIBER=" + params_.subscriber};
    for (const auto& name : params_.headers) {
      const auto* value = messaging::header_of(*given.received, name);
      const bool has_form = value != nullptr && value->find('\0') == std::string::npos;
      // Set in any case: the consumer's own environment is not the message's.
      out.push_back("ONCEGUARD_HEADER_" + variable_name(name) + "=" + (has_form ? *value : ""));
    }
    const auto added = out.size();
    const auto is_ours = [&](std::string_view variable) {
      return std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(added),
                         [&](const std::string& one) {
                           return variable.starts_with(one.substr(0, one.find('=') + 1));
                         });
    };
    for (char** one = environ; *one != nullptr; ++one) {
      if (!is_ours(*one)) out.emplace_back(*one);
    }
    return out;
  }

  [[nodiscard]] handling timed_out() const {
    return not_handled(inbox_result::unknown,
                       params_.command.front() + " did not end within its timeout, and was killed",
                       unknown_reason::upstream_timeout);
  }

  [[nodiscard]] handling outcome_of(int status) const {
    const auto& name = params_.command.front();
    if (WIFSIGNALED(status)) {
      return not_handled(inbox_result::unknown,
                         name + " ended by signal " + std::to_string(WTERMSIG(status)),
                         unknown_reason::upstream_broken);
    }
    const int code = WEXITSTATUS(status);
    const auto text = name + " ended with " + std::to_string(code);
    if (code == 0) return {};
    if (code == exit_temporary) return not_handled(inbox_result::failed, text);
    if (code == exit_bad_data) return not_handled(inbox_result::dead, text);
    return not_handled(inbox_result::unknown, text, unknown_reason::upstream_status);
  }

  const consume_params params_;
};

}  // namespace

std::unique_ptr<receiver> make_command(const consume_params& params) {
  return std::make_unique<command>(params);
}

}  // namespace onceguard::consume
