// Child processes of the demo: this same program with other arguments.
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

#include "cli/demo/wire.hpp"

namespace onceguard::cli::demo {

/// The path of this program.
[[nodiscard]] std::string own_program();

/// A running child. Killed and reaped when destroyed, and by the kernel should the demo die first.
/// It gets none of this process's ONCEGUARD_* variables.
class child {
 public:
  /// Called with each line of the child's error output, and with nothing at its end.
  using line_handler = std::function<void(std::optional<std::string_view> line)>;

  /// Starts this program with these arguments; throws std::system_error where it can't.
  /// `on_line` is called on the executor's thread.
  child(const asio::any_io_executor& executor, const std::vector<std::string>& arguments,
        line_handler on_line);
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() { kill(); }

  /// SIGKILL, and waits until it is gone.
  void kill();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
};

/// What a command printed, and how it ended.
struct command_result {
  int exit_code = -1;
  std::string output;  ///< what it wrote, errors included
};

/// Runs this program with these arguments to its end.
asio::awaitable<command_result> run_command(const std::vector<std::string>& arguments);

}  // namespace onceguard::cli::demo
