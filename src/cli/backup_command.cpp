#include <iostream>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"

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

}  // namespace onceguard::cli
