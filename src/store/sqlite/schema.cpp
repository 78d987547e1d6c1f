#include "store/sqlite/schema.hpp"

#include <array>

#include "base/hex.hpp"
#include "base/random.hpp"

namespace onceguard::sqlite {
namespace {

// A claim appends a row and dirties one random page of the index of digests. The index by expiry
// has the unsettled records together at its front: their expires_at is NULL, or moved below 0 by
// `expiry_of_unsettled`. % stands for the prefix of the names.
constexpr std::string_view first_tables = R"(
CREATE TABLE %records (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  state INTEGER NOT NULL,
  expires_at INTEGER,
  boot INTEGER NOT NULL,
  record BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX %records_by_digest ON %records (digest);
CREATE INDEX %records_by_expiry ON %records (expires_at, state);
CREATE TABLE %boots (
  id INTEGER PRIMARY KEY,
  boot_id TEXT NOT NULL UNIQUE,
  clock_offset INTEGER NOT NULL,
  doubted INTEGER NOT NULL,
  doubted_offset INTEGER NOT NULL,
  doubted_since INTEGER NOT NULL
) STRICT;
CREATE TABLE %meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  token INTEGER NOT NULL,
  granted INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  last_wall INTEGER NOT NULL
) STRICT;
)";

// In a caller's database: the recovery points, and the schema's version beside the identity.
constexpr std::string_view table_columns = R"(
ALTER TABLE %records ADD COLUMN step TEXT;
ALTER TABLE %records ADD COLUMN progress BLOB;
ALTER TABLE %meta ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
)";

// Raises only the version number, so that older versions leave the file alone: they can't read
// records of format 2.
constexpr std::string_view records_of_format_2;

// The token counter and the identity from the start of the write-ahead log: they say on which file
// the log began.
constexpr std::string_view name_of_the_log = R"(
ALTER TABLE %meta ADD COLUMN log_base INTEGER NOT NULL DEFAULT 0;
ALTER TABLE %meta ADD COLUMN log_identity TEXT NOT NULL DEFAULT '';
)";

// Moves the expiry of unsettled records, and makes the notes of records that can't be read.
constexpr std::string_view what_needs_a_person = R"(
UPDATE %records SET expires_at = expires_at - 4611686018427387904
  WHERE state < 4 AND expires_at >= 0;
CREATE TABLE IF NOT EXISTS %unreadable (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
)";
static_assert(expiry_of_unsettled == -4'611'686'018'427'387'904);

std::string with_prefix(std::string_view sql, std::string_view prefix) {
  std::string out;
  for (const char c : sql) {
    if (c == '%') {
      out += prefix;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string random_identity() {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  return base::to_hex(random);
}

void write_identity(connection& connection, std::string_view prefix) {
  const auto identity = random_identity();
  auto begin = connection.prepare(
      with_prefix("INSERT INTO %meta (one, identity, token, granted, forgotten, last_wall) "
                  "VALUES (1, ?, 0, 0, 0, 0)",
                  prefix));
  begin.bind(1, std::string_view(identity)).run();
}

struct rolled_back {
  connection& target;
  ~rolled_back() { target.roll_back(); }
};

constexpr std::array migrations = {first_tables, records_of_format_2, name_of_the_log,
                                   what_needs_a_person};
static_assert(migrations.size() == static_cast<std::size_t>(schema_version));

}  // namespace

ownership ownership_of(connection& connection) {
  // One snapshot, as another process may be setting the file up right now.
  const rolled_back at_end{connection};
  connection.run("BEGIN");
  const auto id = connection.integer("PRAGMA application_id");
  const auto version = connection.integer("PRAGMA user_version");
  if (id == application_id) return version > schema_version ? ownership::newer : ownership::ours;
  const bool empty =
      id == 0 && version == 0 && connection.integer("SELECT count(*) FROM sqlite_schema") == 0;
  return empty ? ownership::fresh : ownership::foreign;
}

std::string other_pages_of(connection& connection) {
  const auto found = connection.integer("PRAGMA page_size");
  if (found == page_size) return "";
  const auto wanted = std::to_string(page_size);
  return "has pages of " + std::to_string(found) + " bytes, and a store's have " + wanted +
         ": another program rebuilt it. While no process has it open, `PRAGMA journal_mode = "
         "DELETE; PRAGMA page_size = " +
         wanted + "; VACUUM` by SQLite's shell rebuilds it as it was";
}

void migrate(connection& connection) {
  const auto found = connection.integer("PRAGMA user_version");
  if (found >= schema_version) return;
  for (auto v = static_cast<std::size_t>(found); v < migrations.size(); ++v) {
    connection.run(with_prefix(migrations[v], "").c_str());
  }
  if (found == 0) write_identity(connection, "");
  connection.run(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
  connection.run(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
}

std::int64_t caller_tables_version(connection& connection) {
  constexpr auto there = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'onceguard_meta'";
  return connection.integer(there) == 0 ? 0
                                        : connection.integer("SELECT version FROM onceguard_meta");
}

void make_caller_tables(connection& connection) {
  constexpr std::int64_t with_notes = 3;
  const auto found = caller_tables_version(connection);
  if (found == 0) {
    connection.run(with_prefix(first_tables, caller_prefix).c_str());
    connection.run(with_prefix(table_columns, caller_prefix).c_str());
    write_identity(connection, caller_prefix);
  }
  if (found < with_notes) connection.run(with_prefix(what_needs_a_person, caller_prefix).c_str());
  connection.run(("UPDATE onceguard_meta SET version = " + std::to_string(caller_version)).c_str());
}

std::string renew_identity(connection& connection) {
  auto identity = random_identity();
  connection.prepare("UPDATE meta SET identity = ?").bind(1, std::string_view(identity)).run();
  return identity;
}

}  // namespace onceguard::sqlite
