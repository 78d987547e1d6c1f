// From one process of the gateway to the next: the sockets that a process is given at its start,
// and how the running one gives its own to a successor.
#pragma once
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <onceguard/error.hpp>

#include "process/descriptor.hpp"
#include "process/passed_sockets.hpp"

namespace onceguard::config {
struct settings;
}  // namespace onceguard::config

namespace onceguard::cli {

/// The former process, as its successor sees it.
class predecessor {
 public:
  predecessor() = default;
  predecessor(process::descriptor line, pid_t number) : line_(std::move(line)), number_(number) {}

  /// Tells it that this process takes requests, so that it takes no more. Returns once it has
  /// announced the main process to the service manager, or is gone. Without a predecessor, nothing
  /// happens.
  void relieve();

 private:
  process::descriptor line_;
  pid_t number_ = 0;
};

/// What a process was given at its start, by the service manager or by its predecessor.
struct given_sockets {
  std::vector<process::descriptor> gateway;  ///< empty: none
  process::descriptor admin;
  predecessor former;
};

/// Sorts the passed sockets by their names, "gateway" and "admin", or else by their addresses. What
/// can't be used is logged, and closed. The error says which socket contradicts the configuration.
[[nodiscard]] result<given_sockets> sort_sockets(std::vector<process::passed_socket> passed,
                                                 const config::settings& settings);

/// A successor while it starts, as the running process sees it. Belongs to the thread of the
/// io_context.
class succession {
 public:
  struct inheritance {
    std::string listen;  ///< as the configuration of the running process says
    std::string admin;
    std::vector<std::pair<std::string, int>> sockets;  ///< by their names
    std::vector<std::string> variables;
  };

  explicit succession(boost::asio::io_context& io) : line_(io) {}

  /// Starts a process of the same command line. Later calls `ready` with its number once it takes
  /// requests, or `failed` if it ends before. Returns its number.
  [[nodiscard]] result<pid_t> begin(const inheritance& left, std::function<void(pid_t)> ready,
                                    std::function<void(pid_t)> failed);
  [[nodiscard]] bool under_way() const noexcept { return line_.is_open(); }
  /// The successor may speak to the service manager from now on.
  void confirm();

 private:
  void wait_for_message(pid_t successor);

  boost::asio::posix::stream_descriptor line_;
  std::function<void(pid_t)> ready_;
  std::function<void(pid_t)> failed_;
  process::descriptor handle_;  // of the successor
};

}  // namespace onceguard::cli
