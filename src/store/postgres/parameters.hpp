// Parameters of a statement in PostgreSQL's binary format. Each value is copied once, into one
// buffer, and nothing is formatted or parsed as text.
#pragma once
#include <array>
#include <cstdint>
#include <libpq-fe.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::postgres {

/// The types that are used here, by their fixed numbers in the server's catalogue.
namespace type {
inline constexpr Oid boolean = 16;
inline constexpr Oid bytes = 17;
inline constexpr Oid int8 = 20;
inline constexpr Oid int2 = 21;
inline constexpr Oid int4 = 23;
inline constexpr Oid byte_strings = 1001;  ///< bytea[]
}  // namespace type

/// The flat bytea[] of an answer's headers: name, value, name, value …
[[nodiscard]] std::string flat_headers(const answer& answer);

/// An array of rows of a composite type: row() begins a row, then each of its fields follows.
class row_array {
 public:
  row_array(Oid row_type, int fields);

  row_array& row();
  row_array& null(Oid type);
  row_array& bytes(std::string_view value);
  row_array& bytes(std::span<const unsigned char> value);
  row_array& boolean(bool value);
  row_array& int2(std::int64_t value);
  row_array& int4(std::int64_t value);
  row_array& int8(std::int64_t value);
  /// status, headers and body; null: three nulls.
  row_array& answered(const answer* answer);

  /// The whole value; nothing may be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  void end_row();
  void field(Oid type, std::string_view value);
  void number(Oid type, std::int64_t value, int bytes);

  std::string out_;
  const int fields_;
  std::size_t row_at_ = 0;  // position of the open row's length; 0: no row is open
  std::uint32_t rows_ = 0;
};

class parameters {
 public:
  parameters& null();
  parameters& bytes(std::string_view value);
  parameters& bytes(std::span<const unsigned char> value);
  parameters& boolean(bool value);
  parameters& int2(std::int64_t value);
  parameters& int4(std::int64_t value);
  parameters& int8(std::int64_t value);
  parameters& whole(std::string binary);  ///< a value that is in binary form already

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

}  // namespace onceguard::postgres
