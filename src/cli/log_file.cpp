#include "cli/log_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>

namespace onceguard::cli {

result<int> open_log_file(const std::string& path) {
  constexpr mode_t rights = 0640;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int opened = ::open(path.c_str(), flags, rights);
  if (opened < 0) {
    auto why = errno == ENXIO ? std::string(
                                    "a FIFO that nobody reads, or a socket; start the "
                                    "reader of a FIFO first")
                              : std::generic_category().message(errno);
    return error(errc::invalid_argument, std::move(why));
  }
  // From now on, a write waits for a slow reader.
  ::fcntl(opened, F_SETFL, ::fcntl(opened, F_GETFL) & ~O_NONBLOCK);
  return opened;
}

}  // namespace onceguard::cli
