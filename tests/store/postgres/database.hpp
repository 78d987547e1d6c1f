// A database with the schema of Onceguard on the tests' own server, empty for each test.
#pragma once
#include <cstdint>
#include <string>

#include "store/postgres/schema.hpp"
#include "support/postgres_server.hpp"
#include "support/sql_session.hpp"

namespace onceguard::testing {

/// One at a time on a server: a second one empties the first one's records.
class postgres_database {
 public:
  static constexpr std::int64_t beginning = 1'700'000'000'000;  ///< of the clock of tests

  explicit postgres_database(postgres_server& server = postgres_server::shared())
      : on_(server), admin_(made(server).url("onceguard")) {
    admin_.run(
        "TRUNCATE onceguard.records; UPDATE onceguard.meta SET forgotten = 0;"
        "DELETE FROM public.test_clock");
  }

  [[nodiscard]] std::string url() const { return on_.url("onceguard"); }
  /// Of the superuser.
  [[nodiscard]] sql_session& admin() noexcept { return admin_; }
  /// From here on the database's clock stands still; before, it is the machine's.
  void set_clock(std::int64_t now) {
    // Tests move it thousands of times: an update in place costs a tenth of a new table.
    const auto position = std::to_string(now);
    admin_.run("WITH moved AS (UPDATE public.test_clock SET now = " + position +
               " RETURNING 1) INSERT INTO public.test_clock SELECT " + position +
               " WHERE NOT EXISTS (SELECT FROM moved)");
  }

  /// As a restored dump does: the same names, and other objects behind what sessions have prepared.
  void make_schema_anew() {
    admin_.run("DROP SCHEMA onceguard CASCADE");
    make_schema(admin_);
  }

 private:
  /// The database is made with the first test that needs it.
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

  postgres_server& on_;
  sql_session admin_;
};

}  // namespace onceguard::testing
