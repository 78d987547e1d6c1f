// The subcommands, one file each. Each function adds its subcommand to the program.
#pragma once
#include "cli/command.hpp"

namespace onceguard::cli {

// The program's exit codes. Scripts rely on them.

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;         ///< at run time
inline constexpr int exit_usage = 2;          ///< unknown flags, missing arguments
inline constexpr int exit_configuration = 3;  ///< a wrong value in file, environment or flag
inline constexpr int exit_store = 4;          ///< the store can't be reached
inline constexpr int exit_not_found = 5;

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
