// The commands that move messages until they are stopped: log, signals, the admin listener.
#pragma once
#include <functional>
#include <stop_token>
#include <string>

#include "admin/server.hpp"
#include "config/load.hpp"

namespace onceguard::cli {

/// Runs the work with the log that the settings ask for. SIGTERM and SIGINT request a stop, and a
/// second SIGINT ends the process amid the work. Returns the exit code, of `work` if the log could
/// be opened.
[[nodiscard]] int run_until_stopped(const config::loaded& read,
                                    const std::function<int(const std::stop_source&)>& work);

/// Returns the exit code; a failure is logged.
[[nodiscard]] int start_listener(admin::server& listener);

/// Logs that one of the tables of the configuration can't be worked on. Returns the exit code.
[[nodiscard]] int start_failed(const std::string& table, const error& why);

}  // namespace onceguard::cli
