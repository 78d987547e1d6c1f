// libpq alone, which waits for each of its round trips.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <libpq-fe.h>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "callers.hpp"
#include "store/postgres/connection/trip.hpp"

namespace onceguard::bench {

class bare_client {
 public:
  explicit bare_client(const char* url) : on_(PQconnectdb(url), PQfinish) {}

  postgres::result_ptr run(const char* text) { return done(PQexec(on_.get(), text)); }
  void prepare(const postgres::statement& made) {
    static_cast<void>(done(PQprepare(on_.get(), made.name, made.text, 0, nullptr)));
  }
  void run_prepared(const postgres::statement& sent,
                    std::initializer_list<std::string_view> values) {
    std::vector<const char*> items;
    std::vector<int> sizes;
    for (const auto value : values) {
      items.push_back(value.data());
      sizes.push_back(static_cast<int>(value.size()));
    }
    const std::vector<int> binary(values.size(), 1);
    static_cast<void>(done(PQexecPrepared(on_.get(), sent.name, static_cast<int>(items.size()),
                                          items.data(), sizes.data(), binary.data(), 1)));
  }
  /// In one transaction, whose results come together. `send` gives one call to libpq.
  template <class Calls, class Send>
  std::vector<postgres::result_ptr> run_together(const Calls& calls, Send send) {
    auto* const here = on_.get();
    bool sent = PQenterPipelineMode(here) == 1;
    for (const auto& each : calls) sent = sent && send(here, each);
    if (!sent || PQpipelineSync(here) != 1) std::abort();
    std::vector<postgres::result_ptr> out;
    for (std::size_t ends = 0; ends < calls.size();) {
      if (auto* got = PQgetResult(here); got == nullptr) {
        ++ends;
      } else {
        out.push_back(done(got));
      }
    }
    PQclear(PQgetResult(here));  // of the Sync
    if (PQexitPipelineMode(here) != 1) std::abort();
    return out;
  }
  auto run_together(const std::vector<postgres::statement_call>& calls) {
    return run_together(calls, [](PGconn* here, const postgres::statement_call& each) {
      return each.values.send(here, each.sent->name);
    });
  }

 private:
  postgres::result_ptr done(PGresult* got) {
    postgres::result_ptr out(got);
    const auto status = PQresultStatus(got);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return out;
    std::fprintf(stderr, "%s", PQerrorMessage(on_.get()));
    std::exit(1);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> on_;
};

/// As many connections, each with its part of the callers' rows in flight: as many that are
/// inserted as are updated. `make` gives a connection's batches, which have trips of so many rows.
template <class Make>
void write_batches_until_the_end(std::size_t connections, std::size_t callers, load& load,
                                 Make make) {
  const auto rows = callers / connections / 2;
  std::vector<std::vector<double>> took(connections);
  std::vector<std::thread> threads;
  for (auto& mine : took) {
    threads.emplace_back([&load, &mine, make, rows] {
      auto batches = make();
      while (steady::now() < load.end) {
        const auto begin = steady::now();
        batches.trip(rows);
        mine.insert(mine.end(), rows, microseconds_since(begin));
      }
    });
  }
  for (auto& each : threads) each.join();
  for (const auto& mine : took) load.took.insert(load.took.end(), mine.begin(), mine.end());
}

}  // namespace onceguard::bench
