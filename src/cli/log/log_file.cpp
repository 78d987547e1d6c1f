#include "cli/log/log_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include "base/log.hpp"

namespace onceguard::cli::log {

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

std::optional<int> log_descriptor(const config::log_params& params) {
  if (params.file.empty()) return STDERR_FILENO;
  const auto opened = open_log_file(params.file);
  if (opened) return *opened;
  std::cerr << "onceguard: [gateway] log_file " << params.file << ": " << opened.error().detail
            << "\n";
  return std::nullopt;
}

void log_remarks(const config::remarks& remarks) {
  for (const auto& r : remarks) {
    if (r.weight == config::remark::grade::note) continue;
    const bool fault = r.weight == config::remark::grade::fault;
    base::log(base::event::configuration, fault ? base::log_level::error : base::log_level::warning,
              {{"at", r.position.text()}, {"remark", r.message}});
  }
}

}  // namespace onceguard::cli::log
