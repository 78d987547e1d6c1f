#include "cli/late/late_library.hpp"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <string_view>

#include "base/library_fault.hpp"
#include "cli/command.hpp"

// Where the program was linked in the usual way there are no stubs, and no such list.
extern "C" [[gnu::weak]] const onceguard_late_library onceguard_late_libraries[];

namespace onceguard::cli::late {
namespace {

void* load_late_library(const char* library) noexcept {
  // Twice for one library is harmless: the second call finds it loaded. It is never unloaded.
  return ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
}

/// The library whose name begins like this; null: it is not loaded late.
const onceguard_late_library* late_library(std::string_view name) noexcept {
  const auto* each = &onceguard_late_libraries[0];
  if (each == nullptr) return nullptr;
  while (each->name != nullptr && !std::string_view(each->name).starts_with(name)) ++each;
  return each->name == nullptr ? nullptr : each;
}

std::string why_missing(const onceguard_late_library& library) {
  std::string out(::dlerror());
  if (*library.package != '\0') out += ": apt install " + std::string(library.package);
  return out;
}

std::string fault_of(std::string_view name) {
  const auto* const library = late_library(name);
  return library == nullptr || load_late_library(library->name) != nullptr ? std::string()
                                                                           : why_missing(*library);
}

}  // namespace

void refuse_urls_without_library() noexcept { base::set_library_check(fault_of); }

}  // namespace onceguard::cli::late

void* onceguard_find_late_function(onceguard_late_function* wanted) noexcept {
  using namespace onceguard::cli::late;
  void* const library = load_late_library(wanted->library);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, wanted->name);
  if (found == nullptr) {
    // There is nobody to return to: the caller expects what the function returns.
    const auto* const known = late_library(wanted->library);
    const auto why = known == nullptr ? std::string(::dlerror()) : why_missing(*known);
    std::fprintf(stderr, "onceguard: %s\n", why.c_str());
    std::_Exit(onceguard::cli::exit_failed);
  }
  std::atomic_ref(wanted->address).store(found, std::memory_order_release);
  return found;
}
