#include "store/postgres/parameters.hpp"

#include "base/hash.hpp"

namespace onceguard::postgres {
namespace {

/// Network byte order.
void append(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

void overwrite(std::string& out, std::size_t position, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) {
    out[position + static_cast<std::size_t>(i)] =
        static_cast<char>((number >> (24 - 8 * i)) & 0xff);
  }
}

constexpr std::size_t count_at = 12;

/// One dimension, without nulls, counted from 1.
void append_array_head(std::string& out, Oid elements, std::uint32_t count) {
  append(out, 1, 4);
  append(out, 0, 4);
  append(out, elements, 4);
  append(out, count, 4);
  append(out, 1, 4);
}

std::string number_bytes(std::int64_t value, int bytes) {
  std::string out;
  append(out, static_cast<std::uint64_t>(value), bytes);
  return out;
}

}  // namespace

std::string flat_headers(const answer& answer) {
  std::string out;
  if (answer.headers.empty()) {  // an array without elements has no dimension
    append(out, 0, 4);
    append(out, 0, 4);
    append(out, type::bytes, 4);
    return out;
  }
  append_array_head(out, type::bytes, static_cast<std::uint32_t>(2 * answer.headers.size()));
  for (const auto& [name, value] : answer.headers) {
    for (const auto* part : {&name, &value}) {
      append(out, part->size(), 4);
      out += *part;
    }
  }
  return out;
}

row_array::row_array(Oid row_type, int fields) : fields_(fields) {
  append_array_head(out_, row_type, 0);
}

row_array& row_array::row() {
  end_row();
  row_at_ = out_.size();
  append(out_, 0, 4);
  append(out_, static_cast<std::uint64_t>(fields_), 4);
  ++rows_;
  return *this;
}

void row_array::end_row() {
  if (row_at_ != 0) overwrite(out_, row_at_, static_cast<std::uint32_t>(out_.size() - row_at_ - 4));
}

void row_array::field(Oid type, std::string_view value) {
  append(out_, type, 4);
  append(out_, value.size(), 4);
  out_ += value;
}

void row_array::number(Oid type, std::int64_t value, int bytes) {
  append(out_, type, 4);
  append(out_, static_cast<std::uint64_t>(bytes), 4);
  append(out_, static_cast<std::uint64_t>(value), bytes);
}

row_array& row_array::null(Oid type) {
  append(out_, type, 4);
  append(out_, 0xffff'ffff, 4);
  return *this;
}

row_array& row_array::bytes(std::string_view value) { return field(type::bytes, value), *this; }
row_array& row_array::bytes(std::span<const unsigned char> value) {
  return bytes(base::as_chars(value));
}
row_array& row_array::boolean(bool value) { return number(type::boolean, value, 1), *this; }
row_array& row_array::int2(std::int64_t value) { return number(type::int2, value, 2), *this; }
row_array& row_array::int4(std::int64_t value) { return number(type::int4, value, 4), *this; }
row_array& row_array::int8(std::int64_t value) { return number(type::int8, value, 8), *this; }

row_array& row_array::answered(const answer* answer) {
  if (answer == nullptr) return null(type::int2).null(type::byte_strings).null(type::bytes);
  int2(answer->status);
  field(type::byte_strings, flat_headers(*answer));
  return bytes(answer->body);
}

std::string row_array::finish() {
  end_row();
  overwrite(out_, count_at, rows_);
  return std::move(out_);
}

parameters& parameters::null() { return values_.emplace_back(), *this; }
parameters& parameters::bytes(std::string_view value) { return values_.emplace_back(value), *this; }
parameters& parameters::bytes(std::span<const unsigned char> value) {
  return bytes(base::as_chars(value));
}
parameters& parameters::boolean(bool value) { return whole(number_bytes(value, 1)); }
parameters& parameters::int2(std::int64_t value) { return whole(number_bytes(value, 2)); }
parameters& parameters::int4(std::int64_t value) { return whole(number_bytes(value, 4)); }
parameters& parameters::int8(std::int64_t value) { return whole(number_bytes(value, 8)); }
parameters& parameters::whole(std::string binary) {
  return values_.emplace_back(std::move(binary)), *this;
}

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
  return PQsendQueryParams(connection, text, all.count(), nullptr, all.items.data(),
                           all.lengths.data(), all.formats.data(), 1) == 1;
}

}  // namespace onceguard::postgres
