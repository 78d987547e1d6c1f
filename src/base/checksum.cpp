#include "base/checksum.hpp"

// The functions themselves, not calls of the library: a record is short.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onceguard::base {

std::uint64_t checksum_of(std::string_view bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace onceguard::base
