// The demo's gateway: a child process with a temporary SQLite file.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/address.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {

// Child processes of the demo: the same program with other arguments.

/// The path of this program.
[[nodiscard]] std::string this_program();

/// A running child process. The destructor kills and reaps the child; the kernel kills it if the
/// demo dies first. The child gets none of this process's ONCEGUARD_* variables.
class child {
 public:
  /// Called with each line of the child's standard error, and with an empty optional at the end.
  using line_handler = std::function<void(std::optional<std::string_view> line)>;

  /// Starts this program with these arguments. Throws std::system_error if that fails. `on_line` is
  /// called on the executor's thread.
  child(const asio::any_io_executor& executor, const std::vector<std::string>& arguments,
        line_handler on_line);
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() { kill(); }

  /// Sends SIGKILL and waits until the child has ended.
  void kill();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
};

/// The output and exit code of a command.
struct command_result {
  int exit_code = -1;
  std::string output;  ///< standard output; of a command that failed, standard error too
};

/// Runs this program with these arguments until it ends.
asio::awaitable<command_result> run_command(const std::vector<std::string>& arguments);

/// A temporary folder, which the destructor removes with its contents.
class temporary_folder {
 public:
  temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// `onceguard gateway` in front of an upstream. One thread at a time.
class guard {
 public:
  /// `page`: with an admin listener and an audit log.
  guard(const asio::any_io_executor& executor, base::endpoint upstream, bool page);

  /// Starts the gateway, on its previous port if there was one, and waits until it listens. Throws
  /// std::runtime_error with the last log lines if the gateway does not start.
  asio::awaitable<void> start();
  /// SIGKILL: no graceful shutdown.
  void kill() { process_.reset(); }

  [[nodiscard]] const base::endpoint& address() const noexcept { return address_; }
  /// HOST:PORT of the running gateway's admin listener; empty: it has none.
  [[nodiscard]] std::string admin_address() const;
  [[nodiscard]] std::string store_url() const;
  [[nodiscard]] std::string audit_file() const;
  /// The gateway's command line, for a person.
  [[nodiscard]] std::string command() const;
  /// Runs `onceguard ARGUMENTS… --store …` while the gateway runs.
  asio::awaitable<command_result> command_beside(std::vector<std::string> arguments) const;

 private:
  struct listening;
  [[nodiscard]] std::vector<std::string> arguments() const;

  asio::any_io_executor executor_;
  base::endpoint upstream_;
  const bool page_;
  base::endpoint address_{"127.0.0.1", 0};
  temporary_folder folder_;
  std::shared_ptr<listening> startup_;  // what the latest process said of itself
  std::unique_ptr<child> process_;
};

}  // namespace onceguard::demo
