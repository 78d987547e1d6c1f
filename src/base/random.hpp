// Random bytes, from the kernel.
#pragma once
#include <span>

namespace onceguard::base {

/// Fills `out` with cryptographically strong random bytes. Throws std::runtime_error when the
/// system has none, which is not recoverable.
void random_bytes(std::span<unsigned char> out);

}  // namespace onceguard::base
