// PostgreSQL's binary format: parameters of a statement, and results read by column.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <libpq-fe.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_handle.hpp"

namespace onceguard::postgres {

/// The types that are used here, by their fixed numbers in the server's catalogue.
namespace type {
inline constexpr Oid boolean = 16;
inline constexpr Oid bytes = 17;
inline constexpr Oid int8 = 20;
inline constexpr Oid int2 = 21;
inline constexpr Oid int4 = 23;
inline constexpr Oid text = 25;
inline constexpr Oid boolean_array = 1000;
inline constexpr Oid bytes_array = 1001;
inline constexpr Oid text_array = 1009;
}  // namespace type

/// An array of one dimension.
class array_value {
 public:
  explicit array_value(Oid elements);
  void null();
  void bytes(std::string_view value);
  void bytes_or_null(std::optional<std::string_view> value) { value ? bytes(*value) : null(); }
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

/// Who says of which types the parameters are.
enum class typing : std::uint8_t {
  of_statement,  ///< the server finds out
  of_values,     ///< each is of the type by whose name it was added
};

/// Each value is copied once, into one buffer, and nothing is formatted or parsed as text.
class parameters {
 public:
  parameters() = default;
  explicit parameters(typing source) : types_of_(source) {}

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
  parameters& array(Oid type, array_value& value) { return add(type, value.finish()); }

  /// Gives a prepared statement with these parameters to libpq, with binary results. False: libpq
  /// refused.
  [[nodiscard]] bool send(PGconn* connection, const char* statement) const;
  /// The same with the text of a statement that is not prepared.
  [[nodiscard]] bool send_text(PGconn* connection, const char* text) const;

 private:
  struct columns;
  [[nodiscard]] columns as_columns() const;
  parameters& add(Oid type, std::string value);

  typing types_of_ = typing::of_statement;
  std::vector<Oid> types_;  // empty: the server finds out
  std::vector<std::optional<std::string>> values_;
};

/// A result does not have the expected form: the schema is another version.
class unexpected_answer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using result_ptr = base::unique_handle<PGresult, PQclear>;

/// The number in network byte order, with its sign.
[[nodiscard]] std::int64_t number_of(std::string_view bytes);

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

/// The same of a table that somebody else may have made: what is of another type is read as far as
/// it goes, and nothing throws.
class lenient_rows {
 public:
  lenient_rows() = default;
  explicit lenient_rows(result_ptr owned) : result_(std::move(owned)) {}

  [[nodiscard]] int size() const noexcept { return result_ ? PQntuples(result_.get()) : 0; }
  /// Whether the statement changed rows, where it returns none.
  [[nodiscard]] bool changed() const noexcept {
    return result_ && std::string_view(PQcmdTuples(result_.get())) != "0";
  }
  [[nodiscard]] bool null(int row, int column) const noexcept { return all().null(row, column); }
  [[nodiscard]] std::string_view bytes(int row, int column) const noexcept {
    return all().bytes(row, column);
  }
  /// Null: 0.
  [[nodiscard]] std::int64_t integer(int row, int column) const {
    return number_of(bytes(row, column));
  }
  [[nodiscard]] bool boolean(int row, int column) const { return integer(row, column) != 0; }
  /// The elements of an array, of all dimensions one after the other; a null is an empty text.
  [[nodiscard]] std::vector<std::string> array(int row, int column) const;

 private:
  [[nodiscard]] rows all() const noexcept { return rows(result_.get()); }
  result_ptr result_;
};

}  // namespace onceguard::postgres
