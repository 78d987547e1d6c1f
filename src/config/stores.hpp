// The stores that this program was built with.
#pragma once
#include "store/open.hpp"

namespace onceguard::config {

[[nodiscard]] const store_registry& known_stores();

}  // namespace onceguard::config
