// Owners for the objects of SQLite's C API, with failures as exceptions. Only the code for SQLite
// throws and catches these exceptions, and turns them into errors of the calls that failed.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "base/unique_handle.hpp"

namespace onceguard::sqlite {

/// A call of SQLite failed.
class failure : public std::runtime_error {
 public:
  failure(int extended_code, const std::string& message)
      : std::runtime_error(message), code_(extended_code) {}
  [[nodiscard]] int code() const noexcept { return code_ & 0xff; }
  [[nodiscard]] int extended_code() const noexcept { return code_; }

 private:
  int code_;
};

/// One prepared statement. Bound texts and blobs must outlive the next `reset`.
class statement {
 public:
  statement() = default;
  statement(sqlite3* database, std::string_view sql);

  statement& bind(int index, std::int64_t value);
  statement& bind_null(int index);
  statement& bind(int index, std::span<const unsigned char> blob);
  statement& bind(int index, std::string_view text);
  statement& bind_blob(int index, std::string_view bytes);

  /// True: there is a row. A failure resets the statement and is thrown.
  [[nodiscard]] bool step();
  void run();  ///< runs a statement whose rows are not needed, and resets it
  void reset() noexcept;

  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int column) const noexcept;  ///< valid until the next step

 private:
  void check(int code);
  base::unique_handle<sqlite3_stmt, sqlite3_finalize> it_;
};

/// Resets a statement at the end of a scope, also after an exception.
class resetting {
 public:
  explicit resetting(statement& statement) noexcept : statement_(statement) {}
  resetting(const resetting&) = delete;
  resetting& operator=(const resetting&) = delete;
  ~resetting() { statement_.reset(); }

 private:
  statement& statement_;
};

/// `reader`: read-only, and the name may be a URI. Only `creator` creates a missing file.
enum class open_as : std::uint8_t { creator, writer, reader };

/// One open database, used by one thread at a time.
class connection {
 public:
  connection() = default;
  /// Opens the database. Never waits: a busy database is a failure with SQLITE_BUSY.
  connection(const std::string& path, const char* vfs, open_as as = open_as::creator);
  /// Borrows the caller's connection, which must outlive this object.
  explicit connection(sqlite3* borrowed) noexcept : it_(borrowed, close(false)) {}

  void run(const char* sql);
  [[nodiscard]] std::int64_t integer(std::string_view sql);
  [[nodiscard]] std::string text(std::string_view sql);
  [[nodiscard]] statement prepare(std::string_view sql) { return {it_.get(), sql}; }

  [[nodiscard]] bool in_transaction() const noexcept;
  /// Ends a transaction without effect. True: certainly without effect.
  bool roll_back() noexcept;
  [[nodiscard]] sqlite3* get() const noexcept { return it_.get(); }

 private:
  struct close {
    close() noexcept : owned(true) {}
    explicit close(bool is_owned) noexcept : owned(is_owned) {}
    void operator()(sqlite3* it) const noexcept {
      if (owned) end(it);
    }
    static void end(sqlite3* it) noexcept;
    bool owned;
  };
  std::unique_ptr<sqlite3, close> it_;
};

}  // namespace onceguard::sqlite
