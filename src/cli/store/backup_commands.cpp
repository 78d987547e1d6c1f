// `backup` and `restore`.
#include <iostream>

#include "cli/command.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/store/store_work.hpp"
namespace onceguard::cli {
namespace {

int run_backup(const given_flags& given, const std::string& text) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto* kind = kind_with_backups(*settings);
  if (kind == nullptr) return exit_usage;
  if (const auto why = unusable_store(settings->store.url); !why.empty()) {
    std::cerr << "onceguard: " << why << "\n";
    return exit_store;
  }
  const auto done = kind->back_up(settings->store, text);
  if (!done) return complain(done.error());
  std::cout << text << ": written\n";
  return exit_ok;
}

int run_restore(const given_flags& given, const std::string& source) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto* kind = kind_with_backups(*settings);
  if (kind == nullptr) return exit_usage;
  const auto done = kind->restore(settings->store, source);
  if (!done) return complain(done.error());
  std::cout << done->file << ": restored from " << source << "\n";
  if (!done->former.empty()) std::cout << done->former << ": what was there before\n";
  std::cout << "What was claimed since that backup is forgotten, and may run again. A gateway with "
               "state_dir notices\nit at its start, and does what after_loss says.\n";
  return exit_ok;
}

}  // namespace

void add_backup_command(command app) {
  const auto added = app.add_command(
      "backup", "Copy a SQLite store, also beside a running gateway, into a new file");
  const auto target = std::make_shared<std::string>();
  added.add_option("file", *target, "which must not be there yet").type("FILE").required();
  const auto given = add_store_flags(added);
  added.footer(
      "Example:\n  onceguard backup /backup/keys.db --store sqlite:/var/lib/onceguard/keys.db");
  added.runs([=] { return run_backup(*given, *target); });
}
void add_restore_command(command app) {
  const auto added = app.add_command(
      "restore", "Put a backup in the place of a SQLite store that no process has open");
  const auto source = std::make_shared<std::string>();
  added.add_option("file", *source, "what `onceguard backup` wrote").type("FILE").required();
  const auto given = add_store_flags(added);
  added.footer(
      "Example:\n  onceguard restore /backup/keys.db --store sqlite:/var/lib/onceguard/keys.db");
  added.runs([=] { return run_restore(*given, *source); });
}

}  // namespace onceguard::cli
