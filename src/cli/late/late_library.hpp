// Loads the libraries of stores and brokers when the first of their functions is called.
#pragma once

/// A function of such a library, as a stub of cmake/lazy_libraries.cmake describes it.
struct onceguard_late_function {
  const char* name;
  const char* library;
  void* address;  ///< of the function; before its first call, of code that asks for it
};

/// Such a library, and the package of Debian's that it comes from; the last one of a list has no
/// name.
struct onceguard_late_library {
  const char* name;
  const char* package;
};

/// For the stubs: finds the function, and stores its address, to which the stub jumps from then on.
/// A library that can't be loaded ends the process, with a message. Thread-safe.
extern "C" void* onceguard_find_late_function(onceguard_late_function* wanted) noexcept;

namespace onceguard::cli::late {

/// From now on a URL whose library is missing is refused where it is read, with its place, so that
/// no call of the library comes to that end.
void refuse_urls_without_library() noexcept;

}  // namespace onceguard::cli::late
