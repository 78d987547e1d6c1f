// A text that is packed with gzip.
#pragma once
#include <string_view>

namespace onceguard::testing {

/// "hello", packed without a time.
inline constexpr std::string_view packed_hello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
    "\x00"
    "\x00",
    25);

}  // namespace onceguard::testing
