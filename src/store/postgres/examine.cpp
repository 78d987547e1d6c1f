#include "store/postgres/examine.hpp"

#include <cstdint>
#include <libpq-fe.h>

#include "base/certificate.hpp"
#include "base/number_in.hpp"
#include "libpq/binary_format.hpp"
#include "libpq/conninfo.hpp"
#include "store/examination.hpp"
#include "store/postgres/postgres_store.hpp"

namespace onceguard::postgres {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

constexpr auto facts_query =
    "SELECT pg_catalog.current_setting('server_version'), pg_catalog.pg_backend_pid(),"
    " (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint,"
    " pg_catalog.current_setting('fsync'), pg_catalog.current_setting('full_page_writes'),"
    " pg_catalog.current_setting('max_connections'),"
    " (SELECT count(*) FROM pg_catalog.pg_stat_replication),"
    " pg_catalog.current_setting('synchronous_standby_names')";

std::string finding_id(std::string_view subject) {
  return diagnosis_id(store_role::truth, subject);
}

void examine_files(const target& target, base::diagnoses& out) {
  // "system": the certificates of the system.
  if (const auto file = option_of(target.options, "sslrootcert");
      !file.empty() && file != "system") {
    out.push_back(
        base::examine_certificate(file, finding_id("certificate"), "the store's sslrootcert"));
  }
  if (const auto file = option_of(target.options, "sslcert"); !file.empty()) {
    out.push_back(
        base::examine_certificate(file, finding_id("certificate"), "the store's sslcert"));
  }
  if (const auto file = option_of(target.options, "sslkey"); !file.empty()) {
    out.push_back(base::examine_key(file, finding_id("key"), "the store's sslkey"));
  }
}

std::int64_t server_number(const char* text) {
  return base::number_in<std::int64_t>(text).value_or(0);
}

void examine_pooler(PGconn* connection, std::int64_t process, base::diagnoses& out) {
  // A pooler greets with the number of a process of its own.
  if (PQbackendPID(connection) == process) return;
  out.push_back(
      {grade::note, finding_id("pooler"),
       "a pooler stands in front of the server: each transaction brings its settings, and "
       "settles of other processes are noticed by polling",
       "connect to the server itself if repeats are to wait for twins in other processes "
       "(docs/postgresql.md)"});
}

void examine_durability(const char* fsync, const char* full_pages, base::diagnoses& out) {
  for (const auto& [name, value] : {std::pair("fsync", fsync), {"full_page_writes", full_pages}}) {
    if (std::string_view(value) == "on") continue;
    out.push_back({grade::warning, finding_id("durability"),
                   std::string(name) + " is " + value +
                       ": a crash of the server's machine may lose or damage records, and what "
                       "they guard runs again",
                   std::string("type: ALTER SYSTEM SET ") + name + " = on"});
  }
}

void examine_connections(std::size_t wanted, std::int64_t most, base::diagnoses& out) {
  // Other gateways and the application need some as well.
  if (static_cast<std::int64_t>(wanted) * 4 <= most) return;
  out.push_back({grade::note, finding_id("connections"),
                 "a gateway takes " + std::to_string(wanted) + " of the server's " +
                     std::to_string(most) + " connections",
                 "lower [store] connections, or raise max_connections"});
}

/// Release notes of 14.4: an index that was built CONCURRENTLY may lack rows.
void examine_version(const char* version, base::diagnoses& out) {
  if (!is_faulty(version, {"14.0", "14.4"})) return;
  out.push_back({grade::warning, finding_id("version"),
                 "PostgreSQL " + std::string(version) +
                     ": an index that was built or rebuilt CONCURRENTLY may lack rows, and a key "
                     "that is not found runs again",
                 "update to 14.4 or later, and type: REINDEX SCHEMA of the store"});
}

/// The store's own commits are synchronous, whatever the server's synchronous_commit is; whether
/// they wait for a standby is up to the server.
void examine_replication(std::int64_t standbys, std::string_view waited_for, base::diagnoses& out) {
  const auto number = std::to_string(standbys) + (standbys == 1 ? " standby" : " standbys");
  if (!waited_for.empty()) {
    return out.push_back(
        {grade::ok,
         finding_id("replication"),
         number + "; commits wait for " + std::string(waited_for) + " (synchronous_standby_names)",
         {}});
  }
  if (standbys == 0) {
    return out.push_back(
        {grade::ok, finding_id("replication"), "no standby follows the server", {}});
  }
  out.push_back({grade::warning, finding_id("replication"),
                 number + ", and no commit waits for one: a failover loses the last records, and "
                          "what they guard runs again",
                 "set synchronous_standby_names, and [gateway] state_dir, by which the loss is "
                 "noticed; see docs/postgresql.md"});
}

void examine_server(const conninfo& where, const store_params& params, base::diagnoses& out) {
  const auto connection = connect(where, params.timeout).handle;
  const auto sent = params.clock->wall_ms();
  const result_ptr got(PQexec(connection.get(), facts_query));
  const auto received = params.clock->wall_ms();
  if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) {
    out.push_back({grade::note,
                   finding_id("settings"),
                   where.name + ": the server's settings can't be read",
                   {}});
    return;
  }
  const auto value = [&](int column) { return PQgetvalue(got.get(), 0, column); };
  out.front().text += " (PostgreSQL " + std::string(value(0)) + ")";
  const auto round_trip = received - sent;
  out.push_back(diagnose_clock(store_role::truth, server_number(value(2)) - sent - round_trip / 2,
                               round_trip));
  examine_pooler(connection.get(), server_number(value(1)), out);
  examine_durability(value(3), value(4), out);
  examine_connections(params.connections, server_number(value(5)), out);
  examine_version(value(0), out);
  examine_replication(server_number(value(6)), value(7), out);
}

}  // namespace

base::diagnoses examine(const store_params& params) {
  const auto where = parse_conninfo(params.url, params.timeout);
  if (!where) return {diagnose_refusal(store_role::truth, where.error())};
  base::diagnoses out;
  // As a gateway does: it checks the schema and the rights.
  const auto opened = postgres_store::open(
      {.url = params.url, .timeout = params.timeout, .clock = params.clock, .connections = 1});
  if (opened) {
    out.push_back(
        {grade::ok, finding_id("reach"), where->name + ": schema and rights are there", {}});
    examine_server(*where, params, out);
  } else {
    out.push_back(diagnose_refusal(store_role::truth, opened.error()));
  }
  examine_files(where->targets.front(), out);
  return out;
}

}  // namespace onceguard::postgres
