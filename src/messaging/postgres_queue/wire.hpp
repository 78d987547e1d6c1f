// PostgreSQL's binary format: parameters of a statement, and the columns of its rows.
#pragma once
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::messaging::postgres_queue {

/// The types that are used here, by their fixed numbers in the server's catalogue.
namespace type {
inline constexpr Oid boolean = 16;
inline constexpr Oid bytes = 17;
inline constexpr Oid int8 = 20;
inline constexpr Oid text = 25;
inline constexpr Oid boolean_array = 1000;
inline constexpr Oid bytes_array = 1001;
inline constexpr Oid text_array = 1009;
}  // namespace type

/// An array of one dimension.
class array_value {
 public:
  explicit array_value(Oid elements) : elements_(elements) {}
  void add(std::optional<std::string_view> value);
  void add_boolean(bool value) { add(std::string_view(value ? "\1" : "\0", 1)); }
  [[nodiscard]] std::string finish() const;

 private:
  const Oid elements_;
  std::string content_;
  std::uint32_t count_ = 0;
};

/// The parameters of one statement, in their order.
class parameters {
 public:
  parameters& int8(std::int64_t value);
  parameters& bytes(std::string_view value);
  parameters& text(std::string_view value);
  parameters& array(Oid type, const array_value& value);

  /// Gives the statement to libpq, with binary results. False: libpq refused.
  [[nodiscard]] bool send(PGconn* connection, const std::string& statement) const;

 private:
  parameters& add(Oid type, std::string value);

  std::vector<Oid> types_;
  std::vector<std::string> values_;
};

struct clear_result {
  void operator()(PGresult* held) const noexcept { PQclear(held); }
};
using result_ptr = std::unique_ptr<PGresult, clear_result>;

/// The rows of a statement; rows and columns count from 0.
class rows {
 public:
  rows() = default;
  explicit rows(result_ptr owned) : result_(std::move(owned)) {}

  [[nodiscard]] int size() const noexcept { return result_ ? PQntuples(result_.get()) : 0; }
  /// How many rows the statement changed, where it returns none.
  [[nodiscard]] bool changed() const noexcept;
  [[nodiscard]] bool null(int row, int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int row, int column) const noexcept;
  /// Of int2, int4 and int8; null: 0.
  [[nodiscard]] std::int64_t integer(int row, int column) const noexcept;
  [[nodiscard]] bool boolean(int row, int column) const noexcept;
  /// The elements of an array of byte strings, of all dimensions one after the other; null: none.
  [[nodiscard]] std::vector<std::string> array(int row, int column) const;

 private:
  result_ptr result_;
};

}  // namespace onceguard::messaging::postgres_queue
