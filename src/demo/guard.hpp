// The demo's gateway: a child process with a temporary SQLite file.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/address.hpp"
#include "demo/child.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {

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
