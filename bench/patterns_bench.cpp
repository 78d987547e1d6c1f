// What one operation costs by each pattern of docs/patterns, with one connection:
//   patterns_bench URL PATTERN prepare|first|repeat NAMES COUNT
// URL is sqlite:FILE or postgresql://…, a database that `onceguard migrate` made. NAMES goes before
// the number of each operation: `first` works on what an earlier `prepare` has made, and `repeat`
// sends the same again. Prints the median of an operation in microseconds, and the bytes that this
// process wrote for all of them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <sqlite3.h>

#include <onceguard/guard.hpp>
#include <onceguard/postgres.hpp>
#include <onceguard/precondition.hpp>
#include <onceguard/sqlite.hpp>

#include "../examples/patterns/database.hpp"

namespace {

using onceguard::sql_value;
using patterns::database;
namespace asio = boost::asio;
namespace http = onceguard::http;

/// One operation, by its name.
using operation = std::function<void(const std::string& name)>;

constexpr const char* insert_effect = "INSERT INTO effects (name, cents) VALUES ($1, '42')";

void require(bool good, const std::string& text) {
  if (good) return;
  std::fprintf(stderr, "patterns_bench: %s\n", text.c_str());
  std::exit(1);
}

// ---- without a key

operation plain(database& shop) {
  return [&shop](const std::string& name) { shop.run({insert_effect, {name}}); };
}

operation natural(database& shop) {
  return [&shop](const std::string& name) {
    shop.run(
        {"INSERT INTO things (name, cents) VALUES ($1, '42')"
         " ON CONFLICT (name) DO UPDATE SET cents = excluded.cents",
         {name}});
  };
}

operation unique(database& shop) {
  return [&shop](const std::string& name) {
    shop.insert_once(
        "INSERT INTO things (name, cents) VALUES ($1, '42')"
        " ON CONFLICT (name) DO NOTHING RETURNING cents",
        "SELECT cents FROM things WHERE name = $1", {name});
  };
}

/// The things are there, at version 1; `first` changes them, and `repeat` gets 412.
operation locking(database& shop) {
  return [&shop](const std::string& name) {
    const std::vector<onceguard::field> fields{{"If-Match", "\"1\""}};
    const auto done = http::change(
        {"PUT", "/things/1", fields, {}},
        {.load =
             [&] {
               const auto found =
                   shop.run({"SELECT version, cents FROM things WHERE name = $1", {name}});
               return http::current_version{std::stoll(*found.at(0)[0]), false};
             },
         .store = [&](auto expected) -> std::optional<std::int64_t> {
           const auto made =
               shop.run({"UPDATE things SET cents = '43', version = version + 1 WHERE name = $1"
                         " AND version = $2 RETURNING version",
                         {name, std::to_string(*expected)}});
           if (made.empty()) return std::nullopt;
           return std::stoll(*made[0][0]);
         }},
        {});
    require(done.version == 2, "a version is not 2");
  };
}

operation transition(database& shop) {
  return [&shop](const std::string& name) {
    const auto done = shop.change_once(
        {"UPDATE things SET status = 'done' WHERE name = $1 AND status = 'open' RETURNING cents",
         {name}},
        {"SELECT cents FROM things WHERE name = $1", {name}});
    require(done.has_value(), "a thing is not there");
  };
}

// ---- with a key

onceguard::answer done_answer() { return {201, {}, "{\"id\":17}"}; }

operation key_in_postgres(const std::string& url) {
  const std::shared_ptr<PGconn> shop(PQconnectdb(url.c_str()), PQfinish);
  return [shop](const std::string& name) {
    const auto got = onceguard::postgres::execute(
        shop.get(), {"bench", name, "42"}, [&](const onceguard::lease&) {
          const char* const values[]{name.c_str()};
          const std::unique_ptr<PGresult, decltype(&PQclear)> made(
              PQexecParams(shop.get(), insert_effect, 1, nullptr, values, nullptr, nullptr, 0),
              PQclear);
          onceguard::postgres::check(shop.get(), made.get());
          return done_answer();
        });
    require(got.has_value(), got ? "" : got.error().detail);
  };
}

operation key_in_sqlite(const std::string& file) {
  sqlite3* opened = nullptr;
  require(sqlite3_open(file.c_str(), &opened) == SQLITE_OK, file + " can't be opened");
  const std::shared_ptr<sqlite3> shop(opened, sqlite3_close);
  return [shop](const std::string& name) {
    const auto got =
        onceguard::sqlite::execute(shop.get(), {"bench", name, "42"}, [&](const onceguard::lease&) {
          sqlite3_stmt* made = nullptr;
          sqlite3_prepare_v2(shop.get(), insert_effect, -1, &made, nullptr);
          sqlite3_bind_text(made, 1, name.c_str(), -1, SQLITE_STATIC);
          require(sqlite3_step(made) == SQLITE_DONE, sqlite3_errmsg(shop.get()));
          sqlite3_finalize(made);
          return done_answer();
        });
    require(got.has_value(), got ? "" : got.error().detail);
  };
}

/// The effect is elsewhere, and takes no time.
class guarded_call {
 public:
  explicit guarded_call(const std::string& store) : guard_(onceguard::guard::open(store).value()) {}

