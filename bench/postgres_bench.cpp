// What the PostgreSQL store does in a second, on a database that `onceguard migrate` made:
//   postgres_bench URL cycles CALLERS SECONDS [CONNECTIONS]    durable claims that are completed
//   postgres_bench URL replays CALLERS SECONDS [CONNECTIONS]   repeats of completed keys
//   postgres_bench URL commits 1 SECONDS                       rows of libpq itself, one by one
// Prints the rate and the median time of one, in microseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>

#include "callers.hpp"
#include "store/postgres/postgres_store.hpp"

namespace {

using namespace onceguard;
using namespace onceguard::bench;

/// What one bare commit takes: a row of the table `charges`, by libpq alone.
void commit_until_the_end(const char* url, load& of) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> on(PQconnectdb(url), PQfinish);
  while (steady::now() < of.end) {
    const auto begin = steady::now();
    const std::unique_ptr<PGresult, void (*)(PGresult*)> done(
        PQexec(on.get(), "INSERT INTO charges (amount) VALUES (500)"), PQclear);
    if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) {
      std::fprintf(stderr, "%s", PQerrorMessage(on.get()));
      std::exit(1);
    }
    of.took.push_back(microseconds_since(begin));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::fprintf(stderr,
                 "postgres_bench URL cycles|replays|commits CALLERS SECONDS [CONNECTIONS]\n");
    return 2;
  }
  const std::string_view what = argv[2];
  const bool replays = what == "replays";
  const std::size_t callers = std::stoul(argv[3]);
  const std::chrono::duration<double> seconds(std::stod(argv[4]));
  postgres::postgres_params params;
  params.url = argv[1];
  params.timeout = patience;
  if (argc == 6) params.connections = std::stoul(argv[5]);
  auto opened = postgres::postgres_store::open(params);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().detail.c_str());
    return 1;
  }
  load all{**opened, {}};
  if (replays) {
    run_callers(64, [&](std::size_t) { return complete_some(all, replayed_keys / 64); });
  }
  const auto begin = steady::now();
  all.end = begin + std::chrono::duration_cast<steady::duration>(seconds);
  if (what == "commits") {
    commit_until_the_end(argv[1], all);
  } else if (replays) {
    run_callers(callers, [&](std::size_t i) { return repeat_until_the_end(all, i, callers); });
  } else {
    run_callers(callers, [&](std::size_t) { return complete_until_the_end(all); });
  }
  print_result(all, begin);
  (*opened)->stop();
  return 0;
}
