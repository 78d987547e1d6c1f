// The subcommands, one file each. Each adds itself to the program; when it is the one that was
// asked for, it runs while the command line is parsed and leaves the exit code.
#pragma once

namespace CLI {
class App;
}

namespace onceguard::cli {

void add_gateway_command(CLI::App& app, int& exit_code);
void add_demo_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_explain_command(CLI::App& app, int& exit_code);
void add_keys_command(CLI::App& app, int& exit_code);
void add_stats_command(CLI::App& app, int& exit_code);
void add_sweep_command(CLI::App& app, int& exit_code);
void add_migrate_command(CLI::App& app, int& exit_code);

// Below `onceguard keys`.
void add_keys_list_command(CLI::App& keys, int& exit_code);
void add_keys_show_command(CLI::App& keys, int& exit_code);
void add_keys_release_command(CLI::App& keys, int& exit_code);
void add_keys_complete_command(CLI::App& keys, int& exit_code);

}  // namespace onceguard::cli
