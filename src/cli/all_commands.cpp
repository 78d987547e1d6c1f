// The commands, in the order in which `onceguard --help` shows them.
#include "cli/command.hpp"

namespace onceguard::cli {

void add_all_commands(const command& program) {
  add_gateway_command(program);
  add_consume_command(program);
  add_relay_command(program);
  add_demo_command(program);
  add_send_command(program);
  add_health_command(program);
  add_check_command(program);
  add_doctor_command(program);
  add_explain_command(program);
  add_advise_command(program);
  add_conformance_command(program);
  add_keys_command(program);
  add_stats_command(program);
  add_report_command(program);
  add_reconcile_command(program);
  add_sweep_command(program);
  add_migrate_command(program);
  add_backup_command(program);
  add_restore_command(program);
}

}  // namespace onceguard::cli
