// Holds up what a thread starts, just before it becomes its program: a test can kill it there.
#pragma once
#include <cstddef>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace onceguard::testing {

/// Runs `start` on a thread of its own, whose descendants are held up at their exec, the first of
/// which gets `kill`, with its id and that of its parent. It must end one of the two.
class held_at_exec {
 public:
  held_at_exec(std::function<void()> start, const std::function<void(pid_t, pid_t)>& kill) {
    std::promise<int> listening;
    auto listener = listening.get_future();
    thread_ = std::jthread([&listening, start = std::move(start)] {
      const int made = make_listener();
      listening.set_value(made);
      if (made >= 0) start();
    });
    const base::descriptor calls(listener.get());
    if (!calls.is_open()) throw std::runtime_error("this kernel holds no system calls up");
    seccomp_notif call{};
    if (::ioctl(calls.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
      throw std::runtime_error("nothing was started");
    }
    const auto held = static_cast<pid_t>(call.pid);
    kill(held, parent_of(held));
    thread_.join();
  }

 private:
  static int make_listener() {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(steps)), steps};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return static_cast<int>(
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
  }

  static pid_t parent_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return static_cast<pid_t>(std::stoi(text.substr(text.rfind(')') + 3)));
  }

  std::jthread thread_;
};

}  // namespace onceguard::testing
