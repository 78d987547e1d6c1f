#include "base/checksum.hpp"

// Inlined: records are short, so a call into the shared library would cost too much.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onceguard::base {

std::uint64_t checksum_of(std::string_view bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace onceguard::base
