// The subcommands, one file each. Each function adds its subcommand to the program.
#pragma once
#include "cli/command.hpp"

namespace onceguard::cli {

void add_gateway_command(command app);
void add_demo_command(command app);
void add_check_command(command app);
void add_explain_command(command app);
void add_keys_command(command app);
void add_stats_command(command app);
void add_reconcile_command(command app);
void add_sweep_command(command app);
void add_migrate_command(command app);
void add_backup_command(command app);
void add_restore_command(command app);

// The subcommands of `onceguard keys`.
void add_keys_list_command(command keys);
void add_keys_show_command(command keys);
void add_keys_release_command(command keys);
void add_keys_complete_command(command keys);
void add_keys_export_command(command keys);
void add_keys_import_command(command keys);

}  // namespace onceguard::cli
