#include "store/postgres/rows.hpp"

#include <algorithm>

namespace onceguard::postgres {
namespace {

/// Network byte order, with its sign.
std::int64_t number_of(std::string_view bytes) {
  std::uint64_t out = !bytes.empty() && (bytes.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : bytes) out = (out << 8) | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(out);
}

std::string_view cut(std::string_view& text, std::size_t count) {
  if (text.size() < count) throw unexpected_answer("an array that breaks off");
  const auto out = text.substr(0, count);
  text.remove_prefix(count);
  return out;
}

}  // namespace

bool rows::boolean(int row, int column) const {
  const auto source = bytes(row, column);
  if (source.size() != 1) throw unexpected_answer("a boolean was expected");
  return source.front() != 0;
}

std::int64_t rows::integer(int row, int column) const {
  const auto source = bytes(row, column);
  if (source.size() != 2 && source.size() != 4 && source.size() != 8) {
    throw unexpected_answer("an integer was expected");
  }
  return number_of(source);
}

std::vector<std::string> rows::byte_array(int row, int column) const {
  std::vector<std::string> out;
  if (null(row, column)) return out;
  auto source = bytes(row, column);
  const auto dimensions = number_of(cut(source, 4));
  cut(source, 8);  // has nulls, type
  if (dimensions == 0) return out;
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    count *= number_of(cut(source, 4));
    cut(source, 4);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto length = number_of(cut(source, 4));
    if (length < 0) throw unexpected_answer("a null in an array");
    out.emplace_back(cut(source, static_cast<std::size_t>(length)));
  }
  return out;
}

void rows::expect_columns(int count) const {
  if (columns() != count) {
    throw unexpected_answer("an answer of " + std::to_string(columns()) + " columns in place of " +
                            std::to_string(count));
  }
}

}  // namespace onceguard::postgres
