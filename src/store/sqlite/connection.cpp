#include "store/sqlite/connection.hpp"

#include "store/sqlite/wal_vfs.hpp"

namespace onceguard::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* database, int code) {
  throw failure(code, database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

}  // namespace

statement::statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (code != SQLITE_OK) fail(database, code);
  it_.reset(made);
}

void statement::check(int code) {
  if (code != SQLITE_OK) fail(sqlite3_db_handle(it_.get()), code);
}

statement& statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(it_.get(), index, value));
  return *this;
}

statement& statement::bind_null(int index) {
  check(sqlite3_bind_null(it_.get(), index));
  return *this;
}

statement& statement::bind(int index, std::span<const unsigned char> blob) {
  check(sqlite3_bind_blob64(it_.get(), index, blob.data(), blob.size(), SQLITE_STATIC));
  return *this;
}

statement& statement::bind(int index, std::string_view text) {
  check(
      sqlite3_bind_text64(it_.get(), index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

statement& statement::bind_blob(int index, std::string_view bytes) {
  check(sqlite3_bind_blob64(it_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

bool statement::step() {
  const int code = sqlite3_step(it_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string why = sqlite3_errmsg(sqlite3_db_handle(it_.get()));
  reset();  // may replace the message
  throw failure(code, why);
}

void statement::run() {
  const resetting at_end(*this);
  while (step()) {
  }
}

void statement::reset() noexcept { sqlite3_reset(it_.get()); }

std::int64_t statement::integer(int column) const noexcept {
  return sqlite3_column_int64(it_.get(), column);
}

std::string_view statement::bytes(int column) const noexcept {
  const auto* source = static_cast<const char*>(sqlite3_column_blob(it_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(it_.get(), column));
  return source == nullptr ? std::string_view{} : std::string_view(source, size);
}

connection::connection(const std::string& path, const char* vfs, open_as as) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= as == open_as::reader ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE;
  if (as == open_as::creator) flags |= SQLITE_OPEN_CREATE;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, vfs);
  it_.reset(opened);  // a connection that failed to open must be closed, too
  if (code != SQLITE_OK) fail(opened, code);
}

void connection::run(const char* sql) {
  const int code = sqlite3_exec(it_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(it_.get(), sqlite3_extended_errcode(it_.get()));
}

std::int64_t connection::integer(std::string_view sql) {
  auto statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string connection::text(std::string_view sql) {
  auto statement = prepare(sql);
  return statement.step() ? std::string(statement.bytes(0)) : std::string();
}

/// A transaction that is still open is rolled back first, and its frames are dropped: as the last
/// one that closes the file, SQLite would flush the log once more, and so send them.
void connection::close::end(sqlite3* it) noexcept {
  if (it != nullptr && sqlite3_get_autocommit(it) == 0) {
    sqlite3_exec(it, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  if (it != nullptr) drop_unsent(it);
  sqlite3_close_v2(it);
}

bool connection::in_transaction() const noexcept {
  return it_ && sqlite3_get_autocommit(it_.get()) == 0;
}

bool connection::roll_back() noexcept {
  if (!it_) return true;
  // After some failures SQLite has rolled back by itself.
  if (in_transaction()) sqlite3_exec(it_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  if (in_transaction()) return false;
  drop_unsent(it_.get());
  return true;
}

}  // namespace onceguard::sqlite
