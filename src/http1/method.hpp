// The methods that the gateway accepts in requests.
#pragma once
#include <string_view>

namespace onceguard::http1 {

/// Whether the gateway accepts this method. The gateway answers 501 to other methods.
[[nodiscard]] bool is_known_method(std::string_view method) noexcept;

}  // namespace onceguard::http1
