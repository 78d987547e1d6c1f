// What the PostgreSQL store does in a second, on a database that `onceguard migrate` made:
//   postgres_bench URL cycles CALLERS SECONDS [CONNECTIONS]    durable claims that are completed
//   postgres_bench URL replays CALLERS SECONDS [CONNECTIONS]   repeats of completed keys
//   postgres_bench URL commits 1 SECONDS                       rows of libpq itself, one by one
// Prints the rate and the median time of one, in microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/hash.hpp"
#include "store/postgres/postgres_store.hpp"

namespace {

using namespace onceguard;
using steady = std::chrono::steady_clock;

constexpr milliseconds patience{10'000};
constexpr std::size_t replayed_keys = 1'024;

claim make_claim() {
  auto about = std::make_shared<subject>();
  base::random_bytes(about->scope);
  about->scope_kind = "credential";
  std::array<unsigned char, 16> key{};
  base::random_bytes(key);
  about->key = base::to_hex(key);
  about->method = "POST";
  about->path = "/v1/payments";
  about->route = "/v1/payments";
  about->print.method = "exact";
  base::random_bytes(about->print.value);
  claim out;
  base::random_bytes(out.id);
  base::random_bytes(out.nonce);
  out.about = about;
  return out;
}

answer_ptr make_answer() {
  auto out = std::make_shared<answer>();
  out->status = 201;
  out->headers = {{"Content-Type", "application/json"}, {"Location", "/v1/payments/1234567890"}};
  out->body.assign(200, 'x');
  return out;
}

double microseconds_since(steady::time_point begin) {
  return std::chrono::duration<double, std::micro>(steady::now() - begin).count();
}

/// What all callers share. They go on until `end`.
struct load {
  store& on;
  steady::time_point end;
  answer_ptr kept = make_answer();
  std::vector<claim> completed{};
  std::vector<double> took{};
};

boost::asio::awaitable<verdict> claimed(store& on, claim asked) {
  std::vector<claim> claims(1, std::move(asked));
  auto verdicts = co_await on.claim(std::move(claims), patience);
  if (!verdicts[0]) {
    std::fprintf(stderr, "%s\n", verdicts[0].error().detail.c_str());
    std::exit(1);
  }
  co_return std::move(*verdicts[0]);
}

boost::asio::awaitable<void> cycle(load& of, const claim& asked) {
  const auto told = co_await claimed(of.on, asked);
  if (told.kind != verdict_kind::run) std::abort();
  std::vector<settlement> settles(1);
  auto& how = settles[0];
  how.id = asked.id;
  how.token = told.lease.token;
  how.nonce = asked.nonce;
  how.about = asked.about;
  how.answer = of.kept;
  const auto settled = co_await of.on.settle(std::move(settles), patience);
  if (!settled[0] || settled[0]->outcome != settle_outcome::done) std::abort();
}

boost::asio::awaitable<void> complete_until_the_end(load& of) {
  while (steady::now() < of.end) {
    const auto asked = make_claim();
    const auto begin = steady::now();
    co_await cycle(of, asked);
    of.took.push_back(microseconds_since(begin));
  }
}

boost::asio::awaitable<void> complete_some(load& of, std::size_t count) {
  for (; count > 0; --count) {
    const auto asked = make_claim();
    co_await cycle(of, asked);
    of.completed.push_back(asked);
  }
}

boost::asio::awaitable<void> repeat_until_the_end(load& of, std::size_t first, std::size_t step) {
  for (std::size_t i = first; steady::now() < of.end; i += step) {
    auto again = of.completed[i % of.completed.size()];
    base::random_bytes(again.nonce);
    const auto begin = steady::now();
    const auto told = co_await claimed(of.on, std::move(again));
    if (told.kind != verdict_kind::replay) std::abort();
    of.took.push_back(microseconds_since(begin));
  }
}

/// Runs one coroutine for each caller until all are through.
template <class Begin>
void run_callers(std::size_t callers, Begin begin) {
  boost::asio::io_context context;
  const auto rethrow = [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  };
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context, begin(i), rethrow);
  }
  context.run();
}

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

double median(std::vector<double>& of) {
  if (of.empty()) std::abort();
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
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
  const double lasted = microseconds_since(begin) * 1e-6;
  std::printf("%.0f per second, %.1f us\n", static_cast<double>(all.took.size()) / lasted,
              median(all.took));
  (*opened)->stop();
  return 0;
}
