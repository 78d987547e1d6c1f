// Makes the store known to guard::open, in programs that link its component.
#include "store/registration.hpp"

#include "store/memory/memory_store.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_memory_registration;
const char onceguard_memory_registration = 1;
}

namespace onceguard {
namespace {

// Before the statics of the program, which may open a guard.
[[gnu::init_priority(101)]] const store_registration registration(memory_store_kind());

}  // namespace
}  // namespace onceguard
