// Books a ride in two steps, with a card charged at somebody else's in between. After a crash at
// any point, the same call goes on where it was: one ride, one charge.
//
//   ride shop.db ride-17 ada 4200 cards.txt
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

#include <onceguard/sqlite.hpp>

namespace {

void run(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database));
  }
}

std::string quoted(const std::string& text) {
  const std::unique_ptr<char, decltype(&sqlite3_free)> out(sqlite3_mprintf("%Q", text.c_str()),
                                                           sqlite3_free);
  return out.get();
}

/// The provider of card payments: it charges once for each idempotency key, as they do.
std::string charge_card(const std::string& path, const std::string& key, const std::string& cents) {
  std::ifstream before(path);
  for (std::string line; std::getline(before, line);) {
    if (line.starts_with(key)) return "known charge";
  }
  std::ofstream book(path, std::ios::app);
  if (!(book << key << " " << cents << std::endl)) throw std::runtime_error("no provider there");
  return "new charge";
}

}  // namespace

int main(int count, char** words) try {
  if (count != 6) return std::fputs("ride DATABASE KEY CUSTOMER CENTS CARDS\n", stderr), 2;
  const std::string key = words[2], customer = words[3], cents = words[4], cards = words[5];
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(words[1], &opened);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> shop(opened, sqlite3_close);
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
  run(opened, "CREATE TABLE IF NOT EXISTS rides (id INTEGER PRIMARY KEY, customer, paid)");

  const auto reply = onceguard::sqlite::execute_steps(
      opened, {customer, key, cents}, [&](onceguard::steps& flow) -> onceguard::answer {
        const auto ride = flow.step("book", [&] {
          run(opened, "INSERT INTO rides (customer) VALUES (" + quoted(customer) + ")");
          return std::to_string(sqlite3_last_insert_rowid(opened));
        });
        charge_card(cards, flow.key_for("card"), cents);
        flow.step("paid", [&] {
          run(opened, "UPDATE rides SET paid = " + quoted(cents) + " WHERE id = " + ride);
          return std::string();
        });
        return {201, {}, "ride " + ride + " is booked and paid"};
      });

  if (!reply) throw std::runtime_error(reply.error().detail);
  if (!reply->answer) return std::puts("not now"), 1;
  const bool again = reply->kind == onceguard::verdict_kind::replay;
  std::printf("%s%s\n", reply->answer->body.c_str(), again ? " (replayed)" : "");
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
