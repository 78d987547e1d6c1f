// The gateway that the demo plays with: a child process over a SQLite file of its own.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "cli/demo/child.hpp"
#include "gateway/params.hpp"

namespace onceguard::cli::demo {

/// A folder for the time of the demo, removed with all that is in it.
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
  guard(const asio::any_io_executor& executor, gateway::endpoint upstream);

  /// Starts it, on the port that it had before if there was one, and waits until it listens.
  /// Throws std::runtime_error with its last log lines where it does not.
  asio::awaitable<void> start();
  /// SIGKILL: no goodbye.
  void kill() { process_.reset(); }

  [[nodiscard]] const gateway::endpoint& address() const noexcept { return address_; }
  [[nodiscard]] std::string store_url() const;
  /// The command line that it was started with, for a person.
  [[nodiscard]] std::string command() const;
  /// Runs `onceguard ARGUMENTS… --store …` beside the gateway.
  asio::awaitable<command_result> command_beside(std::vector<std::string> arguments) const;

 private:
  struct listening;
  [[nodiscard]] std::vector<std::string> arguments() const;

  asio::any_io_executor executor_;
  gateway::endpoint upstream_;
  gateway::endpoint address_{"127.0.0.1", 0};
  temporary_folder folder_;
  std::unique_ptr<child> process_;
};

/// "127.0.0.1:8080"
[[nodiscard]] std::string text_of(const gateway::endpoint& endpoint);

}  // namespace onceguard::cli::demo
