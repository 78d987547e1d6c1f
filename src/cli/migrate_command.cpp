#include <iostream>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"
#include "config/stores.hpp"
#include "store/postgres/migration_session.hpp"

namespace onceguard::cli {
namespace {

struct wanted {
  postgres::migration_params params;
  bool print = false;
};

int report(const postgres::migrated& done) {
  if (done.from == done.to) {
    std::cout << "schema onceguard: version " << done.to << " already";
  } else if (done.from == 0) {
    std::cout << "schema onceguard: created, version " << done.to;
  } else {
    std::cout << "schema onceguard: from version " << done.from << " to " << done.to;
  }
  std::cout << (done.functions && done.from == done.to ? ", functions renewed\n" : "\n");
  return exit_ok;
}

int run_migrate(const given_flags& given, const wanted& wanted) {
  if (wanted.print) {
    std::cout << postgres::migration_script(wanted.params);
    return exit_ok;
  }
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto& store = settings->store;
  const auto* kind = config::known_stores().kind_of(store.url);
  if (kind == nullptr || !kind->needs_migration) {
    const auto fits = [](const store_kind& known) { return known.needs_migration; };
    std::cout << "nothing to do: only " << config::known_stores().examples(fits)
              << " has a schema to migrate\n";
    return exit_ok;
  }
  const auto done = postgres::migrate_database(store.url, store.timeout, wanted.params);
  if (done) return report(*done);
  const auto code = done.error().code;
  if (code != errc::conflict && code != errc::invalid_argument) return complain(done.error());
  std::cerr << "onceguard: " << done.error().detail << "\n";
  return exit_configuration;
}

}  // namespace

void add_migrate_command(command app) {
  const auto added = app.add_command(
      "migrate", "Create the schema of a PostgreSQL store, or bring it to this version's");
  const auto given = add_store_flags(added);
  const auto value = std::make_shared<wanted>();
  added.add_flag("--print", value->print,
                 "print the SQL of a new schema instead, for those who apply it themselves");
  added.add_flag("--finish", value->params.finish,
                 "no older version of onceguard is in use any more");
  added.footer("Example:\n  onceguard migrate --store postgresql://owner@db.internal/payments");
  added.runs([=] { return run_migrate(*given, *value); });
}

}  // namespace onceguard::cli
