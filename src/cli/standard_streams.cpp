#include "cli/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "cli/exit_code.hpp"

namespace onceguard::cli {
namespace {

/// What std::cout writes to. It keeps the reason of the first write that failed, which the C
/// library's own stream forgets; nothing is written after that.
class standard_output final : public std::streambuf {
 public:
  /// 0: all went out so far.
  [[nodiscard]] int failure() const noexcept { return failure_; }

 private:
  static constexpr std::size_t held_most = 64 * 1024;

  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (failure_ != 0) return 0;
    held_.append(text, static_cast<std::size_t>(size));
    return held_.size() >= held_most && sync() != 0 ? 0 : size;
  }

  int sync() override {
    std::string_view left(held_);
    while (failure_ == 0 && !left.empty()) {
      const auto written = ::write(STDOUT_FILENO, left.data(), left.size());
      if (written >= 0) {
        left.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        pollfd output{STDOUT_FILENO, POLLOUT, 0};
        ::poll(&output, 1, -1);
      } else if (errno != EINTR) {
        failure_ = errno;
      }
    }
    held_.clear();
    return failure_ == 0 ? 0 : -1;
  }

  std::string held_;
  int failure_ = 0;
};

// Lives as long as the program, as std::cout does, which flushes it at the very end.
standard_output* cout_buffer = nullptr;

}  // namespace

void prepare_standard_streams() {
  // A pipe without a reader, and a file over the limit of its size.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  // The next file or socket would get the number of one that is closed, and the lines that are
  // meant for it. For reading alone: what is written there fails as it would have.
  for (int one = STDIN_FILENO; one <= STDERR_FILENO; ++one) {
    if (::fcntl(one, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
  }
  cout_buffer = new standard_output;
  std::cout.rdbuf(cout_buffer);
}

int end_of_output(int exit_code) {
  std::cout.flush();
  const int why = cout_buffer->failure();
  if (why == 0) return exit_code;
  // Not where its reader has gone by itself, as `head` does.
  if (why != EPIPE) {
    std::cerr << "onceguard: standard output can't be written: "
              << std::generic_category().message(why) << "\n";
  }
  return exit_code == exit_ok ? exit_failed : exit_code;
}

}  // namespace onceguard::cli
