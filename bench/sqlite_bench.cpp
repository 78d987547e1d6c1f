// Durable claim and complete cycles per second: what SQLite itself does with the same statements
// in batches of 64, and what the store does with 1 and 64 callers. Prints the ratio.
//   sqlite_bench [FOLDER [CYCLES]]
//   sqlite_bench raw FILE CYCLES    SQLite itself, on a file that grows from run to run
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/random.hpp"
#include "core/record_codec.hpp"
#include "sample.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace onceguard;
namespace sq = onceguard::sqlite;

constexpr std::size_t batch = 64;

using bench::make_answer;
using bench::make_claim;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The same statements as the store's, without anything around them: the records are encoded
/// beforehand, and nothing is decided.
double raw(const std::string& path, std::size_t cycles) {
  sq::connection connection(path, nullptr);
  connection.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192");
  connection.run("BEGIN");
  sq::migrate(connection);
  connection.run("COMMIT");
  auto begin = connection.prepare("BEGIN IMMEDIATE");
  auto commit = connection.prepare("COMMIT");
  auto load = connection.prepare("SELECT id, boot, record FROM records WHERE digest = ?");
  auto insert = connection.prepare(
      "INSERT INTO records (digest, state, expires_at, boot, record) VALUES (?, 2, NULL, 1, ?)");
  auto update = connection.prepare(
      "UPDATE records SET state = 4, expires_at = ?, boot = 1, record = ? WHERE id = ?");
  auto meta = connection.prepare("UPDATE meta SET token = ?, granted = ?, last_wall = ?");
  record stored;
  stored.about = make_claim().about;
  stored.state = record_state::in_progress;
  const auto claimed = encode_record(stored);
  stored.state = record_state::completed;
  stored.answer = make_answer();
  const auto completed = encode_record(stored);

  std::vector<record_id> ids(batch);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t done = 0; done < cycles; done += batch) {
    const auto now = static_cast<std::int64_t>(done);
    begin.run();
    for (auto& id : ids) {
      base::random_bytes(id);
      load.bind(1, id).run();
      insert.bind(1, id).bind_blob(2, claimed).run();
    }
    meta.bind(1, now).bind(2, now).bind(3, now).run();
    commit.run();
    begin.run();
    for (const auto& id : ids) {
      load.bind(1, id);
      std::int64_t number = 0;
      {
        const sq::resetting at_end(load);
        if (load.step()) number = load.integer(0);
      }
      update.bind(1, now).bind_blob(2, completed).bind(3, number).run();
    }
    commit.run();
  }
  return static_cast<double>(cycles) / seconds_since(start);
}

boost::asio::awaitable<void> caller(store& records, std::size_t& left) {
  const auto kept = make_answer();
  while (left > 0) {
    --left;
    const auto request = make_claim();
    std::vector<claim> claims(1, request);
    const auto verdicts = co_await records.claim(std::move(claims), milliseconds(10'000));
    if (!verdicts[0] || verdicts[0]->kind != verdict_kind::run) std::abort();
    std::vector<settlement> settles(1);
    auto& change = settles[0];
    change.id = request.id;
    change.token = verdicts[0]->lease.token;
    change.claim_id = request.claim_id;
    change.about = request.about;
    change.answer = kept;
    const auto settled = co_await records.settle(std::move(settles), milliseconds(10'000));
    if (!settled[0] || settled[0]->outcome != settle_outcome::done) std::abort();
  }
}

double through_store(const std::string& path, std::size_t callers, std::size_t cycles) {
  sq::sqlite_params params;
  params.path = path;
  auto opened = sq::sqlite_store::open(params);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().detail.c_str());
    std::exit(1);
  }
  boost::asio::io_context context;
  std::size_t left = cycles;
  const auto rethrow = [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  };
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context, caller(**opened, left), rethrow);
  }
  const auto start = std::chrono::steady_clock::now();
  context.run();
  const auto rate = static_cast<double>(cycles) / seconds_since(start);
  (*opened)->stop();
  return rate;
}

double codec_microseconds() {
  record stored;
  stored.about = make_claim().about;
  stored.answer = make_answer();
  const auto start = std::chrono::steady_clock::now();
  constexpr int rounds = 200'000;
  std::size_t size = 0;
  for (int i = 0; i < rounds; ++i) {
    stored.token = static_cast<token>(i);
    const auto bytes = encode_record(stored);
    const auto read = decode_record(bytes);
    if (!read) std::abort();
    size = bytes.size();
  }
  std::printf("record of %zu bytes, ", size);
  return seconds_since(start) / rounds * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "raw") {
    std::printf("%.0f cycles/s\n", raw(argv[2], std::stoul(argv[3])));
    return 0;
  }
  const std::filesystem::path folder =
      std::filesystem::path(argc > 1 ? argv[1] : ".") / "onceguard-sqlite-bench";
  const std::size_t cycles = argc > 2 ? std::stoul(argv[2]) : 50'000;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::printf("encode and decode: %.2f us\n", codec_microseconds());
  const auto file = [&](const char* name) { return (folder / name).string(); };
  const auto report = [](const char* description, std::size_t count, auto run) {
    const double cpu = cpu_seconds();
    const double rate = run(count);
    std::printf("%-28s %8.0f cycles/s, %5.1f us of CPU each\n", description, rate,
                (cpu_seconds() - cpu) / static_cast<double>(count) * 1e6);
    return rate;
  };
  const double plain = report("sqlite, batches of 64:", cycles,
                              [&](std::size_t n) { return raw(file("raw.db"), n); });
  const double many = report("store, 64 callers:", cycles,
                             [&](std::size_t n) { return through_store(file("many.db"), 64, n); });
  report("store, 1 caller:", cycles / 10,
         [&](std::size_t n) { return through_store(file("one.db"), 1, n); });
  std::printf("store / sqlite: %.2f\n", many / plain);
  std::filesystem::remove_all(folder);
  return 0;
}
