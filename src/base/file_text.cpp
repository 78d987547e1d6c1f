#include "base/file_text.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/clock.hpp"

namespace onceguard::base {
namespace {

constexpr std::chrono::milliseconds writer_wait{2'000};

struct open_file {
  explicit open_file(const std::string& path)
      : number(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~open_file() {
    if (number >= 0) ::close(number);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  const int number;
};

error file_refused(std::string why) { return {errc::invalid_argument, std::move(why)}; }

error file_unreadable(int code) {
  return file_refused("can't be read: " + std::generic_category().message(code));
}

enum class arrival : std::uint8_t { none, bytes, end };

/// What comes before that time.
arrival wait_readable(int file, boot_clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - boot_now());
  pollfd one{.fd = file, .events = POLLIN, .revents = 0};
  if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) {
    return arrival::none;
  }
  return (one.revents & POLLIN) != 0 ? arrival::bytes : arrival::end;
}

/// Of a pipe that has given nothing so far: its writer may still come. One that stays so holds no
/// text, rather than an empty one: it may have been read before. Empty: there is something now.
std::optional<error> wait_for_writer(int file, boot_clock::time_point end) {
  switch (wait_readable(file, end)) {
    case arrival::bytes:
      return std::nullopt;
    case arrival::none:
      return file_refused("is a pipe, and nobody writes to it");
    case arrival::end:
      break;
  }
  return file_refused("is a pipe that gives nothing; what was read once is gone");
}

}  // namespace

result<std::string> read_file(const std::string& path, std::size_t size_max, file_kind kind) {
  const open_file file(path);
  if (file.number < 0) return file_unreadable(errno);
  struct stat about {};
  if (::fstat(file.number, &about) != 0) return file_unreadable(errno);
  if (S_ISDIR(about.st_mode)) return file_unreadable(EISDIR);
  const bool regular = S_ISREG(about.st_mode);
  if (!regular && kind == file_kind::regular) return file_refused("is no regular file");
  const auto end = boot_now() + writer_wait;
  std::string out;
  constexpr std::size_t piece = 64u << 10;
  while (out.size() <= size_max) {
    const auto before = out.size();
    out.resize(before + piece);
    const auto got = ::read(file.number, out.data() + before, piece);
    const int code = errno;
    out.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) {
      if (!S_ISFIFO(about.st_mode) || !out.empty()) return out;
      if (auto why = wait_for_writer(file.number, end)) return *std::move(why);
      continue;
    }
    if (got > 0 || code == EINTR) continue;
    if (code != EAGAIN) return file_unreadable(code);
    if (wait_readable(file.number, end) == arrival::none) return file_unreadable(ETIMEDOUT);
  }
  return file_refused("is longer than " + std::to_string(size_max) + " bytes");
}

}  // namespace onceguard::base
