#include "execute/sqlite/caller_transaction.hpp"

#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

constexpr std::int64_t synchronous_full = 2;

error make_error(const failure& failed, effect on_store) {
  const auto detail = std::string("sqlite: ") + failed.what();
  switch (failed.code()) {
    case SQLITE_FULL:
      return {errc::store_full, detail, on_store};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {errc::record_unreadable, detail, on_store};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {errc::write_conflict, detail, on_store};
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_ERROR:
      return {errc::invalid_argument, detail, on_store};
    case SQLITE_CONSTRAINT:  // a deferred constraint of the caller's
      return {errc::conflict, detail, on_store};
    default:
      return {errc::store_unreachable, detail, on_store};
  }
}

}  // namespace

error rolled_back(const failure& failed) { return make_error(failed, effect::none); }

error newer_tables() {
  return {errc::invalid_argument,
          "sqlite: the tables onceguard_… were made by a newer version of onceguard"};
}

bool caller_transaction::try_begin() {
  if (!whole_) {
    connection_.run("SAVEPOINT onceguard");
    return begun_ = true;
  }
  // Before it begins: SQLite changes this setting in no transaction.
  flush_fully();
  try {
    // Writing from the start: a transaction that has read, and writes later, may get
    // SQLITE_BUSY_SNAPSHOT, which no wait mends.
    connection_.run("BEGIN IMMEDIATE");
    return begun_ = true;
  } catch (const failure& failed) {
    end();
    if (failed.code() != SQLITE_BUSY) throw;
    return false;
  }
}

bool caller_transaction::begin(const patience& until) {
  while (!try_begin()) {
    if (until.left().count() == 0) return false;
    until.pause(lock_step);
  }
  return true;
}

result<caller_tables*> caller_transaction::tables() {
  if (!tables_) {
    const auto version = caller_tables_version(connection_);
    if (version > caller_version) return newer_tables();
    if (version < caller_version) make_caller_tables(connection_);
    tables_.emplace(connection_);
  }
  return &*tables_;
}

/// The commit must be on the disk, whatever setting the connection has otherwise.
void caller_transaction::flush_fully() {
  const auto now = connection_.integer("PRAGMA main.synchronous");
  if (now >= synchronous_full) return;
  connection_.run("PRAGMA main.synchronous = FULL");
  synchronous_ = now;
}

void caller_transaction::end() noexcept {
  begun_ = false;
  tables_.reset();
  if (synchronous_ < 0) return;
  const auto before = "PRAGMA main.synchronous = " + std::to_string(synchronous_);
  sqlite3_exec(connection_.get(), before.c_str(), nullptr, nullptr, nullptr);
  synchronous_ = -1;
}

std::optional<error> caller_transaction::commit(const patience& until) {
  while (true) {
    try {
      connection_.run(whole_ ? "COMMIT" : "RELEASE onceguard");
      end();
      return std::nullopt;
    } catch (const failure& failed) {
      // SQLite, COMMIT: where a reader is in its way, the transaction stays open, and may be
      // committed later.
      const bool blocked = failed.code() == SQLITE_BUSY;
      if (blocked && until.left().count() > 0) {
        until.pause(lock_step);
        continue;
      }
      // Without room, the write-ahead log did not get its commit record; a constraint or readers
      // stopped the commit before anything was written. After any other failure it may be on the
      // disk.
      const bool refused =
          blocked || failed.code() == SQLITE_FULL || failed.code() == SQLITE_CONSTRAINT || !whole_;
      const bool gone = connection_.roll_back();
      end();
      return make_error(failed, refused && gone ? effect::none : effect::unknown);
    }
  }
}

void caller_transaction::roll_back() noexcept {
  if (!begun_) return;
  tables_.reset();
  if (whole_) {
    connection_.roll_back();
  } else if (connection_.in_transaction()) {
    // ROLLBACK TO leaves the savepoint itself.
    sqlite3_exec(connection_.get(), "ROLLBACK TO onceguard; RELEASE onceguard", nullptr, nullptr,
                 nullptr);
  }
  end();
}

}  // namespace onceguard::sqlite
