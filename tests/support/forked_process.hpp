// A process that is forked from the test, executes nothing, and lives as long as the object.
#pragma once
#include <array>
#include <functional>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onceguard::testing {

class forked_process {
 public:
  /// Returns once the process has done `act`, of which nothing may need another thread.
  explicit forked_process(const std::function<void()>& act = [] {}) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error("socketpair");
    }
    char byte = 'x';
    number_ = ::fork();
    if (number_ == 0) {
      ::close(ends[0]);
      act();
      if (::write(ends[1], &byte, 1) != 1) ::_exit(1);
      ::_exit(::read(ends[1], &byte, 1) == 0 ? 0 : 1);  // once the other end is closed
    }
    ::close(ends[1]);
    end_ = ends[0];
    if (::read(end_, &byte, 1) != 1) throw std::runtime_error("the forked process has ended");
  }
  ~forked_process() {
    ::close(end_);
    ::waitpid(number_, nullptr, 0);
  }
  forked_process(const forked_process&) = delete;
  forked_process& operator=(const forked_process&) = delete;

 private:
  pid_t number_ = -1;
  int end_ = -1;
};

}  // namespace onceguard::testing
