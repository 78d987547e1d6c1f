// What the PostgreSQL store does in a second, on a database that `onceguard migrate` made:
//   postgres_bench URL cycles CALLERS SECONDS [CONNECTIONS]    durable claims that are completed
//   postgres_bench URL replays CALLERS SECONDS [CONNECTIONS]   repeats of completed keys
//   postgres_bench URL commits 1 SECONDS                       rows of libpq itself, one by one
//   postgres_bench URL rows 1 SECONDS                          each inserted, and then updated
// Prints the rate and the median time of one, in microseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "callers.hpp"
#include "store/postgres/postgres_store.hpp"

namespace {

using namespace onceguard;
using namespace onceguard::bench;

/// libpq alone, which waits for each of its round trips.
class bare_client {
 public:
  explicit bare_client(const char* url) : on_(PQconnectdb(url), PQfinish) {}

  void run(const char* statement) { expect_done(PQexec(on_.get(), statement)); }
  void prepare(const char* name, const char* statement) {
    expect_done(PQprepare(on_.get(), name, statement, 0, nullptr));
  }
  void run_prepared(const char* name, std::initializer_list<std::string_view> values) {
    std::vector<const char*> items;
    std::vector<int> sizes;
    for (const auto value : values) {
      items.push_back(value.data());
      sizes.push_back(static_cast<int>(value.size()));
    }
    const std::vector<int> binary(values.size(), 1);
    expect_done(PQexecPrepared(on_.get(), name, static_cast<int>(items.size()), items.data(),
                               sizes.data(), binary.data(), 1));
  }

 private:
  void expect_done(PGresult* got) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> done(got, PQclear);
    if (PQresultStatus(got) == PGRES_COMMAND_OK) return;
    std::fprintf(stderr, "%s", PQerrorMessage(on_.get()));
    std::exit(1);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> on_;
};

/// What one bare commit takes: a row of the table `charges`.
void commit_until_the_end(const char* url, load& load) {
  bare_client client(url);
  while (steady::now() < load.end) {
    const auto begin = steady::now();
    client.run("INSERT INTO charges (amount) VALUES (500)");
    load.took.push_back(microseconds_since(begin));
  }
}

/// What a claim and its settle can't go below: a row of postgres_bare.sql, written twice.
void write_rows_until_the_end(const char* url, load& load) {
  bare_client client(url);
  client.prepare(
      "insert",
      "INSERT INTO bare VALUES ($1::bytea, nextval('bare_tokens'), $2::bytea, 2, $3::bytea)");
  client.prepare("update",
                 "UPDATE bare SET state = 4, answer = $3::bytea"
                 " WHERE digest = $1::bytea AND nonce = $2::bytea");
  while (steady::now() < load.end) {
    const auto request = make_claim();
    const auto begin = steady::now();
    client.run_prepared("insert", {base::as_chars(request.id), base::as_chars(request.claim_id),
                                   request.about->key});
    client.run_prepared(
        "update", {base::as_chars(request.id), base::as_chars(request.claim_id), load.kept->body});
    load.took.push_back(microseconds_since(begin));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::fprintf(stderr,
                 "postgres_bench URL cycles|replays|commits|rows CALLERS SECONDS [CONNECTIONS]\n");
    return 2;
  }
  const std::string_view description = argv[2];
  const bool replays = description == "replays";
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
  if (description == "commits") {
    commit_until_the_end(argv[1], all);
  } else if (description == "rows") {
    write_rows_until_the_end(argv[1], all);
  } else if (replays) {
    run_callers(callers, [&](std::size_t i) { return repeat_until_the_end(all, i, callers); });
  } else {
    run_callers(callers, [&](std::size_t) { return complete_until_the_end(all); });
  }
  print_result(all, begin);
  (*opened)->stop();
  return 0;
}
