// The connection of `onceguard migrate`. It blocks, because nothing else runs meanwhile.
#include <libpq-fe.h>

#include "libpq/binary_format.hpp"
#include "libpq/conninfo.hpp"
#include "store/postgres/connection/remedy.hpp"
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

}  // namespace

result<migrated> migrate_database(const std::string& url, milliseconds timeout, bool finish) {
  auto where = parse_conninfo(url, timeout);
  if (!where) return where.error();
  const auto [handle, server] = connect(*where, milliseconds(0));
  if (PQstatus(handle.get()) != CONNECTION_OK) {
    return to_error(failure_of(handle.get()), server->name, effect::none);
  }
  const auto run = [session = handle.get(), &name = server->name](const std::string& sql) {
    return run_all(session, name, sql);
  };
  return migrate(run, finish);
}

}  // namespace onceguard::postgres
