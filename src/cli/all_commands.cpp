// The commands, in the order in which `onceguard --help` shows them.
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/command.hpp"

namespace onceguard::cli {
namespace {

struct entry {
  std::string_view name;
  void (*add)(command);
};

constexpr std::array<entry, 22> entries{{
    {"gateway", add_gateway_command},
    {"consume", add_consume_command},
    {"relay", add_relay_command},
    {"exec", add_exec_command},
    {"mcp", add_mcp_command},
    {"demo", add_demo_command},
    {"send", add_send_command},
    {"health", add_health_command},
    {"check", add_check_command},
    {"doctor", add_doctor_command},
    {"explain", add_explain_command},
    {"advise", add_advise_command},
    {"conformance", add_conformance_command},
    {"keys", add_keys_command},
    {"messages", add_messages_command},
    {"stats", add_stats_command},
    {"report", add_report_command},
    {"reconcile", add_reconcile_command},
    {"sweep", add_sweep_command},
    {"migrate", add_migrate_command},
    {"backup", add_backup_command},
    {"restore", add_restore_command},
}};

}  // namespace

void add_commands(const command& program, std::string_view first_word) {
  const auto* const named = std::ranges::find(entries, first_word, &entry::name);
  if (named != entries.end()) return named->add(program);
  for (const auto& each : entries) each.add(program);
}

}  // namespace onceguard::cli
