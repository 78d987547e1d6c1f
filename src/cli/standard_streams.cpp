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

#include "cli/command.hpp"

namespace onceguard::cli {
namespace {

/// The buffer of std::cout. Keeps the errno of the first failed write, which the C library's stream
/// would lose. Nothing is written after a failure.
class standard_output final : public std::streambuf {
 public:
  /// The errno of the first failed write; 0: no failure.
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

// Never deleted: std::cout flushes its buffer at the very end of the program.
standard_output* cout_buffer = nullptr;

}  // namespace

void prepare_standard_streams() {
  // SIGPIPE: a pipe without a reader. SIGXFSZ: a file beyond its size limit.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  // A closed standard descriptor's number would be reused for the next file or socket, which would
  // then receive output. Opened read-only, so that writes fail as they would on a closed
  // descriptor.
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
  // EPIPE is normal when the reader stops early, as `head` does.
  if (why != EPIPE) {
    std::cerr << "onceguard: standard output can't be written: "
              << std::generic_category().message(why) << "\n";
  }
  return exit_code == exit_ok ? exit_failed : exit_code;
}

}  // namespace onceguard::cli
