// The running gateway, for signals, for the service manager and for the admin listener.
#pragma once
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "admin/program.hpp"
#include "admin/request_metrics.hpp"
#include "admin/server.hpp"
#include "base/clock.hpp"
#include "cli/given_flags.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/services/decisions_beside.hpp"
#include "cli/services/succession.hpp"
#include "cli/services/traces.hpp"
#include "config/load.hpp"
#include "gateway/server.hpp"
#include "process/supervisor.hpp"

namespace onceguard::cli::services {

/// The signals of the gateway, on the main thread. What comes before somebody waits is kept.
struct signal_queue {
  signal_queue() {
    for (const int other : {SIGQUIT, SIGUSR1, SIGUSR2}) signals.add(other);
  }
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io, SIGINT, SIGTERM, SIGHUP};
};

class running_gateway final : public admin::program {
 public:
  /// `manager`: who hears how the gateway is. `starter`: of the process that takes its place.
  running_gateway(signal_queue& queue, gateway::server& server, const given_flags& given,
                  config::settings running, log::log_lines& lines, const traces* spans,
                  process::supervisor manager, process::successor_starter& starter);

  /// A reload also reads the listener's tokens. Before the io_context runs.
  void set_admin(admin::server* listener, admin::request_metrics* requests);
  /// A reload, a drain and an upgrade are this one's, too. Before the io_context runs.
  void set_decisions(decisions_beside* service) { decisions_ = service; }
  /// From now on the gateway takes requests. Before the io_context runs.
  void set_serving();

  [[nodiscard]] admin::phase phase_now() const noexcept override;
  [[nodiscard]] admin::program_gauges gauges() const override;
  [[nodiscard]] std::string configuration() const override;
  /// Those in force.
  [[nodiscard]] config::settings settings() const;
  /// For how long a record of this route keeps its answer, by the latest configuration.
  [[nodiscard]] milliseconds retention(const std::string& route) const;
  boost::asio::awaitable<admin::reload_outcome> reload(std::string author) override;
  void drain(std::string author) override;
  /// What is done by then has had its time; from the begin of a drain on.
  [[nodiscard]] base::boot_clock::time_point drain_end() const noexcept { return drain_end_; }

 private:
  void wait();
  void take(int signal);
  void end(int signal, std::string_view author);
  void reopen_log();
  void reopen_audit();
  [[nodiscard]] admin::reload_outcome reload_now(std::string_view author);
  [[nodiscard]] admin::reload_outcome take_configuration(std::string_view author);
  [[nodiscard]] std::string set_routing(config::settings read);
  boost::asio::awaitable<admin::reload_outcome> reload_here(std::string author);
  [[nodiscard]] std::string upgrade_refusal() const;
  void upgrade();
  void hand_over(const succession::word& successor);
  void drain_all();
  void beat();
  void check_threads();
  [[nodiscard]] std::string status() const;

  boost::asio::io_context& io_;
  boost::asio::signal_set& signals_;
  boost::asio::steady_timer drain_delay_;
  boost::asio::steady_timer beat_;
  gateway::server& server_;
  const given_flags& given_;
  const config::settings running_;
  log::log_lines& lines_;
  const traces* spans_;  // null: none are sent
  process::supervisor manager_;
  succession succession_;
  std::string stuck_;   // the threads that did not go on, as they were logged
  std::string status_;  // as it was announced to the manager
  mutable std::mutex effective_mutex_;
  config::settings effective_;  // under the mutex
  admin::server* admin_ = nullptr;
  admin::request_metrics* requests_ = nullptr;
  decisions_beside* decisions_ = nullptr;  // null: there is no [serve]
  std::atomic<bool> serving_{false};
  std::atomic<bool> reload_refused_{false};  // the last one
  std::atomic<std::uint64_t> reloads_refused_{0};
  std::atomic<bool> draining_{false};
  bool interrupted_ = false;  // by a first SIGINT
  std::atomic<base::boot_clock::time_point> drain_end_{};
};

}  // namespace onceguard::cli::services
