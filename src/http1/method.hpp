// The methods that requests may have.
#pragma once
#include <string_view>

namespace onceguard::http1 {

/// Does the gateway take requests with this method? To all others it answers 501.
[[nodiscard]] bool is_known_method(std::string_view method) noexcept;

}  // namespace onceguard::http1
