#include <iostream>
#include <span>
#include <string>

#include "base/hex.hpp"
#include "base/octets.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"
#include "config/stores.hpp"
#include "messaging/postgres_queue/queue_table.hpp"

namespace onceguard::cli::stores {
namespace {

struct wanted {
  bool print = false;
  bool finish = false;
  std::string queue;   ///< [SCHEMA.]TABLE
  std::string outbox;  ///< the same
};

using table_maker = result<void> (*)(const std::string& url, milliseconds timeout);

/// Makes a table of messages in the store's database. `kind`: "queue" or "outbox".
int make_table(const std::string& database, const std::string& table, const std::string& kind,
               table_maker make) {
  constexpr milliseconds timeout{30'000};
  std::string url = database;
  url += (url.find('?') == std::string::npos ? '?' : '&') + kind + '=';
  for (const char c : table) {  // what a URL's parameter can't hold as it is
    const bool plain = base::is_token(std::string_view(&c, 1)) && c != '%' && c != '&' && c != '+';
    const auto byte = static_cast<unsigned char>(c);
    url += plain ? std::string(1, c) : "%" + base::to_hex(std::span(&byte, 1));
  }
  const auto made = make(url, timeout);
  if (made) {
    std::cout << kind << ' ' << table << ": there\n";
    return exit_ok;
  }
  if (made.error().code != errc::invalid_argument && made.error().code != errc::conflict) {
    return complain(made.error());
  }
  std::cerr << "onceguard: " << made.error().detail << "\n";
  return exit_configuration;
}

int report(const store_kind::migrated& done) {
  if (done.former == done.version) {
    std::cout << "schema onceguard: version " << done.version << " already";
  } else if (done.former == 0) {
    std::cout << "schema onceguard: created, version " << done.version;
  } else {
    std::cout << "schema onceguard: from version " << done.former << " to " << done.version;
  }
  std::cout << (done.functions && done.former == done.version ? ", functions renewed\n" : "\n");
  return exit_ok;
}

bool has_schema(const store_kind& kind) { return kind.schema != nullptr; }

int print_scripts(bool finish) {
  for (const auto* kind : config::known_stores().kinds()) {
    if (has_schema(*kind) && kind->schema->script != nullptr)
      std::cout << kind->schema->script(finish);
  }
  return exit_ok;
}

int run_migrate(const given_flags& given, const wanted& wanted) {
  if (wanted.print) return print_scripts(wanted.finish);
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto* kind = config::known_stores().kind_of(settings->store.url);
  if (kind == nullptr || !has_schema(*kind)) {
    std::cout << "nothing to do: only " << config::known_stores().examples(has_schema)
              << " has a schema to migrate\n";
    return exit_ok;
  }
  const auto& database = settings->store.url;
  if (kind->schema->script == nullptr && !(wanted.queue.empty() && wanted.outbox.empty())) {
    std::cerr << "onceguard: tables of messages are made in PostgreSQL\n";
    return exit_usage;
  }
  if (!wanted.queue.empty()) {
    return make_table(database, wanted.queue, "queue", messaging::postgres_queue::create_queue);
  }
  if (!wanted.outbox.empty()) {
    return make_table(database, wanted.outbox, "outbox", messaging::postgres_queue::create_outbox);
  }
  const auto done = kind->schema->migrate(settings->store, wanted.finish);
  if (done) return report(*done);
  const auto code = done.error().code;
  if (code != errc::conflict && code != errc::invalid_argument) return complain(done.error());
  std::cerr << "onceguard: " << done.error().detail << "\n";
  return exit_configuration;
}

}  // namespace

void add_migrate_command(const command& added) {
  const auto given = add_store_flags(added);
  const auto value = std::make_shared<wanted>();
  added.add(
      {{"--print", &value->print,
        "print the SQL of a new schema instead, for those who apply it themselves"},
       {"--finish", &value->finish, "no older version of onceguard is in use any more"},
       {"--queue", &value->queue,
        "make this table for a queue of messages instead, if it is not there yet",
        typed("[SCHEMA.]TABLE")},
       {"--outbox", &value->outbox, "make this table for an outbox instead, if it is not there yet",
        not_with("--queue", typed("[SCHEMA.]TABLE"))}});
  added.runs([=] { return run_migrate(*given, *value); });
}

}  // namespace onceguard::cli::stores