  void run(const std::string& name) {
    bool done = false;
    asio::co_spawn(io_, call(name), [&done](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
      done = true;
    });
    io_.restart();
    while (!done) io_.run_one();  // what is left has no part in the answer
  }

 private:
  asio::awaitable<void> call(std::string name) {
    const auto work = []() -> asio::awaitable<onceguard::answer> { co_return done_answer(); };
    onceguard::request wanted("bench", std::move(name), "42");
    const auto got = co_await guard_.async_execute(std::move(wanted), work);
    require(got.has_value(), got ? "" : got.error().detail);
  }

  onceguard::guard guard_;
  asio::io_context io_{1};
};

operation key_of_guard(const std::string& store) {
  const auto guarded = std::make_shared<guarded_call>(store);
  return [guarded](const std::string& name) { guarded->run(name); };
}

operation find(const std::string& pattern, const std::string& url, database& shop) {
  constexpr std::string_view sqlite = "sqlite:";
  const bool in_file = url.starts_with(sqlite);
  if (pattern == "plain") return plain(shop);
  if (pattern == "natural") return natural(shop);
  if (pattern == "unique") return unique(shop);
  if (pattern == "locking") return locking(shop);
  if (pattern == "transition") return transition(shop);
  if (pattern == "transaction") {
    return in_file ? key_in_sqlite(url.substr(sqlite.size())) : key_in_postgres(url);
  }
  require(pattern == "guard", "there is no pattern " + pattern);
  return key_of_guard(in_file ? url + ".keys" : url);
}

void create(database& shop) {
  shop.run({"CREATE TABLE IF NOT EXISTS effects (name text NOT NULL, cents integer)"});
  shop.run(
      {"CREATE TABLE IF NOT EXISTS things (name text PRIMARY KEY, cents integer,"
       " version bigint NOT NULL DEFAULT 1, status text NOT NULL DEFAULT 'open')"});
}

/// The things that the patterns work on which need some.
void prepare(database& shop, const std::string& names, int count) {
  shop.in_transaction([&] {
    for (int i = 0; i < count; ++i) {
      shop.run({"INSERT INTO things (name, cents) VALUES ($1, '42')", {names + std::to_string(i)}});
    }
  });
}

/// What this process has given to write() so far.
long long bytes_written() {
  std::ifstream file("/proc/self/io");
  for (std::string name; file >> name;) {
    long long value = 0;
    file >> value;
    if (name == "wchar:") return value;
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: patterns_bench URL PATTERN prepare|first|repeat NAMES COUNT\n");
    return 2;
  }
  const std::string pattern = words[2];
  const std::string names = words[4];
  const int operations = std::atoi(words[5]);
  const auto shop = database::open(words[1]);
  create(*shop);
  if (std::string_view(words[3]) == "prepare") {
    if (pattern == "locking" || pattern == "transition") prepare(*shop, names, operations);
    std::printf("0 us, 0 bytes\n");
    return 0;
  }
  const auto act = find(pattern, words[1], *shop);
  std::vector<double> taken;
  const auto before = bytes_written();
  for (int i = 0; i < operations; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    act(names + std::to_string(i));
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - begin;
    taken.push_back(passed.count());
  }
  const auto written = bytes_written() - before;
  std::sort(taken.begin(), taken.end());
  std::printf("%.1f us, %lld bytes\n", taken.empty() ? 0 : taken[taken.size() / 2], written);
  return 0;
}
