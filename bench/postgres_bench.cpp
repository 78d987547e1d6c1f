// What the PostgreSQL store does in a second, on a database that `onceguard migrate` made:
//   postgres_bench URL cycles CALLERS SECONDS [CONNECTIONS]    durable claims that are completed
//   postgres_bench URL replays CALLERS SECONDS [CONNECTIONS]   repeats of completed keys
//   postgres_bench URL bare CALLERS SECONDS                    the same number of bare rows at once
//   postgres_bench URL statements:VARIANT CALLERS SECONDS [CONNECTIONS]   its statements alone
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
#include "libpq/binary_format.hpp"
#include "postgres_statements.hpp"
#include "store/postgres/postgres_store.hpp"

namespace {

using namespace onceguard;
using namespace onceguard::bench;

/// What one bare commit takes: a row of the table `charges`.
void commit_until_the_end(const char* url, load& load) {
  bare_client client(url);
  while (steady::now() < load.end) {
    const auto begin = steady::now();
    client.run("INSERT INTO charges (amount) VALUES (500)");
    load.took.push_back(microseconds_since(begin));
  }
}

constexpr postgres::statement insert_bare{
    "insert",
    "INSERT INTO bare SELECT i.digest, i.token, i.claim_id, 2, i.token, i.token, i.subject"
    " FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[])"
    " AS i(digest, token, claim_id, subject)"};
constexpr postgres::statement update_bare{
    "update",
    "UPDATE bare b SET state = 4, deadline_at = 0, outcome = i.outcome"
    " FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS i(digest, claim_id, outcome)"
    " WHERE b.digest = i.digest AND b.claim_id = i.claim_id"};
constexpr std::size_t bare_bytes = 150;  // about what a small subject or answer takes

/// Batches of bare rows on one connection: each trip updates the rows of the trip before, and
/// inserts others.
class bare_batches {
 public:
  explicit bare_batches(const char* url) : client_(url) {
    client_.run(
        "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;"
        "SET plan_cache_mode = force_generic_plan");
    client_.prepare(insert_bare);
    client_.prepare(update_bare);
  }

  void trip(std::size_t count) {
    auto rows = std::exchange(inserted_, {});
    for (std::size_t i = 0; i < count; ++i) inserted_.push_back(make_claim());
    client_.run_together({{&update_bare, updates(rows)}, {&insert_bare, inserts()}});
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

/// What a claim and its settle can't go below: one row, written twice.
void write_rows_until_the_end(const char* url, load& load) {
  constexpr postgres::statement insert_row{
      "insert", "INSERT INTO bare VALUES ($1::bytea, 1, $2::bytea, 2, 0, 0, $3::bytea)"};
  constexpr postgres::statement update_row{"update",
                                           "UPDATE bare SET state = 4, outcome = $3::bytea"
                                           " WHERE digest = $1::bytea AND claim_id = $2::bytea"};
  bare_client client(url);
  client.prepare(insert_row);
  client.prepare(update_row);
  while (steady::now() < load.end) {
    const auto request = make_claim();
    const auto begin = steady::now();
    client.run_prepared(insert_row, {base::as_chars(request.id), base::as_chars(request.claim_id),
                                     request.about->key});
    client.run_prepared(update_row, {base::as_chars(request.id), base::as_chars(request.claim_id),
                                     load.kept->body});
    load.took.push_back(microseconds_since(begin));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::fprintf(
        stderr,
        "postgres_bench URL cycles|replays|bare|statements:VARIANT|commits|rows CALLERS SECONDS"
        " [CONNECTIONS]\n");
    return 2;
  }
  const std::string_view description = argv[2];
  constexpr std::string_view statements = "statements:";
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
    write_batches_until_the_end(2, callers, all, [&] { return bare_batches(argv[1]); });
  } else if (description.starts_with(statements)) {
    const auto variant = description.substr(statements.size());
    write_batches_until_the_end(argc == 6 ? params.connections : 2, callers, all,
                                [&] { return statement_batches(argv[1], variant, *all.kept); });
  } else if (replays) {
    run_callers(callers, [&](std::size_t i) { return repeat_until_the_end(all, i, callers); });
  } else {
    run_callers(callers, [&](std::size_t) { return complete_until_the_end(all); });
  }
  print_result(all, begin);
  (*opened)->stop();
  return 0;
}
