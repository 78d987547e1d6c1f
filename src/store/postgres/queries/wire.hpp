// PostgreSQL's binary format: parameters of a statement, and results read by column.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::postgres {

/// The types that are used here, by their fixed numbers in the server's catalogue.
namespace type {
inline constexpr Oid boolean = 16;
inline constexpr Oid bytes = 17;
inline constexpr Oid int8 = 20;
inline constexpr Oid int2 = 21;
}  // namespace type

/// An array of one dimension, without nulls.
class array_value {
 public:
  explicit array_value(Oid elements);
  void bytes(std::string_view value);
  void bytes(std::span<const unsigned char> value);
  void int8(std::int64_t value);
  void int2(std::int64_t value);
  void boolean(bool value);
  /// The whole value; nothing may be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  void number(std::uint64_t value, int size);

  std::string out_;
  std::uint32_t count_ = 0;
};

/// Each value is copied once, into one buffer, and nothing is formatted or parsed as text.
class parameters {
 public:
  parameters& null();
  parameters& bytes(std::string_view value);
  parameters& bytes(std::span<const unsigned char> value);
  parameters& boolean(bool value);
  parameters& int2(std::int64_t value);
  parameters& int4(std::int64_t value);
  parameters& int8(std::int64_t value);
  /// 0: null.
  parameters& int8_or_null(std::int64_t value) { return value == 0 ? null() : int8(value); }
  parameters& whole(std::string binary);  ///< a value that is in binary form already
  parameters& array(array_value& value) { return whole(value.finish()); }

  /// Gives a prepared statement with these parameters to libpq, with binary results. False: libpq
  /// refused.
  [[nodiscard]] bool send(PGconn* connection, const char* statement) const;
  /// The same with the text of a statement that is not prepared.
  [[nodiscard]] bool send_text(PGconn* connection, const char* text) const;

 private:
  struct columns;
  [[nodiscard]] columns as_columns() const;

  std::vector<std::optional<std::string>> values_;
};

/// A result does not have the expected form: the schema is another version.
class unexpected_answer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct clear_result {
  void operator()(PGresult* held) const noexcept { PQclear(held); }
};
using result_ptr = std::unique_ptr<PGresult, clear_result>;

/// Rows and columns count from 0. A value of the wrong size throws unexpected_answer.
class rows {
 public:
  explicit rows(const PGresult* result) : result_(result) {}

  [[nodiscard]] int size() const noexcept { return PQntuples(result_); }
  [[nodiscard]] int columns() const noexcept { return PQnfields(result_); }
  [[nodiscard]] bool null(int row, int column) const noexcept {
    return PQgetisnull(result_, row, column) == 1;
  }
  [[nodiscard]] std::string_view bytes(int row, int column) const noexcept {
    return {PQgetvalue(result_, row, column),
            static_cast<std::size_t>(PQgetlength(result_, row, column))};
  }
  [[nodiscard]] bool boolean(int row, int column) const;
  /// A value of type int2, int4 or int8; null: 0.
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  /// An array of bytea, text or other byte strings without nulls; null: empty.
  [[nodiscard]] std::vector<std::string> byte_array(int row, int column) const;
  template <class Array>
  [[nodiscard]] Array fixed(int row, int column) const {
    const auto source = bytes(row, column);
    Array out{};
    if (source.size() != out.size()) throw unexpected_answer("a byte string of another length");
    std::copy(source.begin(), source.end(), out.begin());
    return out;
  }
  /// Throws unexpected_answer unless there are that many columns.
  void expect_columns(int count) const;

 private:
  const PGresult* result_;
};

}  // namespace onceguard::postgres
