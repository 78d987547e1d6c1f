// The decision service as its signals find it.
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "admin/server.hpp"
#include "cli/given_flags.hpp"
#include "cli/services/run_signals.hpp"
#include "cli/services/succession.hpp"
#include "config/load.hpp"
#include "serve/server.hpp"

namespace onceguard::cli::services {

/// A stop drains the service, SIGHUP reads its rules again, and SIGUSR2 starts the process that
/// takes this one's place.
class running_decisions {
 public:
  struct parts {
    serve::server& server;
    admin::server& admin;
    bool shares_store;  ///< another process would find its records
  };

  running_decisions(const given_flags& given, config::settings running, log::log_lines& lines,
                    process::supervisor manager, process::successor_starter& starter);
  running_decisions(const running_decisions&) = delete;
  running_decisions& operator=(const running_decisions&) = delete;
  ~running_decisions() { signals_.end(); }

  [[nodiscard]] std::stop_token stopping() const { return signals_.stop().get_token(); }
  /// From now on signals concern it; null: not any more. Those of the start were kept for it.
  void serve(const parts* service);

 private:
  [[nodiscard]] std::string status() const;
  [[nodiscard]] std::string upgrade_refusal() const;
  void react_to_early_signals();
  void drain();
  void upgrade();
  void hand_over(const succession::word& successor);
  void reload();
  [[nodiscard]] bool take_configuration();
  /// The reaction, under the mutex.
  [[nodiscard]] std::function<void()> locked(void (running_decisions::*reaction)());
  [[nodiscard]] signal_hooks hooks();
  [[nodiscard]] bool stop_requested() const { return signals_.stop().stop_requested(); }

  const given_flags& given_;
  const config::settings running_;
  std::mutex mutex_;
  // Under the mutex.
  const parts* service_ = nullptr;
  bool reload_waits_ = false;  // for the end of the start
  bool upgrade_waits_ = false;
  run_signals signals_;
  succession succession_;
};

}  // namespace onceguard::cli::services
