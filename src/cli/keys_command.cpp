
#include "cli/commands.hpp"

namespace onceguard::cli {

void add_keys_command(command app) {
  const auto keys = app.add_command("keys", "Look at records, and end what nobody else ends");
  keys.needs_command();
  keys.footer(
      "Example:\n"
      "  onceguard keys list --state unknown --store sqlite:onceguard.db");
  add_keys_list_command(keys);
  add_keys_show_command(keys);
  add_keys_release_command(keys);
  add_keys_complete_command(keys);
  add_keys_export_command(keys);
  add_keys_import_command(keys);
}

}  // namespace onceguard::cli
