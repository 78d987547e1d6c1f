// What a consumer of messages does in a second on PostgreSQL, with one connection, in a database
// that `onceguard migrate` made, with the tables handled (id text PRIMARY KEY) and effects (id
// text):
//   inbox_bench URL inbox SECONDS [BATCH]   the inbox, whose batches are transactions
//   inbox_bench URL article SECONDS         the usual article's way: for each message BEGIN, SELECT
//                                           whether it was handled, INSERT that it is, the effect,
//                                           COMMIT
// Each message's effect is one INSERT. Prints the rate.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/inbox_postgres.hpp>

namespace {

using onceguard::inbox_message;
using result_ptr = std::unique_ptr<PGresult, void (*)(PGresult*)>;

class client {
 public:
  explicit client(const char* url) : connection_(PQconnectdb(url), PQfinish) {
    run("SET synchronous_commit = on");
    prepare("effect", "INSERT INTO effects VALUES ($1)");
    prepare("seen", "SELECT 1 FROM handled WHERE id = $1");
    prepare("note", "INSERT INTO handled VALUES ($1)");
  }

  [[nodiscard]] PGconn* get() const { return connection_.get(); }
  void run(const char* statement) { expect_done(result_ptr(PQexec(get(), statement), PQclear)); }
  /// The number of rows.
  int run_prepared(const char* name, const std::string& id) {
    const char* const values[]{id.c_str()};
    const result_ptr got(PQexecPrepared(get(), name, 1, values, nullptr, nullptr, 0), PQclear);
    expect_done(got);
    return PQntuples(got.get());
  }

 private:
  void prepare(const char* name, const char* statement) {
    expect_done(result_ptr(PQprepare(get(), name, statement, 0, nullptr), PQclear));
  }
  void expect_done(const result_ptr& got) {
    const auto status = PQresultStatus(got.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
    std::fprintf(stderr, "%s", PQerrorMessage(get()));
    std::exit(1);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

std::string next_id() {
  static int number = 0;
  return "message-" + std::to_string(number++);
}

/// Handles a batch with the inbox; returns its size.
int with_inbox(client& database, onceguard::postgres::inbox& inbox, int size) {
  std::vector<std::string> ids;
  for (int i = 0; i < size; ++i) ids.push_back(next_id());
  std::vector<inbox_message> batch;
  for (const auto& id : ids) batch.push_back({id, "a payload of some bytes"});
  const auto done = inbox.process(batch, [&](const inbox_message& one, const onceguard::lease&) {
    database.run_prepared("effect", std::string(one.id));
  });
  if (done) return size;
  std::fprintf(stderr, "%s\n", done.error().detail.c_str());
  std::exit(1);
}

int as_the_article(client& database) {
  const auto id = next_id();
  database.run("BEGIN");
  if (database.run_prepared("seen", id) == 0) {
    database.run_prepared("note", id);
    database.run_prepared("effect", id);
  }
  database.run("COMMIT");
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "usage: inbox_bench URL inbox|article SECONDS [BATCH]\n");
    return 2;
  }
  const std::string_view way = words[2];
  const std::chrono::duration<double> length(std::atof(words[3]));
  const int batch = count > 4 ? std::atoi(words[4]) : 64;
  client database(words[1]);
  database.run("TRUNCATE handled, effects");
  onceguard::postgres::inbox inbox(database.get(), "bench-" + std::to_string(::getpid()));
  const auto begin = std::chrono::steady_clock::now();
  long handled = 0;
  std::chrono::duration<double> taken{};
  while (taken < length) {
    handled += way == "inbox" ? with_inbox(database, inbox, batch) : as_the_article(database);
    taken = std::chrono::steady_clock::now() - begin;
  }
  std::printf("%.0f per second\n", static_cast<double>(handled) / taken.count());
  return 0;
}
