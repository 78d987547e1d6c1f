// The demo's gateway: a child process with a temporary SQLite file.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "cli/demo/child.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::cli::demo {

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
  guard(const asio::any_io_executor& executor, gateway::endpoint upstream);

  /// Starts the gateway, on its previous port if there was one, and waits until it listens. Throws
  /// std::runtime_error with the last log lines if the gateway does not start.
  asio::awaitable<void> start();
  /// SIGKILL: no graceful shutdown.
  void kill() { process_.reset(); }

  [[nodiscard]] const gateway::endpoint& address() const noexcept { return address_; }
  [[nodiscard]] std::string store_url() const;
  /// The gateway's command line, for a person.
  [[nodiscard]] std::string command() const;
  /// Runs `onceguard ARGUMENTS… --store …` while the gateway runs.
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
