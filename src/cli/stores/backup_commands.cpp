// `backup` and `restore`.
#include <iostream>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"
namespace onceguard::cli::stores {
namespace {

int run_check(const store_kind& kind, const std::string& path) {
  const auto found = kind.check_copy(path);
  if (!found) return complain(found.error());
  std::cout << path << ": " << *found << "\n";
  return exit_ok;
}

int run_backup(const given_flags& given, const std::string& text, bool checks) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto* kind = kind_with_backups(*settings);
  if (kind == nullptr) return exit_usage;
  if (checks) return run_check(*kind, text);
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

void add_backup_command(const command& added) {
  const auto target = std::make_shared<std::string>();
  const auto checks = std::make_shared<bool>(false);
  added.add({{"FILE", target.get(), "What to write; it must not be there yet", required("")},
             {"--check", checks.get(),
              "Write nothing: read all of the copy FILE, and say whether it is whole"}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_backup(*given, *target, *checks); });
}

void add_restore_command(const command& added) {
  const auto source = std::make_shared<std::string>();
  added.add({{"FILE", source.get(), "What `onceguard backup` wrote", required("")}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_restore(*given, *source); });
}

}  // namespace onceguard::cli::stores
