// Answers for comparison with other implementations. Each line of the standard input is a letter
// and hexadecimal bytes; each line of the output the answer as such bytes, or `!` and the error.
//   j  a JSON text: its canonical form
//   n  the eight bytes of a double, the most significant first: its canonical form
//   k  a field value, lenient: the key          s  the same, strict
#include <bit>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "json/scalars.hpp"

namespace {

using namespace onceguard;

result<std::string> number(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (const char c : bytes) bits = bits << 8 | static_cast<unsigned char>(c);
  std::string out;
  append_json_number(out, std::bit_cast<double>(bits));
  return out;
}

result<std::string> answer_to(char verb, std::string_view bytes) {
  switch (verb) {
    case 'j':
      return canonical_json(bytes);
    case 'n':
      return number(bytes);
    case 'k':
      return parse_key(bytes, key_syntax::lenient);
    case 's':
      return parse_key(bytes, key_syntax::strict);
    default:
      return error{errc::invalid_argument, "no such verb"};
  }
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<unsigned char> bytes(line.empty() ? 0 : (line.size() - 1) / 2);
    if (line.empty() || !base::from_hex(std::string_view(line).substr(1), bytes)) {
      std::cout << "!malformed line\n";
      continue;
    }
    const auto made = answer_to(line.front(), base::as_chars(bytes));
    if (!made) {
      std::cout << '!' << made.error().detail << '\n';
      continue;
    }
    const auto* first = reinterpret_cast<const unsigned char*>(made->data());
    std::cout << base::to_hex(std::span(first, made->size())) << '\n';
  }
}
