#include "messaging/postgres_queue/wire.hpp"

#include <utility>

namespace onceguard::messaging::postgres_queue {
namespace {

void append(std::string& out, std::uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((value >> shift) & 0xff);
  }
}

/// Reads from the front; past the end it reads zeros and nothing.
class reader {
 public:
  explicit reader(std::string_view whole) : rest_(whole) {}
  std::int64_t number(std::size_t size) {
    std::uint64_t out = 0;
    const auto bytes = part(size);
    for (const char c : bytes) out = (out << 8) | static_cast<unsigned char>(c);
    // The sign of a shorter number.
    const auto shift = 64 - 8 * bytes.size();
    return shift >= 64 ? 0 : static_cast<std::int64_t>(out << shift) >> shift;
  }
  std::string_view part(std::size_t size) {
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(out.size());
    return out;
  }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

void array_value::add(std::optional<std::string_view> value) {
  ++count_;
  append(content_, value ? value->size() : 0xffff'ffff, 4);
  if (value) content_ += *value;
}

std::string array_value::finish() const {
  std::string out;
  append(out, count_ == 0 ? 0 : 1, 4);  // dimensions
  append(out, 1, 4);                    // there may be nulls
  append(out, elements_, 4);
  if (count_ == 0) return out;
  append(out, count_, 4);
  append(out, 1, 4);  // the first subscript
  return out + content_;
}

parameters& parameters::add(Oid type, std::string value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

parameters& parameters::int8(std::int64_t value) {
  std::string out;
  append(out, static_cast<std::uint64_t>(value), 8);
  return add(type::int8, std::move(out));
}

parameters& parameters::bytes(std::string_view value) {
  return add(type::bytes, std::string(value));
}

parameters& parameters::text(std::string_view value) { return add(type::text, std::string(value)); }

parameters& parameters::array(Oid type, const array_value& value) {
  return add(type, value.finish());
}

bool parameters::send(PGconn* connection, const std::string& statement) const {
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const auto& value : values_) {
    values.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), 1);
  return PQsendQueryParams(connection, statement.c_str(), static_cast<int>(values.size()),
                           types_.data(), values.data(), lengths.data(), formats.data(), 1) == 1;
}

bool rows::changed() const noexcept {
  return result_ && std::string_view(PQcmdTuples(result_.get())) != "0";
}

bool rows::null(int row, int column) const noexcept {
  return PQgetisnull(result_.get(), row, column) == 1;
}

std::string_view rows::bytes(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t rows::integer(int row, int column) const noexcept {
  const auto value = bytes(row, column);
  return reader(value).number(value.size());
}

bool rows::boolean(int row, int column) const noexcept { return integer(row, column) != 0; }

std::vector<std::string> rows::array(int row, int column) const {
  std::vector<std::string> out;
  reader source(bytes(row, column));
  const auto dimensions = source.number(4);
  source.part(8);  // whether there are nulls, and the elements' type
  for (std::int64_t i = 0; i < dimensions; ++i) source.part(8);
  while (!source.empty()) {
    const auto size = source.number(4);
    out.emplace_back(size < 0 ? std::string_view() : source.part(static_cast<std::size_t>(size)));
  }
  return out;
}

}  // namespace onceguard::messaging::postgres_queue
