// Outside libraries that a program loads when it needs them, and that may not be installed.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::base {

/// Why the library whose file's name begins like this ("libpq.so") can't be used, and which package
/// has it; empty: it can, or the program was linked with it. An empty name is no library.
[[nodiscard]] std::string library_fault(std::string_view name);

/// For a program that loads libraries late. Before anything asks.
void set_library_check(std::string (*check)(std::string_view name)) noexcept;

}  // namespace onceguard::base
