// A result in PostgreSQL's binary format, read by column.
#pragma once
#include <algorithm>
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::postgres {

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
  explicit rows(const PGresult* result) : of_(result) {}

  [[nodiscard]] int size() const noexcept { return PQntuples(of_); }
  [[nodiscard]] int columns() const noexcept { return PQnfields(of_); }
  [[nodiscard]] bool null(int row, int column) const noexcept {
    return PQgetisnull(of_, row, column) == 1;
  }
  [[nodiscard]] std::string_view bytes(int row, int column) const noexcept {
    return {PQgetvalue(of_, row, column), static_cast<std::size_t>(PQgetlength(of_, row, column))};
  }
  [[nodiscard]] bool boolean(int row, int column) const;
  /// A value of type int2, int4 or int8.
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
  const PGresult* of_;
};

}  // namespace onceguard::postgres
