// The stores that a program was linked with. The room of the store NAME has a file
// NAME_store_kind.cpp, which says what the store is and registers it; cmake/rooms.cmake tells the
// linker to take that file in.
#pragma once
#include "store/registry.hpp"

namespace onceguard {

class store_registration {
 public:
  /// Before main(). `kind` must live as long as the program.
  explicit store_registration(const store_kind& kind);
};

/// After the function that returns the kind of the store in the room NAME, NAME_store_kind(), in
/// the namespace onceguard. Before the statics of the program, which may open a guard.
#define ONCEGUARD_REGISTER_STORE(name)                                                     \
  extern "C" {                                                                             \
  extern const char onceguard_##name##_registration;                                       \
  const char onceguard_##name##_registration = 1;                                          \
  }                                                                                        \
  [[gnu::init_priority(101)]] static const store_registration onceguard_registered_##name( \
      name##_store_kind())

/// In the order of their positions. From main() on, from any thread.
[[nodiscard]] const store_registry& linked_stores();

}  // namespace onceguard
