// A service of somebody else's: charges once, however often it is called with the same key.
//   charge DATABASE KEY CENTS
#include <cstdio>
#include <memory>
#include <string>

#include <sqlite3.h>

#include <onceguard/sqlite.hpp>

int main(int count, char** words) {
  if (count != 4) return 2;
  const std::string key = words[2], cents = words[3];
  sqlite3* opened = nullptr;
  if (sqlite3_open(words[1], &opened) != SQLITE_OK) return 1;
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> shop(opened, sqlite3_close);
  sqlite3_exec(opened, "CREATE TABLE IF NOT EXISTS charges (cents)", nullptr, nullptr, nullptr);

  const auto reply = onceguard::sqlite::execute(
      opened, {"ada", key, cents}, [&](const onceguard::lease&) -> onceguard::answer {
        const auto insert = "INSERT INTO charges VALUES (" + std::to_string(std::stoi(cents)) + ")";
        sqlite3_exec(opened, insert.c_str(), nullptr, nullptr, nullptr);
        return {201, {}, "charge " + std::to_string(sqlite3_last_insert_rowid(opened))};
      });

  if (!reply) return std::fprintf(stderr, "%s\n", reply.error().detail.c_str()), 1;
  if (!reply->answer) return std::puts("not now"), 1;
  const bool again = reply->kind == onceguard::verdict_kind::replay;
  return std::printf("%s%s\n", reply->answer->body.c_str(), again ? " (replayed)" : ""), 0;
}
