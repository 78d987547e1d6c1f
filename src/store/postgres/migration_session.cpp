// The connection of `onceguard migrate`. It blocks, because nothing else runs meanwhile.
#include <libpq-fe.h>
#include <memory>
#include <vector>

#include "store/postgres/connection/conninfo.hpp"
#include "store/postgres/connection/failure.hpp"
#include "store/postgres/queries/wire.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

using connection_ptr = std::unique_ptr<PGconn, void (*)(PGconn*)>;

connection_ptr connect(const target& target) {
  const connect_arguments arguments(target);
  return {PQconnectdbParams(arguments.names.data(), arguments.values.data(), 0), PQfinish};
}

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
  error why(errc::store_unreachable, where->name + ": it names no server");
  for (const auto& target : where->targets) {
    const auto connection = connect(target);
    if (PQstatus(connection.get()) != CONNECTION_OK) {
      why = to_error(failure_of(connection.get()), target.name, effect::none);
      continue;
    }
    // Notices (for example of a role that exists already) are of no use here.
    PQsetNoticeReceiver(
        connection.get(), [](void*, const PGresult*) {}, nullptr);
    return migrate(
        [&](const std::string& sql) { return run_all(connection.get(), target.name, sql); },
        finish);
  }
  return why;
}

}  // namespace onceguard::postgres
