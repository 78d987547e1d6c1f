// The connection of `onceguard migrate` and `onceguard keys index`. It blocks, because nothing else
// runs meanwhile.
#include <libpq-fe.h>

#include "libpq/binary_format.hpp"
#include "libpq/conninfo.hpp"
#include "store/postgres/connection/remedy.hpp"
#include "store/postgres/queries/statements.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

/// Reads all results of one simple query, which may contain many statements. The last result
/// counts.
result<std::string> run_all(PGconn* connection, const std::string& name, const std::string& sql) {
  result_ptr got;
  bool done = PQsendQuery(connection, sql.c_str()) == 1;
  // The first failure counts: a server or a pooler says why before it ends the connection.
  while (result_ptr next{PQgetResult(connection)}) {
    const auto status = PQresultStatus(next.get());
    if (done) got = std::move(next);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) done = false;
  }
  if (!done) {
    const auto failed = got ? failure_of(got.get()) : failure_of(connection);
    auto why = to_error(failed, name, effect::none);
    // A missing permission is no fault of the URL or the flags.
    if (failed.sqlstate == no_permission) why.code = errc::store_unreachable;
    return why;
  }
  if (PQntuples(got.get()) == 0 || PQnfields(got.get()) == 0) return std::string();
  return std::string(PQgetvalue(got.get(), 0, 0));
}

/// `Use`: sql_runner → result<Outcome>
template <class Outcome, class Use>
result<Outcome> on_connection(const std::string& url, milliseconds timeout, Use use) {
  auto where = parse_conninfo(url, timeout);
  if (!where) return where.error();
  const auto [handle, server] = connect(*where, milliseconds(0));
  if (PQstatus(handle.get()) != CONNECTION_OK) {
    return to_error(failure_of(handle.get()), server->name, effect::none);
  }
  const auto run = [session = handle.get(), &name = server->name](const std::string& sql) {
    return run_all(session, name, sql);
  };
  return use(sql_runner(run));
}

}  // namespace

result<migrated> migrate_database(const std::string& url, milliseconds timeout, bool finish) {
  return on_connection<migrated>(url, timeout,
                                 [finish](const sql_runner& run) { return migrate(run, finish); });
}

result<void> index_keys(const std::string& url, milliseconds timeout, bool drop) {
  return on_connection<void>(url, timeout, [drop](const sql_runner& run) -> result<void> {
    auto found = run(std::string("SELECT (") + find_key_index.text + ")");
    if (!found) return found.error();
    if (*found == "t" && !drop) return {};
    // A build that was broken off leaves an index that is not valid. None of these may be in a
    // transaction with another.
    const std::string dropped = "DROP INDEX CONCURRENTLY IF EXISTS onceguard.records_by_key";
    if (auto done = run(dropped); !done) return done.error();
    if (drop) return {};
    if (auto done = run(make_key_index); !done) return done.error();
    // How many records have one key, as the planner needs to know.
    if (auto done = run("ANALYZE onceguard.records"); !done) return done.error();
    return {};
  });
}

}  // namespace onceguard::postgres
