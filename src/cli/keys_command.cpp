#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace onceguard::cli {

void add_keys_command(CLI::App& app, int& exit_code) {
  auto* keys = app.add_subcommand("keys", "Look at records, and end what nobody else ends");
  keys->require_subcommand(1);
  keys->footer(
      "Example:\n"
      "  onceguard keys list --state unknown --store sqlite:onceguard.db");
  add_keys_list_command(*keys, exit_code);
  add_keys_show_command(*keys, exit_code);
  add_keys_release_command(*keys, exit_code);
  add_keys_complete_command(*keys, exit_code);
}

}  // namespace onceguard::cli
