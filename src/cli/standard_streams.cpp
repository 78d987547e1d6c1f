#include "cli/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include "cli/exit_code.hpp"

namespace onceguard::cli {
namespace {

bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

void prepare_standard_streams() {
  // A pipe without a reader, and a file over the limit of its size.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  // The next file or socket would get the number of one that is closed, and the lines that are
  // meant for it. For reading alone: what is written there fails as it would have.
  for (int one = STDIN_FILENO; one <= STDERR_FILENO; ++one) {
    if (::fcntl(one, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
  }
}

int end_of_output(int exit_code) {
  errno = 0;
  if (std::cout.flush().good()) return exit_code;
  if (errno == 0) std::fflush(stdout);  // an earlier write failed: why?
  if (!reader_is_gone()) {
    std::cerr << "onceguard: standard output can't be written";
    if (errno != 0) std::cerr << ": " << std::generic_category().message(errno);
    std::cerr << "\n";
  }
  return exit_code == exit_ok ? exit_failed : exit_code;
}

}  // namespace onceguard::cli
