// What the PostgreSQL store does in a second, on a database that `onceguard migrate` made:
//   postgres_bench URL cycles CALLERS SECONDS [CONNECTIONS]    durable claims that are completed
//   postgres_bench URL replays CALLERS SECONDS [CONNECTIONS]   repeats of completed keys
//   postgres_bench URL bare CALLERS SECONDS                    the same number of bare rows at once
//   postgres_bench URL commits 1 SECONDS                       rows of libpq itself, one by one
//   postgres_bench URL rows 1 SECONDS                          each inserted, and then updated
// Prints the rate and the median time of one, in microseconds.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/hash.hpp"
#include "callers.hpp"
#include "libpq/binary_format.hpp"
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
  /// Prepared statements in one transaction, whose results come together.
  void run_together(std::vector<std::pair<const char*, postgres::parameters>> calls) {
    auto* const here = on_.get();
    bool sent = PQenterPipelineMode(here) == 1;
    for (const auto& [name, values] : calls) sent = sent && values.send(here, name);
    if (!sent || PQpipelineSync(here) != 1) std::abort();
    for (std::size_t ends = 0; ends < calls.size();) {
      if (auto* got = PQgetResult(here); got == nullptr) {
        ++ends;
      } else {
        expect_done(got);
      }
    }
    PQclear(PQgetResult(here));  // of the Sync
    if (PQexitPipelineMode(here) != 1) std::abort();
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

constexpr const char* insert_bare =
    "INSERT INTO bare SELECT i.digest, i.token, i.claim_id, 2, i.token, i.token, i.subject"
    " FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[])"
    " AS i(digest, token, claim_id, subject)";
constexpr const char* update_bare =
    "UPDATE bare b SET state = 4, deadline_at = 0, outcome = i.outcome"
    " FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS i(digest, claim_id, outcome)"
    " WHERE b.digest = i.digest AND b.claim_id = i.claim_id";
constexpr std::size_t bare_bytes = 150;  // about what a small subject or answer takes

/// Batches of bare rows on one connection: each trip updates the rows of the trip before, and
/// inserts others.
class bare_batches {
 public:
  explicit bare_batches(const char* url) : client_(url) {
    client_.run(
        "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;"
        "SET plan_cache_mode = force_generic_plan");
    client_.prepare("insert", insert_bare);
    client_.prepare("update", update_bare);
  }

  void trip(std::size_t count) {
    auto rows = std::exchange(inserted_, {});
    for (std::size_t i = 0; i < count; ++i) inserted_.push_back(make_claim());
    client_.run_together({{"update", updates(rows)}, {"insert", inserts()}});
  }

 private:
  [[nodiscard]] postgres::parameters inserts() const {
    const std::string subject(bare_bytes, 's');
    postgres::array_value ids(postgres::type::bytes), tokens(postgres::type::int8),
        claim_ids(postgres::type::bytes), subjects(postgres::type::bytes);
    for (const auto& each : inserted_) {
      ids.bytes(each.id);
      tokens.int8(1);
      claim_ids.bytes(each.claim_id);
      subjects.bytes(subject);
    }
    postgres::parameters out;
    out.array(ids).array(tokens).array(claim_ids).array(subjects);
    return out;
  }
  [[nodiscard]] static postgres::parameters updates(const std::vector<claim>& rows) {
    const std::string outcome(bare_bytes, 'o');
    postgres::array_value ids(postgres::type::bytes), claim_ids(postgres::type::bytes),
        outcomes(postgres::type::bytes);
    for (const auto& each : rows) {
      ids.bytes(each.id);
      claim_ids.bytes(each.claim_id);
      outcomes.bytes(outcome);
    }
    postgres::parameters out;
    out.array(ids).array(claim_ids).array(outcomes);
    return out;
  }

  bare_client client_;
  std::vector<claim> inserted_;
};

/// Two connections, each with half of the callers' rows in flight: as many that are inserted as are
/// updated.
void write_batches_until_the_end(const char* url, std::size_t callers, load& load) {
  std::array<std::vector<double>, 2> took;
  std::vector<std::thread> threads;
  for (auto& mine : took) {
    threads.emplace_back([&, url, callers] {
      bare_batches batches(url);
      while (steady::now() < load.end) {
        const auto begin = steady::now();
        batches.trip(callers / 4);
        mine.insert(mine.end(), callers / 4, microseconds_since(begin));
      }
    });
  }
  for (auto& each : threads) each.join();
  for (const auto& mine : took) load.took.insert(load.took.end(), mine.begin(), mine.end());
}

/// What a claim and its settle can't go below: one row, written twice.
void write_rows_until_the_end(const char* url, load& load) {
  bare_client client(url);
  client.prepare("insert", "INSERT INTO bare VALUES ($1::bytea, 1, $2::bytea, 2, 0, 0, $3::bytea)");
  client.prepare("update",
                 "UPDATE bare SET state = 4, outcome = $3::bytea"
                 " WHERE digest = $1::bytea AND claim_id = $2::bytea");
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
    std::fprintf(
        stderr,
        "postgres_bench URL cycles|replays|bare|commits|rows CALLERS SECONDS [CONNECTIONS]\n");
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
  } else if (description == "bare") {
    write_batches_until_the_end(argv[1], callers, all);
  } else if (replays) {
    run_callers(callers, [&](std::size_t i) { return repeat_until_the_end(all, i, callers); });
  } else {
    run_callers(callers, [&](std::size_t) { return complete_until_the_end(all); });
  }
  print_result(all, begin);
  (*opened)->stop();
  return 0;
}
