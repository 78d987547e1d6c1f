// A database with the schema of Onceguard on the tests' own server, empty for each test.
#pragma once
#include <cstdint>
#include <string>

#include "store/postgres/schema.hpp"
#include "support/postgres_server.hpp"
#include "support/sql_session.hpp"

namespace onceguard::testing {

/// Only one object at a time on a server: a second object empties the records of the first.
class postgres_database {
 public:
  static constexpr std::int64_t beginning = 1'700'000'000'000;  ///< start of the tests' clock, ms

  explicit postgres_database(postgres_server& server = postgres_server::shared())
      : server_(server), admin_(made(server).url("onceguard")) {
    // A session that a test has left may still be at its last statement.
    admin_.run(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE datname = 'onceguard' AND pid <> pg_backend_pid();"
        "TRUNCATE onceguard.records;"
        "UPDATE onceguard.meta SET forgotten = 0, floor = 0, leases = 0;"
        "TRUNCATE onceguard.lease_counts, onceguard.listeners;"
        "DELETE FROM public.test_clock");
  }

  [[nodiscard]] std::string url() const { return server_.url("onceguard"); }
  /// A session of the superuser.
  [[nodiscard]] sql_session& admin() noexcept { return admin_; }
  /// Stops the database's clock at `now` (ms). Until the first call, the database uses the
  /// machine's clock.
  void set_clock(std::int64_t now) {
    // Tests set the clock thousands of times: an update in place costs a tenth of a new table.
    const auto position = std::to_string(now);
    admin_.run("WITH moved AS (UPDATE public.test_clock SET now = " + position +
               " RETURNING 1) INSERT INTO public.test_clock SELECT " + position +
               " WHERE NOT EXISTS (SELECT FROM moved)");
  }

  /// Replaces the schema as a restored dump does: the names stay, and the objects that sessions
  /// refer to in prepared statements are replaced.
  void make_schema_anew() {
    admin_.run("DROP SCHEMA onceguard CASCADE");
    make_schema(admin_);
  }

 private:
  /// Creates the database with the first test that needs the database.
  static postgres_server& made(postgres_server& server) {
    sql_session first(server.url());
    if (first.value("SELECT count(*) FROM pg_database WHERE datname = 'onceguard'") == "1") {
      return server;
    }
    first.run("CREATE DATABASE onceguard");
    sql_session inside(server.url("onceguard"));
    inside.run(
        "CREATE TABLE public.test_clock (now bigint NOT NULL);"
        "GRANT SELECT ON public.test_clock TO PUBLIC");
    make_schema(inside);
    return server;
  }

  static void make_schema(sql_session& inside) {
    const auto run = [&](const std::string& sql) -> result<std::string> {
      const auto rows = inside.run(sql);
      return rows.empty() || rows.front().empty() ? std::string() : rows.front().front();
    };
    postgres::migrate(run, {}).value();
    inside.run(
        "CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$"
        "  SELECT coalesce((SELECT now FROM public.test_clock),"
        "                  floor(date_part('epoch', clock_timestamp()) * 1000)::bigint) $$");
  }

  postgres_server& server_;
  sql_session admin_;
};

}  // namespace onceguard::testing
