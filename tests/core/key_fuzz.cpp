// Any bytes as the value of the key's header field: a key within its bounds, or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <onceguard/key.hpp>

namespace {

using namespace onceguard;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string quoted(std::string_view key) {
  std::string out = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void check_error(const error& e) {
  require(e.code == errc::invalid_argument);
  require(e.detail.ends_with(')') && e.detail.find(" (byte ") != std::string::npos);
  require(e.detail.size() < 100);
}

void check_key(std::string_view key) {
  require(!key.empty() && key.size() <= key_size_max);
  for (const char c : key) require(c >= 0x20 && c <= 0x7E);
  // However the key arrived, its quoted form with parameters is the same key.
  require(parse_key(quoted(key), key_syntax::strict).value() == key);
  require(parse_key("\t " + quoted(key) + ";v=\"1\" ", key_syntax::lenient).value() == key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string value(reinterpret_cast<const char*>(bytes), size);
  const auto lenient = parse_key(value, key_syntax::lenient);
  const auto strict = parse_key(value, key_syntax::strict);
  const auto uuid = parse_key(value, key_syntax::lenient, key_format::uuid);
  if (lenient) {
    check_key(*lenient);
  } else {
    check_error(lenient.error());
  }
  if (strict) {
    require(lenient.value() == *strict);
  } else {
    check_error(strict.error());
  }
  require(uuid.has_value() == (lenient && is_uuid(*lenient)));
  if (!uuid) check_error(uuid.error());
  return 0;
}
