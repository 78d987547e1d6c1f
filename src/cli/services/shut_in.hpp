// A long-running process gives up what it does not need, before its work begins.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/program.hpp"
#include "admin/worker_resources.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::services {

/// What is not limited, and why.
using left_open = std::vector<std::pair<std::string_view, std::string>>;

/// Unless `sandbox = "off"`: from now on the process writes where the configuration says that it
/// writes, and runs no program. Before there are threads. `why_not`: its work needs more; empty:
/// it does not.
[[nodiscard]] left_open shut_in(const config::settings& settings, std::string_view why_not = {});

/// Whether this process can run no program any more.
[[nodiscard]] bool is_shut_in() noexcept;

/// Logs what is in force, once the log is where the configuration says.
void log_shut_in(const left_open& parts);

/// For the metrics of a process without a gateway.
void add_limits(admin::worker_state& out);

}  // namespace onceguard::cli::services
