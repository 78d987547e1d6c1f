// What of a caller's mark stays the same from one try of a request to the next.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::core {

/// A mark of a caller without a credential, "name:value", as far as it is the same at each try:
/// without the cookies of balancers and counters, and without tokens against forged requests, which
/// stand beside a cookie of the session. Empty: nothing is left of it.
[[nodiscard]] std::string lasting_mark(std::string_view mark);

}  // namespace onceguard::core
