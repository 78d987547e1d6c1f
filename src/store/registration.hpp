// The stores that a program was linked with, for guard::open. A store's component has a file
// registration.cpp with a static store_registration, and tells the linker to take this file in.
#pragma once
#include "store/registry.hpp"

namespace onceguard {

class store_registration {
 public:
  /// Before main(). `kind` must live as long as the program.
  explicit store_registration(const store_kind& kind);
};

/// From main() on, from any thread.
[[nodiscard]] const store_registry& linked_stores();

}  // namespace onceguard
