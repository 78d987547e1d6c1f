#include "libpq/binary_format.hpp"

#include "base/hash.hpp"

namespace onceguard::postgres {
namespace {

/// Network byte order.
void append_wire_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

std::string number_bytes(std::int64_t value, int bytes) {
  std::string out;
  append_wire_number(out, static_cast<std::uint64_t>(value), bytes);
  return out;
}

constexpr std::size_t nulls_at = 7;   // whether there are any, in an array
constexpr std::size_t count_at = 12;  // of the number of elements

std::string_view cut_wire_bytes(std::string_view& text, std::size_t count) {
  if (text.size() < count) throw unexpected_answer("an array that breaks off");
  const auto out = text.substr(0, count);
  text.remove_prefix(count);
  return out;
}

}  // namespace

// --- parameters -----------------------------------------------------------------------------

array_value::array_value(Oid elements) {
  append_wire_number(out_, 1, 4);  // dimensions
  append_wire_number(out_, 0, 4);  // no nulls yet
  append_wire_number(out_, elements, 4);
  append_wire_number(out_, 0, 4);
  append_wire_number(out_, 1, 4);  // counted from 1
}

void array_value::null() {
  append_wire_number(out_, 0xffff'ffff, 4);
  out_[nulls_at] = 1;
  ++count_;
}

void array_value::bytes(std::string_view value) {
  append_wire_number(out_, value.size(), 4);
  out_ += value;
  ++count_;
}

void array_value::bytes(std::span<const unsigned char> value) { bytes(base::as_chars(value)); }

void array_value::number(std::uint64_t value, int size) {
  append_wire_number(out_, static_cast<std::uint64_t>(size), 4);
  append_wire_number(out_, value, size);
  ++count_;
}

void array_value::int8(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
void array_value::int2(std::int64_t value) { number(static_cast<std::uint64_t>(value), 2); }
void array_value::boolean(bool value) { number(value ? 1 : 0, 1); }

std::string array_value::finish() {
  const auto count = number_bytes(count_, 4);
  out_.replace(count_at, count.size(), count);
  return std::move(out_);
}

parameters& parameters::null() {
  if (types_of_ == typing::of_values) types_.push_back(0);
  return values_.emplace_back(), *this;
}
parameters& parameters::add(Oid type, std::string value) {
  if (types_of_ == typing::of_values) types_.push_back(type);
  return values_.emplace_back(std::move(value)), *this;
}
parameters& parameters::bytes(std::string_view value) {
  return add(type::bytes, std::string(value));
}
parameters& parameters::bytes(std::span<const unsigned char> value) {
  return bytes(base::as_chars(value));
}
parameters& parameters::boolean(bool value) { return add(type::boolean, number_bytes(value, 1)); }
parameters& parameters::int2(std::int64_t value) { return add(type::int2, number_bytes(value, 2)); }
parameters& parameters::int4(std::int64_t value) { return add(type::int4, number_bytes(value, 4)); }
parameters& parameters::int8(std::int64_t value) { return add(type::int8, number_bytes(value, 8)); }
parameters& parameters::whole(std::string binary) { return add(0, std::move(binary)); }

/// The values as libpq takes them.
struct parameters::columns {
  std::vector<const char*> items;
  std::vector<int> lengths;
  std::vector<int> formats;

  [[nodiscard]] int count() const noexcept { return static_cast<int>(items.size()); }
};

parameters::columns parameters::as_columns() const {
  columns out;
  for (const auto& value : values_) {
    out.items.push_back(value ? value->data() : nullptr);
    out.lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  out.formats.assign(values_.size(), 1);
  return out;
}

bool parameters::send(PGconn* connection, const char* statement) const {
  const auto all = as_columns();
  return PQsendQueryPrepared(connection, statement, all.count(), all.items.data(),
                             all.lengths.data(), all.formats.data(), 1) == 1;
}

bool parameters::send_text(PGconn* connection, const char* text) const {
  const auto all = as_columns();
  const auto* types = types_.empty() ? nullptr : types_.data();
  return PQsendQueryParams(connection, text, all.count(), types, all.items.data(),
                           all.lengths.data(), all.formats.data(), 1) == 1;
}

// --- results --------------------------------------------------------------------------------

std::int64_t number_of(std::string_view bytes) {
  std::uint64_t out = !bytes.empty() && (bytes.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : bytes) out = (out << 8) | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(out);
}

bool rows::boolean(int row, int column) const {
  const auto source = bytes(row, column);
  if (source.size() != 1) throw unexpected_answer("a boolean was expected");
  return source.front() != 0;
}

std::int64_t rows::integer(int row, int column) const {
  if (null(row, column)) return 0;
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
  const auto dimensions = number_of(cut_wire_bytes(source, 4));
  cut_wire_bytes(source, 8);  // has nulls, type
  if (dimensions == 0) return out;
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    count *= number_of(cut_wire_bytes(source, 4));
    cut_wire_bytes(source, 4);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto length = number_of(cut_wire_bytes(source, 4));
    if (length < 0) throw unexpected_answer("a null in an array");
    out.emplace_back(cut_wire_bytes(source, static_cast<std::size_t>(length)));
  }
  return out;
}

void rows::expect_columns(int count) const {
  if (columns() != count) {
    throw unexpected_answer("an answer of " + std::to_string(columns()) + " columns in place of " +
                            std::to_string(count));
  }
}

std::vector<std::string> lenient_rows::array(int row, int column) const {
  std::vector<std::string> out;
  auto source = bytes(row, column);
  const auto next = [&source](std::size_t count) {
    const auto part = source.substr(0, count);
    source.remove_prefix(part.size());
    return part;
  };
  const auto dimensions = number_of(next(4));
  next(8);  // whether there are nulls, and the elements' type
  for (std::int64_t i = 0; i < dimensions && !source.empty(); ++i) next(8);
  while (!source.empty()) {
    const auto size = number_of(next(4));
    out.emplace_back(size < 0 ? std::string_view() : next(static_cast<std::size_t>(size)));
  }
  return out;
}

}  // namespace onceguard::postgres
