#include "cli/late/late_library.hpp"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>

#include "cli/command.hpp"

void* onceguard_find_late_function(onceguard_late_function* wanted) noexcept {
  // Twice for one library is harmless: the second call finds it loaded. It is never unloaded.
  void* const library = ::dlopen(wanted->library, RTLD_LAZY | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, wanted->name);
  if (found == nullptr) {
    // There is nobody to return to: the caller expects what the function returns.
    std::fprintf(stderr, "onceguard: %s\n", ::dlerror());
    std::_Exit(onceguard::cli::exit_failed);
  }
  std::atomic_ref(wanted->address).store(found, std::memory_order_release);
  return found;
}
