// Child processes of the demo: the same program with other arguments.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "demo/wire.hpp"

namespace onceguard::demo {

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

}  // namespace onceguard::demo
