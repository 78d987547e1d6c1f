// The commands that move messages until they are stopped: log, signals, the admin listener.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "admin/audit_api.hpp"
#include "admin/sign_ins.hpp"
#include "admin/worker_resources.hpp"
#include "cli/given_flags.hpp"
#include "cli/services/worker_pauses.hpp"
#include "config/load.hpp"

namespace onceguard::cli::services {

/// The work of such a command by the tables of the configuration: when these are read again, what
/// runs is finished, and the work begins anew by the new ones.
class rounds {
 public:
  using fits = std::function<bool(const config::settings&)>;
  using work = std::function<int(const config::settings&, const std::stop_source&)>;

  /// `has_work`: whether a configuration has tables for the command.
  rounds(const given_flags& given, const config::settings& first, fits has_work)
      : given_(given), current_(first), has_work_(std::move(has_work)) {}

  /// Blocks until a stop is requested or the work can't begin. Returns the exit code of the last
  /// round. Where the work can't begin by tables that were read again, the former ones stay.
  [[nodiscard]] int run(const work& one, const std::stop_token& stop);
  /// Reads the configuration again; from any thread. A fault is logged, and nothing changes.
  void reload();

 private:
  /// The round that a reload ends from now on. Tables that were read since the last one began, or
  /// during the start, are the current ones then; returns the former.
  [[nodiscard]] std::optional<config::settings> begin(const std::stop_source& round);
  void go_back(config::settings former);
  [[nodiscard]] bool has_next();
  void refuse();

  const given_flags& given_;
  config::settings current_;  // written under the mutex, by the thread of run()
  const fits has_work_;
  std::mutex mutex_;
  std::optional<config::settings> next_;  // under the mutex
  std::stop_source round_;                // under the mutex
};

/// Runs the work with the log that the settings ask for, shut in unless it `needs` more (see
/// shut_in()). SIGTERM, SIGINT and SIGQUIT request a
/// stop, and a second SIGINT ends the process amid the work; SIGHUP reads the tables again. Returns
/// the exit code, of `work` if the log could be opened.
[[nodiscard]] int run_until_stopped(
    const given_flags& given, const config::loaded& read, std::string_view needs,
    rounds::fits has_work, const std::function<int(rounds&, const std::stop_source&)>& work);

/// What operators do to the workers of a process. It outlives a reload, and the listener with it.
struct worker_acts {
  explicit worker_acts(const config::settings& settings);

  worker_pauses pauses;
  admin::audit_source audit;
  std::shared_ptr<admin::sign_ins> signed_in = std::make_shared<admin::sign_ins>();
};

/// What the workers of a process are, and who may pause them.
struct worker_crew {
  std::vector<std::string> names;  ///< one for each table of the configuration
  std::function<admin::worker_state()> state;
  worker_acts& acts;
  /// What else the listener serves, with where acts are written; empty: nothing.
  std::function<admin::resources(const admin::audit_source&)> more = {};
  /// Called before the listener ends.
  std::function<void()> close = {};
  std::string_view page = "workers";  ///< which views of the page there are
};

/// `work(i, stop)` for each worker, on a thread of its own, beside the admin listener. Blocks until
/// all have returned; one that does not return exit_ok stops the others. Returns the exit code; a
/// failure is logged.
[[nodiscard]] int run_workers(const config::settings& settings, std::stop_source stop,
                              const worker_crew& crew,
                              const std::function<int(std::size_t, std::stop_token)>& work);

/// Logs that one of the tables of the configuration can't be worked on. Returns the exit code.
[[nodiscard]] int start_failed(const std::string& table, const error& why);

}  // namespace onceguard::cli::services
