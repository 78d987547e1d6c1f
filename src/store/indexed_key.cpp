#include "store/indexed_key.hpp"

#include <algorithm>

namespace onceguard {

std::string indexed_key(std::string_view key) {
  constexpr std::size_t last = 0x80;
  std::string out;
  auto size = key.size();
  for (; size >= last; size >>= 7) out += static_cast<char>(size % last + last);
  out += static_cast<char>(size);
  out += key.substr(0, indexed_key_max);
  out.resize(std::min(out.size(), indexed_key_max));
  return out;
}

}  // namespace onceguard
