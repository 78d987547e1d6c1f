// Loads the libraries of stores and brokers when the first of their functions is called.
#pragma once

/// A function of such a library, as a stub of cmake/lazy_libraries.cmake describes it.
struct onceguard_late_function {
  const char* name;
  const char* library;
  void* address;  ///< of the function; before its first call, of code that asks for it
};

/// For the stubs: finds the function, and stores its address, to which the stub jumps from then on.
/// A library that can't be loaded ends the process, with a message. Thread-safe.
extern "C" void* onceguard_find_late_function(onceguard_late_function* wanted) noexcept;
